/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/sriov_entry.h"

#include <string.h>

#include "edge/resource_parse.h"
#include "edge/resource_reader.h"
#include "model/vf_range.h"

/* What the plugin puts in front where neither file nor command line has a prefix. */
#define DEFAULT_PREFIX "intel.com"

static void object_free(gpointer data)
{
	struct sriov_object *object = data;

	for (gsize i = 0; i < SRIOV_N_LISTS; i++)
		g_clear_pointer(&object->lists[i], g_ptr_array_unref);
	g_free(object);
}

void sriov_entry_free(struct sriov_entry *entry)
{
	g_ptr_array_unref(entry->objects);
	g_free(entry->name);
	g_free(entry->prefix);
	g_free(entry);
}

/* --- selectors --- */

/* Without a list that restricts, the resource would take more than before. */
static void lose(const JsonValue *value, struct sriov_entry *entry, GPtrArray *findings,
		 const char *why)
{
	reader_error(value, findings, "%s; the resource is left out", why);
	entry->is_lost = TRUE;
}

static GPtrArray *read_texts(const JsonValue *value, GPtrArray *findings)
{
	g_auto(GStrv) texts = resource_parse_texts(value, NULL, findings);
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (gsize i = 0; texts != NULL && texts[i] != NULL; i++)
		g_ptr_array_add(list, g_strdup(texts[i]));
	return list;
}

static gboolean is_userspace_driver(const char *driver)
{
	static const char *const names[] = {"vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub",
					    NULL};

	return g_strv_contains(names, driver);
}

static void check_drivers(const JsonValue *value, struct sriov_entry *entry, GPtrArray *drivers,
			  GPtrArray *findings)
{
	guint n = drivers->len;

	for (guint i = n; i > 0; i--)
		if (is_userspace_driver(g_ptr_array_index(drivers, i - 1)))
			g_ptr_array_remove_index(drivers, i - 1);
	if (n > 0 && drivers->len == 0)
		lose(value, entry, findings, "a device with such a driver does no RDMA");
	else if (drivers->len < n)
		reader_warning(value, findings,
			       "devices with a driver for virtual machines or user space do no "
			       "RDMA; that driver is left out");
}

static gboolean same_pf(const char *a, const char *b)
{
	gsize length = vf_range_name_length(a);

	return length == vf_range_name_length(b) && g_ascii_strncasecmp(a, b, length) == 0;
}

static gboolean is_named_before(GPtrArray *entries, guint at)
{
	for (guint i = 0; i < at; i++)
		if (same_pf(g_ptr_array_index(entries, i), g_ptr_array_index(entries, at)))
			return TRUE;
	return FALSE;
}

/* The plugin looks no further than the first entry of a PF. */
static void check_ranges(const JsonValue *value, GPtrArray *entries, GPtrArray *findings)
{
	for (guint i = entries->len; i > 1; i--) {
		if (!is_named_before(entries, i - 1))
			continue;
		reader_warning(value, findings,
			       "\"%s\" is left out: the SR-IOV plugin only takes the first entry "
			       "of a physical function; here all entries would count",
			       (const char *)g_ptr_array_index(entries, i - 1));
		g_ptr_array_remove_index(entries, i - 1);
	}
}

static void read_list(const JsonValue *value, const struct json_field *field, gpointer target,
		      GPtrArray *findings)
{
	struct sriov_entry *entry = target;
	struct sriov_object *object = g_ptr_array_index(entry->objects, entry->objects->len - 1);
	GPtrArray *list = read_texts(value, findings);

	object->lists[field->number] = list;
	if (field->number == SRIOV_DRIVERS)
		check_drivers(value, entry, list, findings);
	if (field->number == SRIOV_PF_NAMES || field->number == SRIOV_ROOT_DEVICES)
		check_ranges(value, list, findings);
}

static void read_unknown_list(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
			      gpointer target, GPtrArray *findings)
{
	gboolean is_list = value->kind == JSON_KIND_ARRAY;

	if (is_list ? value->items->len > 0 : reader_expect(value, JSON_KIND_STRING, findings))
		lose(value, target, findings, "devices are not chosen by it here");
}

static void read_aux_types(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
			   gpointer target, GPtrArray *findings)
{
	g_autoptr(GPtrArray) types = read_texts(value, findings);

	for (guint i = 0; i < types->len; i++)
		if (strcmp(g_ptr_array_index(types, i), "sf") != 0)
			lose(value, target, findings,
			     "auxiliary devices other than sub-functions are not offered here");
}

static void read_rdma(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
		      gpointer target, GPtrArray *findings)
{
	if (reader_expect(value, JSON_KIND_BOOL, findings))
		((struct sriov_entry *)target)->is_rdma |= value->boolean;
}

static void read_vhost(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
		       gpointer target, GPtrArray *findings)
{
	if (reader_expect(value, JSON_KIND_BOOL, findings))
		((struct sriov_entry *)target)->vhost_net |= value->boolean;
}

static const struct json_field selector_fields[] = {
	{"vendors", read_list, SRIOV_VENDORS},
	{"devices", read_list, SRIOV_DEVICE_IDS},
	{"drivers", read_list, SRIOV_DRIVERS},
	{"pciAddresses", read_list, SRIOV_ADDRESSES},
	{"pfNames", read_list, SRIOV_PF_NAMES},
	{"rootDevices", read_list, SRIOV_ROOT_DEVICES},
	{"linkTypes", read_list, SRIOV_LINK_TYPES},
	{"isRdma", read_rdma, 0},
	{"needVhostNet", read_vhost, 0},
	{"auxTypes", read_aux_types, 0},
	{"acpiIndexes", read_unknown_list, 0},
	{"ddpProfiles", read_unknown_list, 1},
	{"pKeys", read_unknown_list, 2},
	{"vdpaType", read_unknown_list, 3},
	{NULL, NULL, 0},
};

static const struct json_level selector_level = {selector_fields, NULL};

static void read_object(const JsonValue *value, struct sriov_entry *entry, GPtrArray *findings)
{
	g_ptr_array_add(entry->objects, g_new0(struct sriov_object, 1));
	reader_walk(value, &selector_level, entry, findings);
}

static void read_selectors(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
			   gpointer target, GPtrArray *findings)
{
	if (value->kind != JSON_KIND_ARRAY) {
		read_object(value, target, findings);
		return;
	}
	for (guint i = 0; i < value->items->len; i++)
		read_object(g_ptr_array_index(value->items, i), target, findings);
}

/* --- entries --- */

static void read_name(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
		      gpointer target, GPtrArray *findings)
{
	((struct sriov_entry *)target)->name = g_strdup(reader_text(value, findings));
}

static void read_prefix(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
			gpointer target, GPtrArray *findings)
{
	((struct sriov_entry *)target)->prefix = g_strdup(reader_text(value, findings));
}

static void read_type(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
		      gpointer target, GPtrArray *findings)
{
	static const char *const types[] = {"netDevice", "auxNetDevice", "accelerator", NULL};
	int type = 0;

	if (reader_choice(value, types, &type, findings) && type == 2)
		lose(value, target, findings, "accelerators are not offered here");
	((struct sriov_entry *)target)->is_auxiliary = type == 1;
}

static void read_topology(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
			  gpointer target, GPtrArray *findings)
{
	if (reader_expect(value, JSON_KIND_BOOL, findings))
		((struct sriov_entry *)target)->no_topology = value->boolean;
}

static void read_additional(const JsonValue *value, const struct json_field *field G_GNUC_UNUSED,
			    gpointer target G_GNUC_UNUSED, GPtrArray *findings)
{
	reader_warning(value, findings,
		       "is not carried over: the variable PCIDEVICE_…_INFO has no \"extra\" here; "
		       "set such variables in the pods");
}

static const struct json_field entry_fields[] = {
	{"resourceName", read_name, 0},
	{"resourcePrefix", read_prefix, 0},
	{"deviceType", read_type, 0},
	{"excludeTopology", read_topology, 0},
	{"selectors", read_selectors, 0},
	{"additionalInfo", read_additional, 0},
	{"isRdma", read_rdma, 0}, /* where old versions have it */
	{NULL, NULL, 0},
};

static const struct json_level entry_level = {entry_fields, NULL};

/* What was not said. */
static void complete(const JsonValue *value, struct sriov_entry *entry, GPtrArray *findings)
{
	if (entry->name == NULL && json_find(value, "resourceName") == NULL)
		reader_error(value, findings, "\"resourceName\" is missing");
	if (entry->prefix == NULL) {
		entry->prefix = g_strdup(DEFAULT_PREFIX);
		reader_warning(value, findings,
			       "has no \"resourcePrefix\": \"" DEFAULT_PREFIX "\" is written, the "
			       "default of the plugin's option -resource-prefix; change it if that "
			       "was given");
	}
	if (!entry->is_rdma && !entry->is_lost)
		reader_warning(
			value, findings,
			"had devices that do no RDMA, too, since it does not say \"isRdma\": "
			"true; here they are never offered");
	if (entry->vhost_net && !entry->is_lost)
		reader_warning(value, findings,
			       "\"needVhostNet\" has become \"extraDevices\": without these files "
			       "on the node, pods are refused");
}

/* Whatever is wrong in it, a part of it was not understood. */
struct sriov_entry *sriov_entry_read(const JsonValue *value, GPtrArray *findings)
{
	struct sriov_entry *entry = g_new0(struct sriov_entry, 1);
	guint errors = findings_count(findings, FINDING_ERROR);

	entry->objects = g_ptr_array_new_with_free_func(object_free);
	if (reader_walk(value, &entry_level, entry, findings)) {
		entry->is_lost |= findings_count(findings, FINDING_ERROR) > errors;
		complete(value, entry, findings);
	}
	entry->is_lost |= findings_count(findings, FINDING_ERROR) > errors;
	if (entry->objects->len == 0)
		g_ptr_array_add(entry->objects, g_new0(struct sriov_object, 1));
	return entry;
}
