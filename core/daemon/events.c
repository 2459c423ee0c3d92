/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/events.h"

#include "daemon/relook.h"
#include "edge/log.h"
#include "edge/netlink.h"
#include "model/debounce.h"

struct events {
	struct events_ops ops;
	gpointer data;
	Netlink *netlink;
	Relook *relook;
	struct debounce debounce;
	guint timer;
};

static gboolean on_timer(gpointer data);

static void arm(Events *events, gint64 now_us)
{
	gint64 due_us = debounce_due(&events->debounce);

	if (events->timer != 0)
		g_source_remove(events->timer);
	events->timer = 0;
	if (due_us >= 0)
		events->timer = g_timeout_add((guint)((MAX(due_us - now_us, 0) + 999) / 1000),
					      on_timer, events);
}

static gboolean on_timer(gpointer data)
{
	Events *events = data;
	gint64 now_us = g_get_monotonic_time();

	events->timer = 0;
	if (debounce_take(&events->debounce, now_us))
		events->ops.scan(events->data);
	arm(events, now_us);
	return G_SOURCE_REMOVE;
}

static void on_relook(const char *name, gpointer data)
{
	const Events *events = data;

	events->ops.link(name, events->data);
}

static void on_hint(enum netlink_hint hint, const char *name, gpointer data)
{
	Events *events = data;
	gint64 now_us = g_get_monotonic_time();
	gboolean follow = hint == NETLINK_HINT_LOST ||
			  (hint == NETLINK_HINT_BUS && g_str_has_prefix(name, "infiniband"));

	if (hint == NETLINK_HINT_LINK) {
		if (events->ops.link(name, events->data))
			relook_note(events->relook, name);
		return;
	}
	if (debounce_note(&events->debounce, follow, now_us))
		events->ops.look(events->data);
	arm(events, now_us);
}

Events *events_new(const struct events_ops *ops, gpointer data)
{
	Events *events = g_new0(Events, 1);
	g_autofree char *trouble = NULL;

	events->ops = *ops;
	events->data = data;
	events->relook = relook_new(on_relook, events);
	events->netlink = netlink_new(on_hint, events, &trouble);
	if (trouble != NULL)
		log_warning("events", "%s", trouble);
	return events;
}

void events_free(Events *events)
{
	if (events == NULL)
		return;
	if (events->timer != 0)
		g_source_remove(events->timer);
	netlink_free(events->netlink);
	relook_free(events->relook);
	g_free(events);
}
