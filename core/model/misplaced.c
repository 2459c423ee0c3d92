/* SPDX-License-Identifier: Apache-2.0 */
#include "model/misplaced.h"

#include <string.h>

#include "model/vf_range.h"

/* Those whose values name one thing, in the order in which they are proposed. */
static const enum selector_key naming[] = {
	SELECTOR_IF_NAMES,  SELECTOR_PF_NAMES,	   SELECTOR_RDMA_DEVICES,
	SELECTOR_ADDRESSES, SELECTOR_ROOT_DEVICES,
};

static gboolean is_naming(enum selector_key key)
{
	for (gsize i = 0; i < G_N_ELEMENTS(naming); i++)
		if (naming[i] == key)
			return TRUE;
	return FALSE;
}

/* Functions of others are shown with their number behind it: "ens1f0#3". */
static gboolean is_known_to(const Device *device, enum selector_key key, const char *name)
{
	const struct selector_list list = {key, NULL, NULL};
	g_autoptr(GPtrArray) seen = selector_list_seen(&list, device);

	for (guint i = 0; i < seen->len; i++) {
		const char *text = g_ptr_array_index(seen, i);

		if (strlen(name) == vf_range_name_length(text) && g_str_has_prefix(text, name))
			return TRUE;
	}
	return FALSE;
}

static gboolean is_known(GPtrArray *devices, enum selector_key key, const char *name)
{
	for (guint i = 0; i < devices->len; i++)
		if (is_known_to(g_ptr_array_index(devices, i), key, name))
			return TRUE;
	return FALSE;
}

static void append(GString *remark, GPtrArray *devices, enum selector_key own, const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(naming); i++) {
		if (naming[i] == own || !is_known(devices, naming[i], name))
			continue;
		g_string_append_printf(remark, "; '%s' is a value for %s", name,
				       selector_key_name(naming[i]));
		return;
	}
}

char *misplaced_remark(GPtrArray *devices, const struct selector_list *list)
{
	g_autoptr(GString) remark = g_string_new(NULL);

	for (gsize i = 0; is_naming(list->key) && list->values[i] != NULL; i++) {
		g_autofree char *name =
			g_strndup(list->values[i], vf_range_name_length(list->values[i]));

		if (!is_known(devices, list->key, name))
			append(remark, devices, list->key, name);
	}
	return remark->len == 0 ? NULL : g_string_free(g_steal_pointer(&remark), FALSE);
}
