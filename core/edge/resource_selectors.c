/* SPDX-License-Identifier: Apache-2.0 */
/* "selectors" and its old form "devices". */
#include <string.h>

#include "edge/resource_parse.h"
#include "edge/resource_reader.h"
#include "edge/resource_values.h"

/* One object while it is read. */
struct draft {
	struct selector *selector;
	const char *bus;
	gboolean is_exclude;
};

/* A list while it is read. */
struct values {
	GPtrArray *list;
	GHashTable *seen;
};

static struct values begin_values(void)
{
	return (struct values){g_ptr_array_new(), g_hash_table_new(g_str_hash, g_str_equal)};
}

static void add_value(struct values *values, const JsonValue *item, char *value,
		      GPtrArray *findings)
{
	if (value == NULL)
		return;
	if (!g_hash_table_contains(values->seen, value)) {
		g_hash_table_add(values->seen, value);
		g_ptr_array_add(values->list, value);
		return;
	}
	reader_warning(item, findings, "\"%s\" is there twice in this list", value);
	g_free(value);
}

static GStrv end_values(struct values *values)
{
	gboolean is_empty = values->list->len == 0;
	g_hash_table_unref(values->seen);
	g_ptr_array_add(values->list, NULL);
	GStrv list = (GStrv)g_ptr_array_free(values->list, FALSE);
	if (!is_empty)
		return list;
	g_strfreev(list);
	return NULL;
}

GStrv resource_parse_list(const JsonValue *list, enum selector_key key, const char *bus,
			  GPtrArray *findings)
{
	if (!reader_expect(list, JSON_KIND_ARRAY, findings))
		return NULL;
	struct values values = begin_values();
	for (guint i = 0; i < list->items->len; i++) {
		const JsonValue *item = g_ptr_array_index(list->items, i);
		add_value(&values, item, resource_parse_value(item, key, bus, findings), findings);
	}
	return end_values(&values);
}

GStrv resource_parse_texts(const JsonValue *list, const char *(*check)(const char *text),
			   GPtrArray *findings)
{
	if (!reader_expect(list, JSON_KIND_ARRAY, findings))
		return NULL;
	struct values values = begin_values();
	for (guint i = 0; i < list->items->len; i++) {
		const JsonValue *item = g_ptr_array_index(list->items, i);
		add_value(&values, item, reader_checked_text(item, check, findings), findings);
	}
	return end_values(&values);
}

static void read_list(const JsonValue *value, const struct json_field *field, gpointer target,
		      GPtrArray *findings)
{
	struct draft *draft = target;
	draft->selector->values[field->number] =
		resource_parse_list(value, (enum selector_key)field->number, draft->bus, findings);
}

/* The value was read before all others, since they depend on the bus. */
static void read_buses(const JsonValue *value, const struct json_field *field, gpointer target,
		       GPtrArray *findings)
{
	(void)field;
	struct draft *draft = target;
	if (draft->is_exclude)
		reader_error(
			value, findings,
			"a bus cannot be excluded; leave it out of \"buses\" of the selectors");
}

static void read_attributes(const JsonValue *value, const struct json_field *field, gpointer target,
			    GPtrArray *findings)
{
	(void)field;
	struct draft *draft = target;
	if (!reader_expect(value, JSON_KIND_OBJECT, findings))
		return;
	GHashTable *attributes =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_strfreev);
	for (guint i = 0; i < value->items->len; i++) {
		const JsonValue *item = g_ptr_array_index(value->items, i);
		GStrv values = item->kind == JSON_KIND_NULL
				       ? NULL
				       : resource_parse_texts(item, NULL, findings);
		if (values != NULL)
			g_hash_table_insert(attributes, g_strdup(item->key), values);
	}
	if (g_hash_table_size(attributes) > 0)
		draft->selector->attributes = attributes;
	else
		g_hash_table_unref(attributes);
}

static gboolean holds_something(const JsonValue *value)
{
	if (value->kind == JSON_KIND_ARRAY)
		return value->items->len > 0;
	if (value->kind != JSON_KIND_OBJECT)
		return value->kind != JSON_KIND_NULL;
	for (guint i = 0; i < value->items->len; i++) {
		if (holds_something(g_ptr_array_index(value->items, i)))
			return TRUE;
	}
	return FALSE;
}

static void read_exclude(const JsonValue *value, const struct json_field *field, gpointer target,
			 GPtrArray *findings);

static const struct json_field selector_fields[] = {
	{"buses", read_buses, 0},
	{"vendors", read_list, SELECTOR_VENDORS},
	{"deviceIDs", read_list, SELECTOR_DEVICE_IDS},
	{"drivers", read_list, SELECTOR_DRIVERS},
	{"ifNames", read_list, SELECTOR_IF_NAMES},
	{"linkTypes", read_list, SELECTOR_LINK_TYPES},
	{"addresses", read_list, SELECTOR_ADDRESSES},
	{"pciAddresses", read_list, SELECTOR_ADDRESSES},
	{"rdmaDevices", read_list, SELECTOR_RDMA_DEVICES},
	{"pfNames", read_list, SELECTOR_PF_NAMES},
	{"rootDevices", read_list, SELECTOR_ROOT_DEVICES},
	{"numaNodes", read_list, SELECTOR_NUMA_NODES},
	{"attributes", read_attributes, 0},
	{"exclude", read_exclude, 0},
	{NULL, NULL, 0},
};

#define BESIDE "it belongs beside \"selectors\", not inside"
#define NOT_HERE "this plugin does not choose by it; use \"addresses\" or \"attributes\""

static const struct json_advice selector_advice[] = {
	{"bus", "it is called \"buses\" here"},
	{"interfaces", "they are called \"ifNames\" here"},
	{"pfNetdevices", "it is called \"pfNames\" here"},
	{"isRdma", "only RDMA devices are found here, so remove it"},
	{"needVhostNet", "give the resource \"extraDevices\": [\"/dev/vhost-net\", "
			 "\"/dev/net/tun\"] instead"},
	{"auxTypes", "sub-functions are found like all devices, so remove it; choose them by "
		     "\"pfNames\", \"rdmaDevices\" or \"addresses\": [\"mlx5_core.sf.4\"]"},
	{"devices", "device ids belong into \"deviceIDs\", PCI addresses into \"addresses\", "
		    "interfaces into \"ifNames\""},
	{"acpiIndexes", NOT_HERE},
	{"ddpProfiles", NOT_HERE},
	{"pKeys", NOT_HERE},
	{"vdpaType", NOT_HERE},
	{"resourceName", BESIDE},
	{"resourcePrefix", BESIDE},
	{"mode", BESIDE},
	{"rdmaHcaMax", BESIDE},
	{"charDevices", BESIDE},
	{"extraDevices", BESIDE},
	{"topology", BESIDE},
	{NULL, NULL},
};

static const struct json_level selector_level = {selector_fields, selector_advice};

static struct selector *parse_object(const JsonValue *object, const char *bus, gboolean is_exclude,
				     GPtrArray *findings)
{
	struct draft draft = {selector_new(), bus, is_exclude};
	reader_walk(object, &selector_level, &draft, findings);
	return draft.selector;
}

static void read_exclude(const JsonValue *value, const struct json_field *field, gpointer target,
			 GPtrArray *findings)
{
	(void)field;
	struct draft *draft = target;
	if (draft->is_exclude)
		reader_error(value, findings, "\"exclude\" cannot be inside \"exclude\"");
	else if (holds_something(value))
		draft->selector->exclude = parse_object(value, draft->bus, TRUE, findings);
	else
		reader_warning(value, findings, "is empty; nothing is excluded");
}

/* The default where nothing usable is said. */
static char *find_bus(const JsonValue *object, GPtrArray *findings)
{
	const JsonValue *value = json_find(object, "buses");
	if (value == NULL || value->kind == JSON_KIND_NULL)
		return g_strdup(DEFAULT_BUS);
	g_auto(GStrv) names = resource_parse_texts(value, value_check_bus, findings);
	if (names == NULL)
		return g_strdup(DEFAULT_BUS);
	if (names[1] != NULL) {
		g_autofree char *all = g_strjoinv("\", \"", names);
		reader_error(value, findings,
			     "\"%s\" are several buses; a resource has exactly one, so make one "
			     "resource for each",
			     all);
	}
	return g_strdup(names[0]);
}

/* Neither maker has an RDMA adapter with such an id, and people write the bus number
 * that lspci shows in front. */
static gboolean looks_like_bus_number(const struct selector *selector, const char *id)
{
	GStrv vendors = selector->values[SELECTOR_VENDORS];
	if (vendors == NULL || !g_str_has_suffix(id, "00"))
		return FALSE;
	for (gsize i = 0; vendors[i] != NULL; i++) {
		if (!g_str_equal(vendors[i], "15b3") && !g_str_equal(vendors[i], "8086"))
			return FALSE;
	}
	return TRUE;
}

static void check_bus_numbers(const JsonValue *object, const struct selector *selector,
			      GPtrArray *findings)
{
	GStrv ids = selector->values[SELECTOR_DEVICE_IDS];
	for (gsize i = 0; ids != NULL && ids[i] != NULL; i++) {
		if (looks_like_bus_number(selector, ids[i]))
			reader_warning(
				json_find(object, "deviceIDs"), findings,
				"\"%s\" looks like the bus number %.2s:00, not like a device "
				"id; to choose a device by its place use \"addresses\" and the "
				"whole address, such as \"0000:%.2s:00.0\"",
				ids[i], ids[i], ids[i]);
	}
}

/* The maker of the Unified Bus has another id there than on PCI, and no one else is on it. */
static void check_vendors(const JsonValue *object, const struct selector *selector, const char *bus,
			  GPtrArray *findings)
{
	static const char *const others[] = {"15b3", "8086", "14e4", "1d0f", NULL};
	GStrv vendors = selector->values[SELECTOR_VENDORS];
	for (gsize i = 0; vendors != NULL && vendors[i] != NULL; i++) {
		if (g_str_equal(bus, DEFAULT_BUS) && g_str_equal(vendors[i], "cc08"))
			reader_warning(json_find(object, "vendors"), findings,
				       "\"cc08\" is a vendor on the Unified Bus, not on PCI; if "
				       "that is meant, add \"buses\": [\"ub\"]");
		else if (g_str_equal(bus, "ub") && g_strv_contains(others, vendors[i]))
			reader_warning(json_find(object, "vendors"), findings,
				       "\"%s\" is a vendor on PCI, not on the Unified Bus; if that "
				       "is meant, remove \"buses\": [\"ub\"]",
				       vendors[i]);
	}
}

gboolean resource_selectors_given(const JsonValue *selectors)
{
	if (selectors == NULL || selectors->kind != JSON_KIND_OBJECT)
		return selectors != NULL && holds_something(selectors);
	for (guint i = 0; i < selectors->items->len; i++) {
		const JsonValue *item = g_ptr_array_index(selectors->items, i);
		if (g_ascii_strcasecmp(item->key, "exclude") != 0 && holds_something(item))
			return TRUE;
	}
	return FALSE;
}

static void parse_selector(const JsonValue *object, ResourceConfig *config, GPtrArray *findings)
{
	g_autofree char *bus = find_bus(object, findings);
	struct selector *selector = parse_object(object, bus, FALSE, findings);
	g_ptr_array_add(config->selectors, selector);
	check_vendors(object, selector, bus, findings);
	if (g_str_equal(bus, DEFAULT_BUS))
		check_bus_numbers(object, selector, findings);
	if (config->bus == NULL)
		config->bus = g_steal_pointer(&bus);
	else if (!g_str_equal(config->bus, bus))
		reader_error(
			object, findings,
			"is about the bus \"%s\", the first selector about \"%s\"; all selectors "
			"of a resource name the same bus",
			bus, config->bus);
}

static void parse_union(const JsonValue *selectors, ResourceConfig *config, GPtrArray *findings)
{
	for (guint i = 0; i < selectors->items->len; i++) {
		const JsonValue *object = g_ptr_array_index(selectors->items, i);
		if (resource_selectors_given(object))
			parse_selector(object, config, findings);
		else
			reader_error(object, findings,
				     "is empty and would take every device; remove it, or write "
				     "\"buses\": [\"pci\"] if that is meant");
	}
}

void resource_parse_selectors(const JsonValue *selectors, ResourceConfig *config,
			      GPtrArray *findings)
{
	if (selectors->kind == JSON_KIND_ARRAY)
		parse_union(selectors, config, findings);
	else
		parse_selector(selectors, config, findings);
}

void resource_parse_devices(const JsonValue *devices, ResourceConfig *config, GPtrArray *findings)
{
	struct selector *selector = selector_new();
	selector->values[SELECTOR_IF_NAMES] =
		resource_parse_list(devices, SELECTOR_IF_NAMES, DEFAULT_BUS, findings);
	g_ptr_array_add(config->selectors, selector);
	config->bus = g_strdup(DEFAULT_BUS);
	reader_warning(
		devices, findings,
		"the \"devices\" field is deprecated; write \"selectors\": {\"ifNames\": …}");
}
