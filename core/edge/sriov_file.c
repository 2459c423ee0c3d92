/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/sriov_file.h"

#include <string.h>

#include "edge/json_writer.h"
#include "edge/resource_file.h"
#include "edge/resource_reader.h"
#include "edge/sriov_entry.h"

/* What tells sub-functions from other functions here. */
#define SUBFUNCTION_DRIVER "mlx5_core.sf"

static const char *const list_names[SRIOV_N_LISTS] = {
	"vendors", "deviceIDs", "drivers", "addresses", "pfNames", "rootDevices", "linkTypes",
};

static void entry_free(gpointer data)
{
	sriov_entry_free(data);
}

static void read_entries(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
			 gpointer target, GPtrArray *findings)
{
	if (!reader_expect(value, JSON_KIND_ARRAY, findings))
		return;
	for (guint i = 0; i < value->items->len; i++) {
		g_ptr_array_add(target,
				sriov_entry_read(g_ptr_array_index(value->items, i), findings));
	}
}

static const struct json_field top_fields[] = {
	{"resourceList", read_entries, 0},
	{NULL, NULL, 0},
};

static const struct json_advice top_advice[] = {
	{"configList", "this is a resource file of ours already"},
	{NULL, NULL},
};

static const struct json_level top_level = {top_fields, top_advice};

/* --- what comes out --- */

static void write_list(JsonWriter *json, const char *name, GPtrArray *list)
{
	json_begin_array(json, name);
	for (guint i = 0; i < list->len; i++)
		json_add_string(json, NULL, g_ptr_array_index(list, i));
	json_end_array(json);
}

/* What the type of an entry says: all that is below a physical function is found
 * together here. */
static gboolean write_type(JsonWriter *json, const struct sriov_object *object,
			   const struct sriov_entry *entry, gboolean has_others)
{
	static const char *const drivers[] = {SUBFUNCTION_DRIVER, NULL};
	gboolean has_drivers =
		object->lists[SRIOV_DRIVERS] != NULL && object->lists[SRIOV_DRIVERS]->len > 0;

	if (has_drivers || (!entry->is_auxiliary && !has_others))
		return FALSE;
	if (!entry->is_auxiliary)
		json_begin_object(json, "exclude");
	json_add_strings(json, "drivers", drivers);
	if (!entry->is_auxiliary)
		json_end_object(json);
	return entry->is_auxiliary;
}

static void write_object(JsonWriter *json, const char *name, const struct sriov_object *object,
			 const struct sriov_entry *entry, gboolean has_others)
{
	static const char *const pci[] = {"pci", NULL};
	gboolean is_empty = TRUE;

	json_begin_object(json, name);
	for (gsize i = 0; i < SRIOV_N_LISTS; i++) {
		if (object->lists[i] == NULL || object->lists[i]->len == 0)
			continue;
		write_list(json, list_names[i], object->lists[i]);
		is_empty = FALSE;
	}
	if (write_type(json, object, entry, has_others))
		is_empty = FALSE;
	if (is_empty) /* all devices: here that has to be said */
		json_add_strings(json, "buses", pci);
	json_end_object(json);
}

static void write_selectors(JsonWriter *json, const struct sriov_entry *entry, gboolean has_others)
{
	if (entry->objects->len == 1) {
		write_object(json, "selectors", g_ptr_array_index(entry->objects, 0), entry,
			     has_others);
		return;
	}
	json_begin_array(json, "selectors");
	for (guint i = 0; i < entry->objects->len; i++)
		write_object(json, NULL, g_ptr_array_index(entry->objects, i), entry, has_others);
	json_end_array(json);
}

/* 'has_others': there are entries for sub-functions as well. */
static void write_entry(JsonWriter *json, const struct sriov_entry *entry, gboolean has_others)
{
	static const char *const vhost_files[] = {"/dev/vhost-net", "/dev/net/tun", NULL};

	json_begin_object(json, NULL);
	json_add_string(json, "resourceName", entry->name);
	json_add_string(json, "resourcePrefix", entry->prefix);
	json_add_string(json, "mode", "exclusive");
	if (entry->no_topology)
		json_add_bool(json, "topology", FALSE);
	if (entry->vhost_net)
		json_add_strings(json, "extraDevices", vhost_files);
	write_selectors(json, entry, has_others);
	json_end_object(json);
}

static gboolean any_auxiliary(GPtrArray *entries)
{
	for (guint i = 0; i < entries->len; i++)
		if (((const struct sriov_entry *)g_ptr_array_index(entries, i))->is_auxiliary)
			return TRUE;
	return FALSE;
}

/* NULL: nothing is left. */
static char *write_all(GPtrArray *entries)
{
	g_autoptr(JsonWriter) json = json_writer_new(TRUE);
	guint n = 0;

	json_begin_object(json, NULL);
	json_begin_array(json, "configList");
	for (guint i = 0; i < entries->len; i++) {
		const struct sriov_entry *entry = g_ptr_array_index(entries, i);

		if (entry->is_lost)
			continue;
		write_entry(json, entry, any_auxiliary(entries));
		n++;
	}
	json_end_array(json);
	json_end_object(json);
	return n == 0 ? NULL : g_strconcat(json_writer_text(json), "\n", NULL);
}

/* What our own reader has to say about it, such as ids that are none. */
static void check_result(const char *text, GPtrArray *findings)
{
	g_autoptr(GPtrArray) own = findings_new();
	ResourceFile *file = resource_file_parse(text, strlen(text), own);

	if (file != NULL)
		resource_file_free(file);
	for (guint i = 0; i < own->len; i++) {
		const struct finding *finding = g_ptr_array_index(own, i);

		findings_add(findings, finding->level, "in what was written: %s", finding->text);
	}
}

static void note_files(GPtrArray *entries, GPtrArray *findings)
{
	for (guint i = 0; i < entries->len; i++) {
		const struct sriov_entry *entry = g_ptr_array_index(entries, i);

		if (!entry->is_rdma || entry->is_lost)
			continue;
		findings_add_at(findings, FINDING_WARNING, "resourceList",
				"pods got umad and issm as well, with which they can manage the "
				"fabric; those that need it want \"charDevices\": {\"umad\": "
				"\"optional\", \"issm\": \"optional\"} here");
		return;
	}
}

char *sriov_file_convert(const char *text, gsize length, GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonValue) top = json_parse(text, length, &error);
	g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(entry_free);
	g_autofree char *converted = NULL;

	if (top == NULL) {
		findings_add(findings, FINDING_ERROR, "%s", error->message);
		return NULL;
	}
	if (reader_walk(top, &top_level, entries, findings) && entries->len == 0 &&
	    !findings_have_error(findings))
		findings_add_at(findings, FINDING_ERROR, "resourceList",
				"is missing or empty: this is no configuration of the SR-IOV "
				"network device plugin");
	converted = write_all(entries);
	if (converted != NULL)
		check_result(converted, findings);
	note_files(entries, findings);
	return g_steal_pointer(&converted);
}
