/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_checksum.h"

#include <string.h>

#define FNV_BASIS 2166136261U
#define FNV_PRIME 16777619U

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* "[a b]", and "<nil>" for a slice that is null. */
static void append_ids(GString *out, const json_t *ids)
{
	if (!json_is_array(ids)) {
		g_string_append(out, "<nil>");
		return;
	}
	g_string_append_c(out, '[');
	for (gsize i = 0; i < json_array_size(ids); i++)
		g_string_append_printf(out, "%s%s", i > 0 ? " " : "",
				       json_string_value(json_array_get(ids, i)));
	g_string_append_c(out, ']');
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
	gint64 x = g_ascii_strtoll(*(const char *const *)a, NULL, 10);
	gint64 y = g_ascii_strtoll(*(const char *const *)b, NULL, 10);
	return (x > y) - (x < y);
}

static gint compare_texts(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "map[key:[a b] other:[c]]" in the order of the keys. */
static void append_map(GString *out, const json_t *map, GCompareFunc compare)
{
	g_autoptr(GPtrArray) keys = g_ptr_array_new();
	const char *key;
	const json_t *value;
	if (!json_is_object(map)) {
		g_string_append(out, "<nil>");
		return;
	}
	json_object_foreach((json_t *)map, key, value) g_ptr_array_add(keys, (gpointer)key);
	g_ptr_array_sort(keys, compare);
	g_string_append(out, "map[");
	for (guint i = 0; i < keys->len; i++) {
		key = g_ptr_array_index(keys, i);
		g_string_append_printf(out, "%s%s:", i > 0 ? " " : "", key);
		append_ids(out, json_object_get(map, key));
	}
	g_string_append_c(out, ']');
}

/* Bytes are a list of numbers. */
static void append_bytes(GString *out, const json_t *base64)
{
	if (!json_is_string(base64)) {
		g_string_append(out, "<nil>");
		return;
	}
	gsize size;
	g_autofree guchar *bytes = g_base64_decode(json_string_value(base64), &size);
	g_string_append_c(out, '[');
	for (gsize i = 0; i < size; i++)
		g_string_append_printf(out, "%s%u", i > 0 ? " " : "", bytes[i]);
	g_string_append_c(out, ']');
}

static void append_entry(GString *out, const json_t *entry)
{
	g_string_append_printf(out,
			       "{PodUID:(string)%s ContainerName:(string)%s ResourceName:(string)%s"
			       " DeviceIDs:(checkpoint.DevicesPerNUMA)",
			       text_of(entry, "PodUID"), text_of(entry, "ContainerName"),
			       text_of(entry, "ResourceName"));
	append_map(out, json_object_get(entry, "DeviceIDs"), compare_numbers);
	g_string_append(out, " AllocResp:([]uint8)");
	append_bytes(out, json_object_get(entry, "AllocResp"));
	g_string_append_c(out, '}');
}

static void append_entries(GString *out, const json_t *entries)
{
	if (!json_is_array(entries)) {
		g_string_append(out, "<nil>");
		return;
	}
	g_string_append_c(out, '[');
	for (gsize i = 0; i < json_array_size(entries); i++) {
		g_string_append(out, i > 0 ? " " : "");
		append_entry(out, json_array_get(entries, i));
	}
	g_string_append_c(out, ']');
}

guint32 sim_checksum(const json_t *data)
{
	g_autoptr(GString) text = g_string_new("(checkpoint.checkpointData){PodDeviceEntries:"
					       "([]checkpoint.PodDevicesEntry)");
	guint32 hash = FNV_BASIS;
	append_entries(text, json_object_get(data, "PodDeviceEntries"));
	g_string_append(text, " RegisteredDevices:(map[string][]string)");
	append_map(text, json_object_get(data, "RegisteredDevices"), compare_texts);
	g_string_append_c(text, '}');
	for (gsize i = 0; i < text->len; i++)
		hash = (hash ^ (guint8)text->str[i]) * FNV_PRIME;
	return hash;
}
