/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/holdings.h"

#include <string.h>

struct holdings {
	gatomicrefcount refs;
	GPtrArray *list;
	gint64 asked_us, age_us;
};

Holdings *holdings_new(GPtrArray *list, gint64 asked_us, gint64 age_us)
{
	Holdings *self = g_new0(Holdings, 1);

	g_atomic_ref_count_init(&self->refs);
	self->list = list;
	self->asked_us = asked_us;
	self->age_us = age_us;
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
	g_ptr_array_unref(holdings->list);
	g_free(holdings);
}

gint64 holdings_asked_us(const Holdings *holdings)
{
	return holdings->asked_us;
}

gint64 holdings_age_us(const Holdings *holdings)
{
	return holdings->age_us;
}

const GPtrArray *holdings_list(const Holdings *holdings)
{
	return holdings->list;
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
