/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/relook.h"

/* From one look to the next. Most drivers are told within a millisecond; a machine that
 * is busy, or a driver that asks its firmware, takes longer. */
static const guint pauses_ms[] = {2, 8, 90, 900};

struct relook {
	relook_fn look;
	gpointer data;
	GHashTable *pending; /* interface -> struct pending *, borrowed from it */
};

struct pending {
	Relook *relook;
	char *interface;
	guint step;
	guint timer;
};

static void pending_free(gpointer data)
{
	struct pending *pending = data;

	if (pending->timer != 0)
		g_source_remove(pending->timer);
	g_free(pending->interface);
	g_free(pending);
}

Relook *relook_new(relook_fn look, gpointer data)
{
	Relook *relook = g_new0(Relook, 1);

	relook->look = look;
	relook->data = data;
	relook->pending = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, pending_free);
	return relook;
}

void relook_free(Relook *relook)
{
	if (relook == NULL)
		return;
	g_hash_table_unref(relook->pending);
	g_free(relook);
}

static gboolean on_timer(gpointer data)
{
	struct pending *pending = data;
	Relook *relook = pending->relook;
	g_autofree char *interface = g_strdup(pending->interface);

	pending->timer = 0;
	if (++pending->step < G_N_ELEMENTS(pauses_ms))
		pending->timer = g_timeout_add(pauses_ms[pending->step], on_timer, pending);
	else
		g_hash_table_remove(relook->pending, interface);
	relook->look(interface, relook->data);
	return G_SOURCE_REMOVE;
}

void relook_note(Relook *relook, const char *interface)
{
	struct pending *pending = g_new0(struct pending, 1);

	pending->relook = relook;
	pending->interface = g_strdup(interface);
	pending->timer = g_timeout_add(pauses_ms[0], on_timer, pending);
	g_hash_table_replace(relook->pending, pending->interface, pending);
}
