/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/holdings.h"

#include <string.h>

struct holdings {
	gatomicrefcount refs;
	GPtrArray *list;
	GHashTable *by_resource; /* name -> GHashTable: set of ids; all borrowed from list */
	gint64 asked_us;
};

static void index_holding(GHashTable *by_resource, const struct holding *holding)
{
	GHashTable *ids = g_hash_table_lookup(by_resource, holding->resource);

	if (!ids) {
		ids = g_hash_table_new(g_str_hash, g_str_equal);
		g_hash_table_insert(by_resource, holding->resource, ids);
	}
	for (guint i = 0; i < holding->ids->len; i++)
		g_hash_table_add(ids, g_ptr_array_index(holding->ids, i));
}

static void set_free(gpointer ids)
{
	g_hash_table_unref(ids);
}

Holdings *holdings_new(GPtrArray *list, gint64 asked_us)
{
	Holdings *self = g_new0(Holdings, 1);

	g_atomic_ref_count_init(&self->refs);
	self->list = list;
	self->asked_us = asked_us;
	self->by_resource = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, set_free);
	for (guint i = 0; i < list->len; i++)
		index_holding(self->by_resource, g_ptr_array_index(list, i));
	return self;
}

Holdings *holdings_ref(Holdings *holdings)
{
	g_atomic_ref_count_inc(&holdings->refs);
	return holdings;
}

void holdings_unref(Holdings *holdings)
{
	if (!holdings || !g_atomic_ref_count_dec(&holdings->refs))
		return;
	g_hash_table_unref(holdings->by_resource);
	g_ptr_array_unref(holdings->list);
	g_free(holdings);
}

gint64 holdings_asked_us(const Holdings *holdings)
{
	return holdings->asked_us;
}

const GPtrArray *holdings_list(const Holdings *holdings)
{
	return holdings->list;
}

gboolean holdings_has_id(const Holdings *holdings, const char *resource, const char *id)
{
	GHashTable *ids = g_hash_table_lookup(holdings->by_resource, resource);

	return ids && g_hash_table_contains(ids, id);
}

gboolean holdings_has_resource(const Holdings *holdings, const char *resource)
{
	GHashTable *ids = g_hash_table_lookup(holdings->by_resource, resource);

	return ids && g_hash_table_size(ids) > 0;
}

/* 'holders': id -> the first holding that has it. */
static void note_ids(GHashTable *holders, const struct holding *holding, GArray *doubles)
{
	for (guint i = 0; i < holding->ids->len; i++) {
		char *id = g_ptr_array_index(holding->ids, i);
		struct double_holding found = {id, g_hash_table_lookup(holders, id), holding};

		if (!found.first)
			g_hash_table_insert(holders, id, (gpointer)holding);
		else if (found.first != holding)
			g_array_append_val(doubles, found);
	}
}

GArray *holdings_doubles(const Holdings *holdings, const char *resource)
{
	g_autoptr(GHashTable) holders = g_hash_table_new(g_str_hash, g_str_equal);
	GArray *doubles = g_array_new(FALSE, FALSE, sizeof(struct double_holding));

	for (guint i = 0; i < holdings->list->len; i++) {
		const struct holding *holding = g_ptr_array_index(holdings->list, i);

		if (strcmp(holding->resource, resource) == 0)
			note_ids(holders, holding, doubles);
	}
	return doubles;
}
