/* SPDX-License-Identifier: Apache-2.0 */
#include "model/fingerprint.h"

#include <string.h>

/* With its length, so that no two lists of texts give the same sequence. */
static void add_text(GChecksum *sum, const char *text)
{
	g_autofree char *length = g_strdup_printf("%zu:", strlen(text));

	g_checksum_update(sum, (const guchar *)length, -1);
	g_checksum_update(sum, (const guchar *)text, -1);
}

static int text_order(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, each value once. An empty list restricts as little as none. */
static void add_list(GChecksum *sum, const char *name, GStrv values)
{
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();

	for (gsize i = 0; values != NULL && values[i] != NULL; i++)
		g_ptr_array_add(sorted, values[i]);
	if (sorted->len == 0)
		return;
	g_ptr_array_sort(sorted, text_order);
	add_text(sum, name);
	for (guint i = 0; i < sorted->len; i++)
		if (i == 0 || strcmp(sorted->pdata[i], sorted->pdata[i - 1]) != 0)
			add_text(sum, sorted->pdata[i]);
	g_checksum_update(sum, (const guchar *)";", 1);
}

static void add_attributes(GChecksum *sum, GHashTable *attributes)
{
	g_autoptr(GPtrArray) keys = g_ptr_array_new();
	GHashTableIter iter;
	gpointer key;

	if (attributes == NULL)
		return;
	g_hash_table_iter_init(&iter, attributes);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		g_ptr_array_add(keys, key);
	g_ptr_array_sort(keys, text_order);
	g_checksum_update(sum, (const guchar *)"@", 1);
	for (guint i = 0; i < keys->len; i++)
		add_list(sum, keys->pdata[i], g_hash_table_lookup(attributes, keys->pdata[i]));
}

static void add_lists(GChecksum *sum, const struct selector *selector)
{
	for (int key = 0; key < SELECTOR_N_KEYS; key++)
		add_list(sum, selector_key_name(key), selector->values[key]);
	add_attributes(sum, selector->attributes);
}

char *selectors_fingerprint(const ResourceConfig *config)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

	add_text(sum, config->bus);
	for (guint i = 0; i < config->selectors->len; i++) {
		const struct selector *selector = g_ptr_array_index(config->selectors, i);

		g_checksum_update(sum, (const guchar *)"{", 1);
		add_lists(sum, selector);
		if (selector->exclude != NULL) {
			g_checksum_update(sum, (const guchar *)"!", 1);
			add_lists(sum, selector->exclude);
		}
	}
	return g_strdup(g_checksum_get_string(sum));
}
