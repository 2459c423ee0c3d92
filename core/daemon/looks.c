/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/looks.h"

/* How long results wait for those of other devices. */
#define SLOW_MS 5
#define STUCK_MS 1000

struct look {
	Device *device;
	Device *changed; /* as it is since this read began, or NULL */
	gint64 since_us;
	gboolean again; /* once more when it has ended */
	gboolean slow; /* nobody waits for it */
	gboolean stuck;
};

struct looks {
	struct looks_ops ops;
	gpointer data;
	GHashTable *running; /* identity -> struct look *, borrowed from it */
	guint n_awaited; /* running ones that are not slow */
	guint slow_timer, stuck_timer;
};

static void look_free(gpointer data)
{
	struct look *look = data;

	device_unref(look->device);
	device_unref(look->changed);
	g_free(look);
}

Looks *looks_new(const struct looks_ops *ops, gpointer data)
{
	Looks *looks = g_new0(Looks, 1);

	looks->ops = *ops;
	looks->data = data;
	looks->running = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, look_free);
	return looks;
}

void looks_free(Looks *looks)
{
	if (looks == NULL)
		return;
	g_clear_handle_id(&looks->slow_timer, g_source_remove);
	g_clear_handle_id(&looks->stuck_timer, g_source_remove);
	g_hash_table_unref(looks->running);
	g_free(looks);
}

void looks_settle(Looks *looks)
{
	if (looks->n_awaited > 0)
		return;
	g_clear_handle_id(&looks->slow_timer, g_source_remove);
	if (g_hash_table_size(looks->running) == 0)
		g_clear_handle_id(&looks->stuck_timer, g_source_remove);
	looks->ops.settled(looks->data);
}

static gboolean on_slow(gpointer data)
{
	Looks *looks = data;
	GHashTableIter iter;
	gpointer look;

	looks->slow_timer = 0;
	g_hash_table_iter_init(&iter, looks->running);
	while (g_hash_table_iter_next(&iter, NULL, &look))
		((struct look *)look)->slow = TRUE;
	looks->n_awaited = 0;
	looks_settle(looks);
	return G_SOURCE_REMOVE;
}

/* Marks those that hang; returns how many others still run. */
static guint find_stuck(Looks *looks, GPtrArray *stuck)
{
	gint64 limit = g_get_monotonic_time() - (gint64)STUCK_MS * 1000;
	GHashTableIter iter;
	gpointer value;
	guint others = 0;

	g_hash_table_iter_init(&iter, looks->running);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct look *look = value;

		if (!look->stuck && look->since_us <= limit) {
			look->stuck = TRUE;
			g_ptr_array_add(stuck, device_ref(look->device));
		}
		others += look->stuck ? 0 : 1;
	}
	return others;
}

static gboolean on_stuck(gpointer data)
{
	Looks *looks = data;
	g_autoptr(GPtrArray) stuck = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);

	looks->stuck_timer = 0;
	if (find_stuck(looks, stuck) > 0)
		looks->stuck_timer = g_timeout_add(STUCK_MS, on_stuck, looks);
	for (guint i = 0; i < stuck->len; i++)
		looks->ops.stuck(g_ptr_array_index(stuck, i), looks->data);
	if (stuck->len > 0)
		looks_settle(looks);
	return G_SOURCE_REMOVE;
}

static void arm_slow(Looks *looks)
{
	if (looks->slow_timer == 0)
		looks->slow_timer = g_timeout_add(SLOW_MS, on_slow, looks);
}

static void start(Looks *looks, Device *device)
{
	struct look *look = g_new0(struct look, 1);

	look->device = device_ref(device);
	look->since_us = g_get_monotonic_time();
	g_hash_table_insert(looks->running, (gpointer)device_identity(look->device), look);
	looks->n_awaited++;
	arm_slow(looks);
	if (looks->stuck_timer == 0)
		looks->stuck_timer = g_timeout_add(STUCK_MS, on_stuck, looks);
	looks->ops.start(look->device, looks->data);
}

void looks_at(Looks *looks, Device *device, gboolean news)
{
	struct look *look = g_hash_table_lookup(looks->running, device_identity(device));

	if (look == NULL) {
		start(looks, device);
		return;
	}
	look->again |= news;
	if (device_equal(look->changed != NULL ? look->changed : look->device, device))
		return;
	device_unref(look->changed);
	look->changed = device_ref(device);
	look->again = TRUE;
}

gboolean looks_is_outdated(const Looks *looks, const Device *device)
{
	const struct look *look = g_hash_table_lookup(looks->running, device_identity(device));

	return look != NULL && look->changed != NULL;
}

void looks_done(Looks *looks, Device *device)
{
	const struct look *look = g_hash_table_lookup(looks->running, device_identity(device));
	g_autoptr(Device) next = NULL;
	gboolean was_slow;

	if (look == NULL)
		return;
	if (look->again)
		next = device_ref(look->changed != NULL ? look->changed : look->device);
	was_slow = look->slow;
	looks->n_awaited -= was_slow ? 0 : 1;
	g_hash_table_remove(looks->running, device_identity(device));
	if (next != NULL)
		start(looks, next);
	/* With thousands of devices most are slow: not each is told by itself. */
	if (was_slow && g_hash_table_size(looks->running) > 0)
		arm_slow(looks);
	else
		looks_settle(looks);
}
