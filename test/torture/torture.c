/* SPDX-License-Identifier: Apache-2.0 */
#include "torture/torture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/json_match.h"

/* Generous: after the end of a pod with old numbers the kubelet is asked again only
 * after half a minute. */
#define LIMIT_US (120 * G_GINT64_CONSTANT(1000000))
#define MOST_TRAIL 40
#define MOST_LOG_LINES 40

#define SETTINGS "retire_after = 0.01;\nlog = { level = \"info\"; format = \"text\"; };\n"

/* --- life --- */

static void on_event(const json_t *event, gpointer data)
{
	static const char *const bad[] = {"verdict", "rejected", "aborted", "skipped", NULL};
	char *text;

	if (!g_strv_contains(bad, json_string_value(json_object_get(event, "event"))))
		return;
	text = json_dumps(event, JSON_COMPACT);
	torture_note(data, "%s", text);
	free(text); /* jansson's, not GLib's */
}

static char *machine(void)
{
	GString *text = g_string_new("dir sys\nchr dev/infiniband/rdma_cm 10:121\n");

	for (guint i = 0; i < MODEL_NUMBERS; i++)
		g_string_append_printf(text, "chr dev/infiniband/uverbs%u 231:%u\n", i, i);
	return g_string_free(text, FALSE);
}

static void start_kubelet(struct torture *torture)
{
	struct sim_options options = sim_options_default(torture->node->kubelet_dir);
	g_autofree char *pods = node_pod_resources(torture->node);
	g_autofree char *dev = g_build_filename(torture->node->root, "dev", NULL);
	g_autoptr(GError) error = NULL;

	options.pod_resources = pods;
	options.dev_root = torture->node->has_nodes ? dev : NULL;
	options.fsync = FALSE;
	options.seed = torture->seed;
	torture->sim = sim_new(torture->rpc, &options, torture->events);
	if (!sim_start(torture->sim, &error))
		fail_msg("%s", error->message);
}

struct torture *torture_new(guint32 seed)
{
	struct torture *torture = g_new0(struct torture, 1);
	g_autofree char *text = machine();
	g_autofree char *resources = NULL;
	g_autofree char *script = NULL;

	torture->seed = seed;
	torture->random = g_rand_new_with_seed(seed);
	torture->model = model_new();
	torture->trail = g_queue_new();
	torture->renumbered = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	torture->node = node_new(text);
	node_settings(torture->node, SETTINGS);
	resources = model_resources_text(torture->model);
	node_resources(torture->node, resources);
	torture_write_devices(torture);
	torture->rpc = rpc_new();
	torture->events = sim_events_new(NULL, SIM_FORMAT_JSON);
	sim_events_observe(torture->events, on_event, torture);
	start_kubelet(torture);
	torture->log_path = g_build_filename(torture->node->root, "log", NULL);
	script = g_strdup_printf("exec \"$@\" >'%s' 2>&1", torture->log_path);
	torture->node->daemon = node_run_daemon_in(torture->node, script);
	return torture;
}

static void set_true(gpointer data)
{
	*(gboolean *)data = TRUE;
}

void torture_free(struct torture *torture)
{
	gboolean is_over = FALSE;

	line_client_free(torture->status);
	node_stop_daemon(torture->node);
	sim_free(torture->sim, set_true, &is_over);
	while (!is_over)
		g_main_context_iteration(NULL, TRUE);
	sim_events_free(torture->events);
	rpc_free(torture->rpc);
	node_free(torture->node);
	model_free(torture->model);
	g_hash_table_unref(torture->renumbered);
	g_queue_free_full(torture->trail, g_free);
	g_rand_free(torture->random);
	g_free(torture->log_path);
	g_free(torture);
}

void torture_note(struct torture *torture, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_queue_push_tail(torture->trail, g_strdup_vprintf(format, arguments));
	va_end(arguments);
	if (g_queue_get_length(torture->trail) > MOST_TRAIL)
		g_free(g_queue_pop_head(torture->trail));
}

void torture_write_devices(const struct torture *torture)
{
	g_autofree char *text = model_devices_text(torture->model);

	node_mock(torture->node, text);
}

/* --- the daemon's log --- */

static void count_renumbered(struct torture *torture, const char *line)
{
	const char *resource = strstr(line, "rdma/");
	const char *colon = resource == NULL ? NULL : strchr(resource, ':');
	const char *device = colon == NULL ? NULL : strchr(colon, '\'');
	const char *end = device == NULL ? NULL : strchr(device + 1, '\'');
	g_autofree char *key = NULL;
	guint count;

	if (end == NULL)
		return;
	key = g_strdup_printf("%.*s %.*s", (int)(colon - resource), resource,
			      (int)(end - device - 1), device + 1);
	count = GPOINTER_TO_UINT(g_hash_table_lookup(torture->renumbered, key)) + 1;
	g_hash_table_insert(torture->renumbered, g_steal_pointer(&key), GUINT_TO_POINTER(count));
}

guint torture_renumbered(const struct torture *torture, guint resource, guint device)
{
	g_autofree char *key = g_strdup_printf("%s %s", torture->model->resources[resource].name,
					       model_device_id(device));

	return GPOINTER_TO_UINT(g_hash_table_lookup(torture->renumbered, key));
}

/* Whole lines only. */
static void read_log(struct torture *torture)
{
	FILE *file = fopen(torture->log_path, "re");
	char line[4096];

	if (file == NULL)
		return;
	(void)fseeko(file, torture->log_read, SEEK_SET);
	while (fgets(line, sizeof(line), file) != NULL && strchr(line, '\n') != NULL) {
		torture->log_read += (goffset)strlen(line);
		if (strstr(line, "the last good one stays in force") != NULL)
			torture->refusals++;
		if (strstr(line, "have other numbers than before") != NULL)
			count_renumbered(torture, line);
	}
	(void)fclose(file);
}

/* --- its status socket --- */

static void take_hcas(struct torture *torture, const json_t *resource)
{
	const char *name = json_string_value(json_object_get(resource, "name"));
	const json_t *hcas = json_object_get(resource, "hcas");
	guint present = 0;
	guint index = 0;

	for (size_t i = 0; i < json_array_size(hcas); i++) {
		const json_t *hca = json_array_get(hcas, i);
		const char *id = json_string_value(json_object_get(hca, "id"));

		for (guint j = 0; j < MODEL_DEVICES; j++)
			if (strcmp(model_device_id(j), id) == 0 &&
			    json_is_true(json_object_get(hca, "present")))
				present |= 1U << j;
	}
	while (index < N_RESOURCES && strcmp(torture->model->resources[index].name, name) != 0)
		index++;
	if (index < N_RESOURCES)
		torture->seen_present[index] = present;
}

static void take_status(struct torture *torture, const char *line)
{
	json_t *value = json_loads(line, 0, NULL);
	const json_t *resources = json_object_get(value, "resources");
	const json_t *resource = json_object_get(value, "resource");

	if (resource != NULL)
		take_hcas(torture, resource);
	for (size_t i = 0; i < json_array_size(resources); i++)
		take_hcas(torture, json_array_get(resources, i));
	json_decref(value);
}

static void read_status(struct torture *torture)
{
	g_autofree char *path = g_build_filename(torture->node->root, "status.sock", NULL);
	g_autoptr(GError) error = NULL;

	if (torture->status == NULL)
		torture->status = line_client_new(path, NULL);
	while (torture->status != NULL && error == NULL) {
		g_autofree char *line =
			line_client_next(torture->status, g_get_monotonic_time() + 1000, &error);

		if (line != NULL)
			take_status(torture, line);
	}
	if (error != NULL && strstr(error->message, g_strerror(ETIMEDOUT)) == NULL)
		g_clear_pointer(&torture->status, line_client_free);
}

static gboolean is_seen(const struct torture *torture, guint index)
{
	const struct model_resource *resource = &torture->model->resources[index];
	guint present = 0;

	for (guint i = 0; i < MODEL_DEVICES; i++)
		if (model_is_member(resource, i) && torture->model->devices[i].present)
			present |= 1U << i;
	return present == torture->seen_present[index];
}

/* --- the kubelet's lists --- */

char *torture_list(const struct torture *torture, guint resource)
{
	const char *name = torture->model->resources[resource].name;
	const struct sim_resource *there = sim_state_find(sim_get_state(torture->sim), name);
	GString *text = g_string_new(NULL);
	g_autoptr(GPtrArray) ids = NULL;

	if (!sim_is_running(torture->sim) || !sim_is_streaming(torture->sim, name) ||
	    there == NULL || there->healthy == NULL)
		return g_string_free(g_string_append(text, "gone\n"), FALSE);
	ids = sim_set_sorted(there->devices);
	for (guint i = 0; i + 1 < ids->len; i++) {
		const char *id = g_ptr_array_index(ids, i);

		g_string_append_printf(text, "%s %s\n", id,
				       g_hash_table_contains(there->healthy, id) ? "Healthy"
										 : "Unhealthy");
	}
	return g_string_free(text, FALSE);
}

gboolean torture_is_settled(const struct torture *torture, gconstpointer unused)
{
	(void)unused;
	for (guint i = 0; i < N_RESOURCES; i++) {
		g_autofree char *expected = model_predict(torture->model, i);
		g_autofree char *seen = torture_list(torture, i);

		if (strcmp(expected, seen) != 0)
			return FALSE;
	}
	return is_seen(torture, MODEL_MARKER) && is_seen(torture, MODEL_EXCLUSIVE);
}

/* --- waiting --- */

static gboolean on_tick(gpointer data)
{
	(void)data;
	return G_SOURCE_CONTINUE;
}

static void print_lists(const struct torture *torture)
{
	for (guint i = 0; i < N_RESOURCES; i++) {
		g_autofree char *expected = model_predict(torture->model, i);
		g_autofree char *seen = torture_list(torture, i);

		print_error("--- %s: %s; the model:\n%s--- the kubelet:\n%s",
			    torture->model->resources[i].name,
			    strcmp(expected, seen) == 0 ? "as predicted" : "NOT AS PREDICTED",
			    expected, seen);
	}
}

static void print_log(const struct torture *torture)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	guint n;

	if (!g_file_get_contents(torture->log_path, &text, NULL, NULL))
		return;
	lines = g_strsplit(text, "\n", -1);
	n = g_strv_length(lines);
	for (guint i = n > MOST_LOG_LINES ? n - MOST_LOG_LINES : 0; i < n; i++)
		print_error("log: %s\n", lines[i]);
}

static void report(const struct torture *torture)
{
	g_autofree char *devices = model_devices_text(torture->model);

	print_error("seed %u, after %u events. The last ones:\n", torture->seed, torture->n_events);
	for (const GList *item = torture->trail->head; item != NULL; item = item->next)
		print_error("  %s\n", (const char *)item->data);
	print_lists(torture);
	print_error("%s", devices);
	print_log(torture);
}

void torture_fail(const struct torture *torture, const char *what)
{
	report(torture);
	fail_msg("in vain: %s", what);
}

void torture_await(struct torture *torture,
		   gboolean (*holds)(const struct torture *torture, gconstpointer data),
		   gconstpointer data, const char *what)
{
	gint64 until_us = g_get_monotonic_time() + LIMIT_US;
	guint tick = g_timeout_add(5, on_tick, NULL);
	gboolean is_so = holds(torture, data);

	while (!is_so && g_get_monotonic_time() < until_us) {
		g_main_context_iteration(NULL, TRUE);
		read_log(torture);
		read_status(torture);
		is_so = holds(torture, data);
	}
	g_source_remove(tick);
	if (is_so)
		return;
	torture_fail(torture, what);
}

static gboolean on_over(gpointer data)
{
	*(gboolean *)data = TRUE;
	return G_SOURCE_REMOVE;
}

void torture_pause(guint ms)
{
	gboolean is_over = FALSE;

	g_timeout_add(ms, on_over, &is_over);
	while (!is_over)
		g_main_context_iteration(NULL, TRUE);
}
