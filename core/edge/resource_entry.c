/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of "configList". */
#include <string.h>

#include "edge/resource_parse.h"
#include "edge/resource_reader.h"
#include "edge/resource_values.h"
#include "model/list_size.h"

#define DEFAULT_PREFIX "rdma"

/* An entry while it is read: what can only be judged when all keys are known. */
struct entry {
	ResourceConfig *config;
	const JsonValue *selectors, *devices, *hca_max, *allocation_policy, *health_policy;
};

static void read_name(const JsonValue *value, const struct json_field *field, gpointer target,
		      GPtrArray *findings)
{
	(void)field;
	struct entry *entry = target;
	if (!reader_expect(value, JSON_KIND_STRING, findings))
		return;
	entry->config->name = g_strdup(value->string);
	const char *problem = value_check_resource_name(value->string);
	if (problem != NULL)
		reader_error(value, findings, "resource name \"%s\" %s", value->string, problem);
}

static void read_prefix(const JsonValue *value, const struct json_field *field, gpointer target,
			GPtrArray *findings)
{
	(void)field;
	struct entry *entry = target;
	if (!reader_expect(value, JSON_KIND_STRING, findings) || *value->string == '\0')
		return;
	entry->config->prefix = g_strdup(value->string);
	const char *problem = value_check_resource_prefix(value->string);
	if (problem == NULL)
		return;
	g_autofree char *lower = g_ascii_strdown(value->string, -1);
	if (value_check_resource_prefix(lower) == NULL)
		reader_error(value, findings, "resource prefix \"%s\" %s; write \"%s\"",
			     value->string, problem, lower);
	else
		reader_error(value, findings, "resource prefix \"%s\" %s", value->string, problem);
}

static void read_mode(const JsonValue *value, const struct json_field *field, gpointer target,
		      GPtrArray *findings)
{
	(void)field;
	static const char *const words[] = {
		[RESOURCE_SHARED] = "shared",
		[RESOURCE_EXCLUSIVE] = "exclusive",
		[RESOURCE_AUTO] = "auto",
		NULL,
	};
	/* What the predecessor called them. */
	static const char *const others[][2] = {{"hca", "shared"}, {"sriov", "exclusive"}};
	struct entry *entry = target;
	int mode;
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
		if (value->kind != JSON_KIND_STRING || !g_str_equal(value->string, others[i][0]))
			continue;
		reader_error(value, findings, "\"%s\" is called \"%s\" here", others[i][0],
			     others[i][1]);
		return;
	}
	if (reader_choice(value, words, &mode, findings))
		entry->config->mode = (enum resource_mode)mode;
}

static void read_hca_max(const JsonValue *value, const struct json_field *field, gpointer target,
			 GPtrArray *findings)
{
	(void)field;
	struct entry *entry = target;
	entry->hca_max = value;
	if (value->kind == JSON_KIND_INT && value->integer < 0) {
		reader_error(value, findings,
			     "Invalid value for rdmaHcaMax < 0: %" G_GINT64_FORMAT
			     "; write the number of pods that may share the devices",
			     value->integer);
		return;
	}
	if (value->kind == JSON_KIND_STRING && strpbrk(value->string, "0123456789") == NULL)
		reader_error(value, findings,
			     "\"%s\" is not a whole number; leave the key out for as many as "
			     "there are devices",
			     value->string);
	else
		reader_int(value, 0, G_MAXINT, &entry->config->rdma_hca_max, findings);
}

static void keep_selectors(const JsonValue *value, const struct json_field *field, gpointer target,
			   GPtrArray *findings)
{
	(void)field;
	(void)findings;
	struct entry *entry = target;
	entry->selectors = value;
}

static void keep_devices(const JsonValue *value, const struct json_field *field, gpointer target,
			 GPtrArray *findings)
{
	(void)field;
	struct entry *entry = target;
	if (reader_expect(value, JSON_KIND_ARRAY, findings) && value->items->len > 0)
		entry->devices = value;
}

static void read_health_policy(const JsonValue *value, const struct json_field *field,
			       gpointer target, GPtrArray *findings)
{
	(void)field;
	static const char *const words[] = {
		[HEALTH_PER_DEVICE] = "perDevice",
		[HEALTH_ANY_DEVICE] = "anyDevice",
		[HEALTH_ALL_DEVICES] = "allDevices",
		[HEALTH_OFF] = "off",
		NULL,
	};
	struct entry *entry = target;
	int policy;
	entry->health_policy = value;
	if (reader_choice(value, words, &policy, findings))
		entry->config->health_policy = (enum health_policy)policy;
}

enum { RULE_RDMA_CM, RULE_UMAD, RULE_ISSM };

static void read_char_rule(const JsonValue *value, const struct json_field *field, gpointer target,
			   GPtrArray *findings)
{
	static const char *const words[] = {"optional", "required", NULL};
	ResourceConfig *config = target;
	enum char_rule *const members[] = {
		[RULE_RDMA_CM] = &config->rdma_cm,
		[RULE_UMAD] = &config->umad,
		[RULE_ISSM] = &config->issm,
	};
	int choice = 0;
	if (value->kind == JSON_KIND_BOOL)
		*members[field->number] = value->boolean ? CHAR_REQUIRED : CHAR_OFF;
	else if (value->kind == JSON_KIND_STRING &&
		 (g_str_equal(value->string, "true") || g_str_equal(value->string, "false")))
		reader_error(value, findings, "\"%s\" is text; write %s without quotes",
			     value->string, value->string);
	else if (value->kind != JSON_KIND_STRING)
		reader_error(value, findings,
			     "is neither true, false, \"optional\" nor \"required\"");
	else if (reader_choice(value, words, &choice, findings))
		*members[field->number] = choice == 0 ? CHAR_OPTIONAL : CHAR_REQUIRED;
}

static void read_char_devices(const JsonValue *value, const struct json_field *field,
			      gpointer target, GPtrArray *findings)
{
	(void)field;
	static const struct json_field fields[] = {
		{"rdma_cm", read_char_rule, RULE_RDMA_CM},
		{"umad", read_char_rule, RULE_UMAD},
		{"issm", read_char_rule, RULE_ISSM},
		{NULL, NULL, 0},
	};
	static const struct json_advice advice[] = {
		{"uverbs", "uverbs is always required, so remove it"},
		{"mad", "did you mean \"umad\"?"},
		{NULL, NULL},
	};
	static const struct json_level level = {fields, advice};
	struct entry *entry = target;
	reader_walk(value, &level, entry->config, findings);
}

static void read_extra_devices(const JsonValue *value, const struct json_field *field,
			       gpointer target, GPtrArray *findings)
{
	(void)field;
	struct entry *entry = target;
	GStrv devices = resource_parse_texts(value, value_check_device, findings);
	entry->config->extra_devices = devices;
	for (gsize i = 0; devices != NULL && devices[i] != NULL; i++) {
		if (g_str_has_prefix(devices[i], "/dev/infiniband/"))
			reader_warning(
				value, findings,
				"\"%s\" gives pods RDMA nodes that are not the resource's; its "
				"own come by themselves, see \"charDevices\"",
				devices[i]);
	}
}

static void read_mounts(const JsonValue *value, const struct json_field *field, gpointer target,
			GPtrArray *findings)
{
	(void)field;
	struct entry *entry = target;
	resource_parse_mounts(value, entry->config, findings);
}

static void read_hca_list(const JsonValue *value, const struct json_field *field, gpointer target,
			  GPtrArray *findings)
{
	(void)field;
	ResourceConfig *config = target;
	const char *text = reader_text(value, findings);
	const char *problem = text == NULL ? NULL : value_check_variable(text);
	if (problem != NULL)
		reader_error(value, findings, "\"%s\" %s", text, problem);
	else
		config->env_hca_list = g_strdup(text);
}

static void read_env(const JsonValue *value, const struct json_field *field, gpointer target,
		     GPtrArray *findings)
{
	(void)field;
	static const struct json_field fields[] = {
		{"hcaList", read_hca_list, 0},
		{NULL, NULL, 0},
	};
	static const struct json_level level = {fields, NULL};
	struct entry *entry = target;
	reader_walk(value, &level, entry->config, findings);
}

static void read_topology(const JsonValue *value, const struct json_field *field, gpointer target,
			  GPtrArray *findings)
{
	(void)field;
	struct entry *entry = target;
	if (reader_expect(value, JSON_KIND_BOOL, findings))
		entry->config->topology = value->boolean ? 1 : 0;
}

static void read_allocation_policy(const JsonValue *value, const struct json_field *field,
				   gpointer target, GPtrArray *findings)
{
	(void)field;
	static const char *const words[] = {
		[ALLOCATION_PACKED] = "packed",
		[ALLOCATION_DISTRIBUTED] = "distributed",
		NULL,
	};
	struct entry *entry = target;
	int policy;
	entry->allocation_policy = value;
	if (reader_choice(value, words, &policy, findings))
		entry->config->allocation_policy = (enum allocation_policy)policy;
}

static void read_health(const JsonValue *value, const struct json_field *field, gpointer target,
			GPtrArray *findings)
{
	(void)field;
	struct entry *entry = target;
	resource_parse_health(value, &entry->config->health, findings);
}

static const struct json_field entry_fields[] = {
	{"resourceName", read_name, 0},
	{"resourcePrefix", read_prefix, 0},
	{"mode", read_mode, 0},
	{"rdmaHcaMax", read_hca_max, 0},
	{"selectors", keep_selectors, 0},
	{"devices", keep_devices, 0},
	{"healthPolicy", read_health_policy, 0},
	{"charDevices", read_char_devices, 0},
	{"extraDevices", read_extra_devices, 0},
	{"mounts", read_mounts, 0},
	{"env", read_env, 0},
	{"topology", read_topology, 0},
	{"allocationPolicy", read_allocation_policy, 0},
	{"health", read_health, 0},
	{NULL, NULL, 0},
};

#define INSIDE "it belongs inside \"selectors\""
#define ON_TOP "it belongs at the top of the file, beside \"configList\""

static const struct json_advice entry_advice[] = {
	{"buses", INSIDE},
	{"vendors", INSIDE},
	{"deviceIDs", INSIDE},
	{"drivers", INSIDE},
	{"ifNames", INSIDE},
	{"linkTypes", INSIDE},
	{"addresses", INSIDE},
	{"pciAddresses", INSIDE},
	{"rdmaDevices", INSIDE},
	{"pfNames", INSIDE},
	{"rootDevices", INSIDE},
	{"numaNodes", INSIDE},
	{"attributes", INSIDE},
	{"exclude", INSIDE},
	{"periodicUpdateInterval", ON_TOP},
	{"faultDetectPeriod", ON_TOP},
	{"isRdma", "only RDMA devices are found here, so remove it"},
	{"needVhostNet", "write \"extraDevices\": [\"/dev/vhost-net\", \"/dev/net/tun\"] instead"},
	{"deviceType", "only network devices are found here, so remove it"},
	{"excludeTopology", "write \"topology\": false for true, true for false"},
	{"exclusive", "write \"mode\": \"exclusive\" or \"shared\""},
	{"useCdi", "CDI is not there yet; remove it"},
	{"additionalInfo", "variables are set with \"env\""},
	{NULL, NULL},
};

static const struct json_level entry_level = {entry_fields, entry_advice};

static void finish_name(const JsonValue *object, ResourceConfig *config, GPtrArray *findings)
{
	const JsonValue *name = json_find(object, "resourceName");
	if (config->prefix == NULL)
		config->prefix = g_strdup(DEFAULT_PREFIX);
	if (config->name != NULL)
		config->full_name = g_strconcat(config->prefix, "/", config->name, NULL);
	else if (name == NULL || name->kind == JSON_KIND_NULL)
		reader_error(object, findings, "has no \"resourceName\"");
}

/* "devices" that is no list has been reported already. */
static gboolean is_devices_reported(const JsonValue *object)
{
	const JsonValue *devices = json_find(object, "devices");
	return devices != NULL && devices->kind != JSON_KIND_ARRAY &&
	       devices->kind != JSON_KIND_NULL;
}

static void finish_selectors(const JsonValue *object, struct entry *entry, GPtrArray *findings)
{
	gboolean given = resource_selectors_given(entry->selectors);
	if (given && entry->devices != NULL)
		reader_error(object, findings,
			     "Cannot specify both \"selectors\" and \"devices\" fields; move the "
			     "names of \"devices\" to \"selectors\": {\"ifNames\": …}");
	if (given)
		resource_parse_selectors(entry->selectors, entry->config, findings);
	else if (entry->devices != NULL)
		resource_parse_devices(entry->devices, entry->config, findings);
	else if (!is_devices_reported(object))
		reader_error(object, findings,
			     "neither \"selectors\" nor \"devices\" say which devices; for all "
			     "devices of a bus write \"selectors\": {\"buses\": [\"pci\"]}");
}

static void check_slots(const struct entry *entry, GPtrArray *findings)
{
	const ResourceConfig *config = entry->config;
	gboolean topology = config->topology == 1;
	if (config->rdma_hca_max == 0)
		reader_warning(entry->hca_max, findings,
			       "is 0: the resource will have no slots and no pod can use it");
	if (config->full_name == NULL || config->rdma_hca_max <= 0)
		return;
	guint most = list_size_max_slots(config->full_name, topology);
	if ((guint)config->rdma_hca_max <= most)
		return;
	gsize bytes = list_size_bytes(config->full_name, (guint)config->rdma_hca_max, topology);
	reader_error(entry->hca_max, findings,
		     "%d slots make a list of %" G_GSIZE_FORMAT
		     " bytes; the kubelet takes %" G_GSIZE_FORMAT
		     ", which is %u slots of this name",
		     config->rdma_hca_max, bytes, LIST_SIZE_LIMIT, most);
}

static void finish_mode(const struct entry *entry, GPtrArray *findings)
{
	enum resource_mode mode = entry->config->mode;
	if (mode == RESOURCE_EXCLUSIVE && entry->hca_max != NULL)
		reader_error(
			entry->hca_max, findings,
			"is not possible with \"mode\": \"exclusive\", where every device is one "
			"unit; remove it");
	else
		check_slots(entry, findings);
	if (mode == RESOURCE_SHARED && entry->allocation_policy != NULL)
		reader_warning(entry->allocation_policy, findings,
			       "has no effect in shared mode, where every pod gets all devices");
	if (mode == RESOURCE_EXCLUSIVE && entry->config->health_policy == HEALTH_ALL_DEVICES)
		reader_warning(entry->health_policy, findings,
			       "\"allDevices\" has no effect in exclusive mode, where every device "
			       "has its own health");
}

ResourceConfig *resource_parse_entry(const JsonValue *object, GPtrArray *findings)
{
	struct entry entry = {.config = resource_config_new()};
	if (!reader_walk(object, &entry_level, &entry, findings))
		return entry.config;
	finish_name(object, entry.config, findings);
	finish_selectors(object, &entry, findings);
	finish_mode(&entry, findings);
	return entry.config;
}
