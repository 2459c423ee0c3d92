/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/resource_file.h"

#include <string.h>

#include "edge/json.h"
#include "edge/resource_parse.h"
#include "edge/resource_reader.h"
#include "edge/small_file.h"

#define DEFAULT_RESCAN_S 60
#define LONGEST_PERIOD_S (30 * 24 * 60 * 60)
/* A ConfigMap holds 1 MiB. */
#define LARGEST_FILE (4 * SMALL_FILE_MIB)
/* Each has a socket, a server and two lines in the node's status. */
#define MOST_RESOURCES 1000

/* "5m", as other files have it: said with what to write. */
static gboolean is_duration(const JsonValue *value, GPtrArray *findings)
{
	static const char units[] = "smh";
	static const guint64 seconds[] = {1, 60, 3600};
	const char *text = value->kind == JSON_KIND_STRING ? value->string : "";
	gsize digits = strspn(text, "0123456789");
	const char *unit = strchr(units, text[digits]);
	if (digits == 0 || digits > 6 || text[digits] == '\0' || text[digits + 1] != '\0' ||
	    unit == NULL)
		return FALSE;
	reader_error(value, findings, "\"%s\" is not a number of seconds; write %" G_GUINT64_FORMAT,
		     text, g_ascii_strtoull(text, NULL, 10) * seconds[unit - units]);
	return TRUE;
}

/* A period above 30 days is taken as 30 days: timers count milliseconds in 32 bits. */
static void read_period(const JsonValue *value, int *ret_seconds, GPtrArray *findings)
{
	int seconds;
	if (value->kind == JSON_KIND_INT && value->integer < 0) {
		reader_error(value, findings,
			     "invalid \"%s\" configuration \"%" G_GINT64_FORMAT
			     "\"; seconds from 0 on are allowed, 0 switches it off",
			     value->key, value->integer);
		return;
	}
	if (is_duration(value, findings) || !reader_int(value, 0, G_MAXINT, &seconds, findings))
		return;
	if (seconds > LONGEST_PERIOD_S)
		reader_warning(value, findings, "%d is more than 30 days and is taken as 30 days",
			       seconds);
	*ret_seconds = MIN(seconds, LONGEST_PERIOD_S);
}

static void read_rescan(const JsonValue *value, const struct json_field *field, gpointer target,
			GPtrArray *findings)
{
	(void)field;
	ResourceFile *file = target;
	read_period(value, &file->rescan_s, findings);
}

static void read_fault_detect(const JsonValue *value, const struct json_field *field,
			      gpointer target, GPtrArray *findings)
{
	(void)field;
	ResourceFile *file = target;
	read_period(value, &file->fault_detect_s, findings);
}

static void read_config_list(const JsonValue *value, const struct json_field *field,
			     gpointer target, GPtrArray *findings)
{
	(void)field;
	ResourceFile *file = target;
	if (!reader_expect(value, JSON_KIND_ARRAY, findings))
		return;
	if (value->items->len > MOST_RESOURCES)
		reader_error(value, findings, "has %u entries; at most %d are possible",
			     value->items->len, MOST_RESOURCES);
	for (guint i = 0; i < MIN(value->items->len, MOST_RESOURCES); i++)
		g_ptr_array_add(file->resources,
				resource_parse_entry(g_ptr_array_index(value->items, i), findings));
}

static const struct json_field top_fields[] = {
	{"periodicUpdateInterval", read_rescan, 0},
	{"faultDetectPeriod", read_fault_detect, 0},
	{"configList", read_config_list, 0},
	{NULL, NULL, 0},
};

#define INSIDE "it belongs inside an entry of \"configList\""
#define MANIFEST                                                                                   \
	"this is a Kubernetes object; the file is what such a ConfigMap holds in its \"data\", "   \
	"below \"config.json\""

static const struct json_advice top_advice[] = {
	{"resourceList",
	 "it is called \"configList\" here; a file of the SR-IOV network device plugin "
	 "is translated by 'rdmadp check-config --from-sriov FILE'"},
	{"resources", "it is called \"configList\" here"},
	{"resourceName", INSIDE},
	{"resourcePrefix", INSIDE},
	{"mode", INSIDE},
	{"rdmaHcaMax", INSIDE},
	{"selectors", INSIDE},
	{"devices", INSIDE},
	{"healthPolicy", INSIDE},
	{"charDevices", INSIDE},
	{"extraDevices", INSIDE},
	{"mounts", INSIDE},
	{"env", INSIDE},
	{"topology", INSIDE},
	{"allocationPolicy", INSIDE},
	{"health", INSIDE},
	{"pfNetdevices",
	 "it is called \"pfNames\" here, in the \"selectors\" of an entry of \"configList\""},
	{"apiVersion", MANIFEST},
	{"kind", MANIFEST},
	{"metadata", MANIFEST},
	{"data", MANIFEST},
	{NULL, NULL},
};

static const struct json_level top_level = {top_fields, top_advice};

static void check_not_empty(const JsonValue *top, const ResourceFile *file, GPtrArray *findings)
{
	const JsonValue *list = json_find(top, "configList");
	gboolean is_list = list != NULL && list->kind == JSON_KIND_ARRAY;
	gboolean is_null = list == NULL || list->kind == JSON_KIND_NULL;
	if (file->resources->len == 0 && (is_list || is_null))
		findings_add_at(
			findings, FINDING_ERROR, "configList",
			"no resources configuration found; the file needs at least one "
			"entry: {\"configList\": [{\"resourceName\": …, \"selectors\": …}]}");
}

static void check_unique(const JsonValue *top, const ResourceFile *file, GPtrArray *findings)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < file->resources->len; i++) {
		const ResourceConfig *config = g_ptr_array_index(file->resources, i);
		gpointer first;
		if (config->full_name == NULL)
			continue;
		if (!g_hash_table_lookup_extended(seen, config->full_name, NULL, &first)) {
			g_hash_table_insert(seen, config->full_name, GUINT_TO_POINTER(i));
			continue;
		}
		const JsonValue *entry = g_ptr_array_index(json_find(top, "configList")->items, i);
		reader_error(json_find(entry, "resourceName"), findings,
			     "resource name \"%s\" already exists: \"%s\" is also configList[%u]",
			     config->name, config->full_name, GPOINTER_TO_UINT(first));
	}
}

/* What other tools make of the file: a text that holds it, or the list alone. */
static const char *wrapping(const JsonValue *top)
{
	if (top->kind == JSON_KIND_ARRAY)
		return "a list is not an object { … }; write {\"configList\": [ … ]}";
	if (top->kind == JSON_KIND_STRING && strchr(top->string, '{') != NULL)
		return "is JSON inside a text; remove the quotes around it and the backslashes "
		       "in it";
	return NULL;
}

static ResourceFile *file_new(void)
{
	ResourceFile *file = g_new0(ResourceFile, 1);
	file->rescan_s = DEFAULT_RESCAN_S;
	file->fault_detect_s = -1;
	file->resources = g_ptr_array_new_with_free_func((GDestroyNotify)resource_config_unref);
	return file;
}

void resource_file_free(ResourceFile *file)
{
	if (file == NULL)
		return;
	g_ptr_array_unref(file->resources);
	g_free(file);
}

ResourceFile *resource_file_parse(const char *text, gsize length, GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonValue) top = json_parse(text, length, &error);
	if (top == NULL) {
		findings_add(findings, FINDING_ERROR, "%s", error->message);
		return NULL;
	}
	const char *wrong = wrapping(top);
	if (wrong != NULL) {
		reader_error(top, findings, "%s", wrong);
		return NULL;
	}
	guint errors_before = findings_count(findings, FINDING_ERROR);
	g_autoptr(ResourceFile) file = file_new();
	if (reader_walk(top, &top_level, file, findings)) {
		check_not_empty(top, file, findings);
		check_unique(top, file, findings);
	}
	if (findings_count(findings, FINDING_ERROR) > errors_before)
		return NULL;
	return g_steal_pointer(&file);
}

ResourceFile *resource_file_read(const char *path, GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	gsize length;
	text = small_file_read(path, LARGEST_FILE, &length, &error);
	if (text != NULL)
		return resource_file_parse(text, length, findings);
	findings_add(findings, FINDING_ERROR,
		     "cannot be read: %s; mount the ConfigMap there, or name another file with "
		     "--resources",
		     error->message);
	return NULL;
}
