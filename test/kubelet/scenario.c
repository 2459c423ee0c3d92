/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/scenario.h"

#include <signal.h>
#include <string.h>

/* How often a condition is looked at when no event asks for it. */
#define TICK_MS 5
/* After the first list: other resources of the plugin come within this. */
#define SETTLE_MS 500

static const struct scenario_entry *const tables[] = {scenario_restarts, scenario_sockets,
						      scenario_streams, scenario_calls};

const struct scenario_entry *scenario_find(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
		for (const struct scenario_entry *entry = tables[i]; entry->name; entry++) {
			if (strcmp(entry->name, name) == 0)
				return entry;
		}
	}
	return NULL;
}

char *scenario_list(void)
{
	GString *text = g_string_new(NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
		for (const struct scenario_entry *entry = tables[i]; entry->name; entry++)
			g_string_append_printf(text, "%-20s %s\n", entry->name, entry->help);
	}
	return g_string_free(text, FALSE);
}

/* --- for the scenarios --- */

gboolean scenario_fail(struct scenario *scenario, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	g_autofree char *text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	scenario->failed = TRUE;
	sim_verdict(scenario->events, FALSE, "scenario", NULL, text);
	return FALSE;
}

guint scenario_count(const struct scenario *scenario, guint standard)
{
	return scenario->options->count ? scenario->options->count : standard;
}

guint scenario_duration_ms(const struct scenario *scenario, guint standard)
{
	double duration_s = scenario->options->duration_s;
	return duration_s > 0 ? (guint)(duration_s * 1000) : standard;
}

static gboolean on_tick(gpointer data)
{
	(void)data;
	return G_SOURCE_CONTINUE;
}

static gboolean run_until(struct scenario *scenario, scenario_condition_fn holds, gpointer data,
			  gint64 limit_ms)
{
	gint64 end_us = g_get_monotonic_time() + limit_ms * 1000;
	guint tick = g_timeout_add(TICK_MS, on_tick, NULL);
	gboolean held = holds(scenario, data);
	while (!held && g_get_monotonic_time() < end_us) {
		g_main_context_iteration(NULL, TRUE);
		held = holds(scenario, data);
	}
	g_source_remove(tick);
	return held;
}

gboolean scenario_await(struct scenario *scenario, scenario_condition_fn holds, gpointer data)
{
	return run_until(scenario, holds, data, (gint64)(scenario->options->limit_s * 1000));
}

static gboolean never(struct scenario *scenario, gpointer data)
{
	(void)scenario;
	(void)data;
	return FALSE;
}

void scenario_sleep(struct scenario *scenario, guint ms)
{
	run_until(scenario, never, NULL, ms);
}

/* --- what was there, and is back --- */

static gboolean is_back(struct scenario *scenario, gpointer data)
{
	GHashTableIter iter;
	gpointer name, count;
	(void)data;
	g_hash_table_iter_init(&iter, scenario->baseline);
	while (g_hash_table_iter_next(&iter, &name, &count)) {
		const struct sim_resource *resource = sim_state_find(scenario->sim->state, name);
		if (!sim_is_streaming(scenario->sim, name) ||
		    g_hash_table_size(resource->devices) != GPOINTER_TO_UINT(count))
			return FALSE;
	}
	return TRUE;
}

gboolean scenario_await_back(struct scenario *scenario, const char *after_what)
{
	gint64 start_us = g_get_monotonic_time();
	if (scenario->failed)
		return FALSE;
	if (!scenario_await(scenario, is_back, NULL))
		return scenario_fail(scenario, "after %s a resource has not come back in %.1f s",
				     after_what, scenario->options->limit_s);
	double back_ms = sim_ms_since(start_us);
	/* The list counts from the kubelet's socket, unless that is older than what happened. */
	double time_ms = MIN(back_ms, scenario->last_list_ms);
	sim_emit(scenario->events, "back",
		 json_pack("{s:s, s:f}", "after", after_what, "ms", back_ms));
	g_array_append_val(scenario->times, time_ms);
	return TRUE;
}

static gboolean has_list(struct scenario *scenario, gpointer data)
{
	(void)data;
	return scenario->last_list_ms > 0 || scenario->failed;
}

static gboolean take_baseline(struct scenario *scenario)
{
	if (!scenario_await(scenario, has_list, NULL) && !scenario->failed)
		return scenario_fail(scenario, "the plugin has not registered in %.1f s",
				     scenario->options->limit_s);
	scenario_sleep(scenario, SETTLE_MS);
	if (scenario->failed)
		return FALSE;
	g_autoptr(GPtrArray) names = sim_state_names(scenario->sim->state);
	const char *path = sim_client_path(scenario->sim, g_ptr_array_index(names, 0));
	if (!path)
		return scenario_fail(scenario, "the plugin has not stayed connected");
	scenario->socket = g_strdup(path);
	for (guint i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		const struct sim_resource *resource = sim_state_find(scenario->sim->state, name);
		g_hash_table_insert(scenario->baseline, g_strdup(name),
				    GUINT_TO_POINTER(g_hash_table_size(resource->devices)));
	}
	return TRUE;
}

const char *scenario_resource(const struct scenario *scenario)
{
	GHashTableIter iter;
	gpointer name = NULL;
	g_hash_table_iter_init(&iter, scenario->baseline);
	(void)g_hash_table_iter_next(&iter, &name, NULL);
	return name;
}

/* --- kubelet --- */

gboolean scenario_start_kubelet(struct scenario *scenario)
{
	g_autoptr(GError) error = NULL;
	if (sim_start(scenario->sim, &error))
		return TRUE;
	return scenario_fail(scenario, "the kubelet does not start: %s", error->message);
}

void scenario_restart_kubelet(struct scenario *scenario, guint pause_ms)
{
	sim_stop(scenario->sim);
	if (pause_ms > 0)
		scenario_sleep(scenario, pause_ms);
	scenario_start_kubelet(scenario);
}

/* --- the whole run --- */

static void on_event(const json_t *event, gpointer data)
{
	struct scenario *scenario = data;
	const char *name = json_string_value(json_object_get(event, "event"));
	if (strcmp(name, "stream-ended") == 0)
		scenario->n_ended++;
	if (strcmp(name, "list") == 0 && json_is_true(json_object_get(event, "first")))
		scenario->last_list_ms = json_real_value(json_object_get(event, "since_socket_ms"));
}

static int compare_times(gconstpointer a, gconstpointer b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void report(struct scenario *scenario, const struct scenario_entry *entry)
{
	json_t *fields = json_pack("{s:s, s:b}", "name", entry->name, "ok", !scenario->failed);
	guint n = scenario->times->len;
	g_array_sort(scenario->times, compare_times);
	if (n > 0) {
		const double *times = (const double *)(const void *)scenario->times->data;
		json_object_update_new(fields,
				       json_pack("{s:i, s:f, s:f}", "times", (int)n, "median_ms",
						 times[n / 2], "worst_ms", times[n - 1]));
	}
	sim_emit(scenario->events, "scenario", fields);
}

void scenario_run(const struct scenario_entry *entry, Sim *sim,
		  const struct scenario_options *options)
{
	struct scenario scenario = {.sim = sim,
				    .rpc = sim->rpc,
				    .events = sim->events,
				    .options = options,
				    .random = g_rand_new_with_seed(sim->options.seed)};
	scenario.baseline = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	scenario.times = g_array_new(FALSE, FALSE, sizeof(double));
	sim_events_observe(sim->events, on_event, &scenario);
	if (scenario_start_kubelet(&scenario)) {
		scenario_start_plugin(&scenario);
		if (take_baseline(&scenario))
			entry->run(&scenario);
	}
	if (scenario.plugin)
		scenario_signal_plugin(&scenario, SIGKILL);
	report(&scenario, entry);
	sim_events_ignore(sim->events, on_event, &scenario);
	g_hash_table_unref(scenario.baseline);
	g_free(scenario.socket);
	g_array_unref(scenario.times);
	g_rand_free(scenario.random);
}
