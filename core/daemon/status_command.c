/* SPDX-License-Identifier: Apache-2.0 */
/* 'rdmadp status': asks the running daemon and shows what it says. */
#include <stdio.h>
#include <string.h>

#include "daemon/commands.h"
#include "daemon/table.h"
#include "edge/line_client.h"

/* The daemon asks the kubelet, but not while pods are being admitted. */
#define ANSWER_WAIT_US (12 * G_GINT64_CONSTANT(1000000))

/* --- values --- */

static const char *text_of(const JsonValue *object, const char *key)
{
	const JsonValue *value = json_find(object, key);

	return value != NULL && value->kind == JSON_KIND_STRING ? value->string : NULL;
}

static gint64 number_of(const JsonValue *object, const char *key)
{
	const JsonValue *value = json_find(object, key);

	return value != NULL && value->kind == JSON_KIND_INT ? value->integer : 0;
}

static gboolean is_true(const JsonValue *object, const char *key)
{
	const JsonValue *value = json_find(object, key);

	return value != NULL && value->kind == JSON_KIND_BOOL && value->boolean;
}

static const JsonValue *item(const JsonValue *list, guint i)
{
	return g_ptr_array_index(list->items, i);
}

static guint n_items(const JsonValue *list)
{
	return list != NULL && list->kind == JSON_KIND_ARRAY ? list->items->len : 0;
}

static char *joined(const JsonValue *list)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < n_items(list); i++)
		if (item(list, i)->kind == JSON_KIND_STRING)
			g_string_append_printf(text, "%s%s", i > 0 ? ", " : "",
					       item(list, i)->string);
	return g_string_free(text, FALSE);
}

/* "5 s", "12 min", "3 h", "9 d"; NULL without a time. */
static char *age_of(const JsonValue *object, const char *key, gint64 now_s)
{
	const char *text = text_of(object, key);
	g_autoptr(GDateTime) time = text != NULL ? g_date_time_new_from_iso8601(text, NULL) : NULL;
	gint64 age;

	if (time == NULL)
		return NULL;
	age = MAX(now_s - g_date_time_to_unix(time), 0);
	if (age < 100)
		return g_strdup_printf("%" G_GINT64_FORMAT " s", age);
	if (age < (gint64)100 * 60)
		return g_strdup_printf("%" G_GINT64_FORMAT " min", age / 60);
	if (age < (gint64)100 * 3600)
		return g_strdup_printf("%" G_GINT64_FORMAT " h", age / 3600);
	return g_strdup_printf("%" G_GINT64_FORMAT " d", age / 86400);
}

/* A daemon of another version may not say it. */
static gboolean is_not_ready(const JsonValue *snapshot)
{
	const JsonValue *ready = json_find(snapshot, "ready");

	return ready != NULL && ready->kind == JSON_KIND_BOOL && !ready->boolean;
}

/* --- for people --- */

static void append_readiness(GString *text, const JsonValue *snapshot)
{
	const JsonValue *lacks = json_find(snapshot, "notReady");

	if (is_true(snapshot, "ready"))
		g_string_append(text, "ready\n");
	else if (is_not_ready(snapshot) && n_items(lacks) == 0)
		g_string_append(text, "not ready\n");
	for (guint i = 0; i < n_items(lacks); i++)
		if (item(lacks, i)->kind == JSON_KIND_STRING)
			g_string_append_printf(text, "not ready: %s\n", item(lacks, i)->string);
}

static void append_head(GString *text, const JsonValue *snapshot, gint64 now_s)
{
	const JsonValue *daemon = json_find(snapshot, "daemon");
	const JsonValue *configuration = json_find(snapshot, "configuration");
	g_autofree char *runs = age_of(daemon, "since", now_s);
	g_autofree char *read = age_of(configuration, "since", now_s);
	const char *error = text_of(configuration, "error");

	g_string_append_printf(text,
			       "rdmadp %s, process %" G_GINT64_FORMAT ", running for %s\n"
			       "configuration of %s, in force for %s (%" G_GINT64_FORMAT
			       " changes, %" G_GINT64_FORMAT " refused)\n",
			       text_of(daemon, "version"), number_of(daemon, "pid"), runs,
			       text_of(configuration, "resources"), read,
			       number_of(configuration, "reloads"),
			       number_of(configuration, "refused"));
	if (error != NULL)
		g_string_append_printf(
			text, "the last change of the configuration was refused: %s\n", error);
}

static void append_table(GString *text, const Table *table)
{
	g_autofree char *rows = table_text(table, 0);

	if (rows[0] != '\0')
		g_string_append_printf(text, "\n%s", rows);
}

static const char *first_of(const char *a, const char *b)
{
	return a != NULL ? a : b;
}

static char *bus_trouble(const JsonValue *bus)
{
	const char *text = first_of(text_of(bus, "refusal"), text_of(bus, "trouble"));
	gint64 stuck = number_of(bus, "stuckHealthThreads");

	return text == NULL && stuck > 0
		       ? g_strdup_printf("%" G_GINT64_FORMAT " health read%s hang%s", stuck,
					 stuck == 1 ? "" : "s", stuck == 1 ? "s" : "")
		       : g_strdup(text);
}

static void append_buses(GString *text, const JsonValue *buses)
{
	static const char *const headings[] = {"BUS", "STATE", "DEVICES", "SCANS", "TROUBLE", NULL};
	g_autoptr(Table) table = table_new(headings);

	for (guint i = 0; i < n_items(buses); i++) {
		const JsonValue *bus = item(buses, i);
		g_autofree char *devices =
			g_strdup_printf("%" G_GINT64_FORMAT, number_of(bus, "devices"));
		g_autofree char *scans =
			g_strdup_printf("%" G_GINT64_FORMAT, number_of(bus, "scans"));
		g_autofree char *trouble = bus_trouble(bus);
		const char *const cells[] = {text_of(bus, "name"), text_of(bus, "state"), devices,
					     scans, trouble};

		table_add(table, cells);
	}
	append_table(text, table);
}

static char *allocations_of(const JsonValue *registration)
{
	gint64 failed = number_of(registration, "failedAllocations");
	g_autofree char *also =
		failed > 0 ? g_strdup_printf(", %" G_GINT64_FORMAT " failed", failed) : NULL;

	return g_strdup_printf("%" G_GINT64_FORMAT "%s", number_of(registration, "allocations"),
			       also != NULL ? also : "");
}

static const char *resource_trouble_of(const JsonValue *resource, const JsonValue *registration)
{
	const char *trouble =
		first_of(text_of(registration, "error"), text_of(resource, "trouble"));

	if (is_true(resource, "leaving"))
		return "leaving: not configured any more, or in another mode";
	return first_of(trouble, text_of(resource, "modeWait"));
}

static void add_resource_row(Table *table, const JsonValue *resource, gint64 now_s)
{
	const JsonValue *devices = json_find(resource, "devices");
	const JsonValue *registration = json_find(resource, "registration");
	g_autofree char *healthy =
		g_strdup_printf("%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT,
				number_of(devices, "healthy"), number_of(devices, "total"));
	g_autofree char *since = age_of(registration, "since", now_s);
	g_autofree char *lists =
		g_strdup_printf("%" G_GINT64_FORMAT, number_of(registration, "lists"));
	g_autofree char *allocations = allocations_of(registration);
	const char *const cells[] = {text_of(resource, "name"),
				     text_of(resource, "mode"),
				     healthy,
				     text_of(registration, "state"),
				     since,
				     lists,
				     allocations,
				     resource_trouble_of(resource, registration)};

	table_add(table, cells);
}

static void append_resources(GString *text, const JsonValue *resources, gint64 now_s)
{
	static const char *const headings[] = {"RESOURCE",    "MODE",	 "HEALTHY",
					       "KUBELET",     "SINCE",	 "LISTS",
					       "ALLOCATIONS", "TROUBLE", NULL};
	g_autoptr(Table) table = table_new(headings);

	for (guint i = 0; i < n_items(resources); i++)
		add_resource_row(table, item(resources, i), now_s);
	append_table(text, table);
}

/* NULL where there is nothing to worry about. */
static char *count_of(const JsonValue *hca, const char *key)
{
	gint64 n = number_of(hca, key);

	return n > 0 ? g_strdup_printf("%" G_GINT64_FORMAT, n) : NULL;
}

static void add_hca_row(Table *table, const char *resource, const JsonValue *hca, gint64 now_s)
{
	const JsonValue *reason = json_find(hca, "reason");
	g_autofree char *rdma = joined(json_find(hca, "rdmaDevices"));
	g_autofree char *since = age_of(hca, "since", now_s);
	g_autofree char *flaps = count_of(hca, "flaps");
	g_autofree char *link_downs = count_of(hca, "linkDowns");
	g_autofree char *why = reason != NULL && reason->kind == JSON_KIND_OBJECT
				       ? g_strdup_printf("%s: %s", text_of(reason, "code"),
							 first_of(text_of(reason, "text"), ""))
				       : NULL;
	const char *const cells[] = {
		resource, text_of(hca, "id"), rdma, text_of(hca, "state"), since,
		flaps,	  link_downs,	      why};

	table_add(table, cells);
}

static void append_hcas(GString *text, const JsonValue *resources, gint64 now_s)
{
	static const char *const headings[] = {"RESOURCE", "HCA",	 "RDMA",   "STATE", "SINCE",
					       "FLAPS",	   "LINK DOWNS", "REASON", NULL};
	g_autoptr(Table) table = table_new(headings);

	for (guint i = 0; i < n_items(resources); i++) {
		const JsonValue *resource = item(resources, i);
		const JsonValue *hcas = json_find(resource, "hcas");

		for (guint j = 0; j < n_items(hcas); j++)
			add_hca_row(table, text_of(resource, "name"), item(hcas, j), now_s);
	}
	append_table(text, table);
}

/* Devices that pods hold with the numbers of before. */
static void append_renumbered(GString *text, const JsonValue *resources)
{
	static const char *const headings[] = {"DEVICE", "UNHEALTHY BECAUSE", NULL};
	g_autoptr(Table) table = table_new(headings);
	guint rows = 0;

	for (guint i = 0; i < n_items(resources); i++) {
		const JsonValue *list =
			json_find(json_find(item(resources, i), "devices"), "renumbered");

		for (guint j = 0; j < n_items(list); j++, rows++) {
			const char *const cells[] = {text_of(item(list, j), "id"),
						     text_of(item(list, j), "text")};

			table_add(table, cells);
		}
	}
	if (rows > 0)
		append_table(text, table);
}

static gboolean has_pods(const JsonValue *line)
{
	const JsonValue *pods = json_find(line, "pods");

	return (pods != NULL && pods->kind == JSON_KIND_ARRAY) ||
	       text_of(line, "podsError") != NULL;
}

static void append_pods(GString *text, const JsonValue *snapshot)
{
	static const char *const headings[] = {"POD", "CONTAINER", "RESOURCE", "DEVICES", NULL};
	const JsonValue *pods = json_find(snapshot, "pods");
	const char *error = text_of(snapshot, "podsError");
	g_autoptr(Table) table = table_new(headings);

	for (guint i = 0; i < n_items(pods); i++) {
		const JsonValue *pod = item(pods, i);
		g_autofree char *name =
			g_strdup_printf("%s/%s", text_of(pod, "namespace"), text_of(pod, "pod"));
		g_autofree char *devices = joined(json_find(pod, "devices"));
		const char *const cells[] = {name, text_of(pod, "container"),
					     text_of(pod, "resource"), devices};

		table_add(table, cells);
	}
	if (error != NULL)
		g_string_append_printf(text, "\n%s\n", error);
	else if (!has_pods(snapshot))
		g_string_append(text,
				"\nthe kubelet has not said in time which pods hold devices\n");
	else if (n_items(pods) == 0)
		g_string_append(text, "\nno pod holds a device\n");
	else
		append_table(text, table);
}

char *status_command_text(const JsonValue *snapshot, gint64 now_s)
{
	const JsonValue *resources = json_find(snapshot, "resources");
	GString *text = g_string_new(NULL);

	append_head(text, snapshot, now_s);
	append_readiness(text, snapshot);
	append_buses(text, json_find(snapshot, "buses"));
	append_resources(text, resources, now_s);
	append_hcas(text, resources, now_s);
	append_renumbered(text, resources);
	append_pods(text, snapshot);
	return g_string_free(text, FALSE);
}

/* --- the daemon --- */

/* TRUE if the daemon refuses, which 'error' then says. */
static gboolean is_refusal(const JsonValue *line, const char *path, GError **error)
{
	if (g_strcmp0(text_of(line, "type"), "error") != 0)
		return FALSE;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "'%s': %s", path,
		    text_of(line, "text"));
	return TRUE;
}

/* The next line of the daemon, parsed; NULL after an error. */
static JsonValue *next(LineClient *client, const char *path, gint64 until_us, char **ret_line,
		       GError **error)
{
	g_autofree char *line = line_client_next(client, until_us, error);
	g_autoptr(JsonValue) value = NULL;

	if (line == NULL)
		return NULL;
	value = json_parse(line, strlen(line), error);
	if (value == NULL)
		g_prefix_error(error, "'%s': ", path);
	if (value == NULL || is_refusal(value, path, error))
		return NULL;
	*ret_line = g_steal_pointer(&line);
	return g_steal_pointer(&value);
}

/* The text of a snapshot that knows of pods, or of the last one where the kubelet keeps the
 * daemon waiting; NULL after an error. */
static char *ask(const char *path, GError **error)
{
	gint64 until_us = g_get_monotonic_time() + ANSWER_WAIT_US;
	g_autoptr(LineClient) client = line_client_new(path, error);
	g_autofree char *snapshot = NULL;
	gboolean is_whole = FALSE;

	if (client == NULL)
		return NULL;
	/* Who refuses has said why before it closed: that is read, whether this could be sent
	 * or not. */
	(void)line_client_send(client, "pods", NULL);
	while (!is_whole) {
		g_autofree char *line = NULL;
		g_autoptr(JsonValue) value =
			next(client, path, until_us, &line, snapshot == NULL ? error : NULL);

		if (value == NULL)
			break;
		is_whole = has_pods(value);
		if (is_whole || g_strcmp0(text_of(value, "type"), "snapshot") == 0) {
			g_free(snapshot);
			snapshot = g_steal_pointer(&line);
		}
	}
	return g_steal_pointer(&snapshot);
}

int command_status(const Options *options)
{
	g_autoptr(Settings) settings = commands_settings(options);
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonValue) snapshot = NULL;
	g_autofree char *line = NULL;
	g_autofree char *text = NULL;

	if (settings == NULL)
		return 1;
	if (settings->status_socket[0] == '\0') {
		fputs("rdmadp: status_socket is empty, so the daemon cannot be asked\n", stderr);
		return 1;
	}
	line = ask(settings->status_socket, &error);
	if (line == NULL) {
		fprintf(stderr,
			"rdmadp: no daemon answers at %s; is it running, with the same "
			"status_socket? Only root and members of status_group may ask\n",
			error->message);
		return 1;
	}
	snapshot = json_parse(line, strlen(line), NULL);
	if (options->json) {
		puts(line);
	} else {
		text = status_command_text(snapshot, g_get_real_time() / G_USEC_PER_SEC);
		fputs(text, stdout);
	}
	return is_not_ready(snapshot) ? 1 : 0;
}
