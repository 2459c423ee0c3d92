/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fixture.h"
#include "support/json_match.h"

#define LIMIT_MS 30000

static void on_event(const json_t *event, gpointer data)
{
	Harness *harness = data;
	g_ptr_array_add(harness->seen, json_incref((json_t *)event));
}

Harness *harness_new(const char *profile)
{
	Harness *harness = g_new0(Harness, 1);
	harness->dir = g_dir_make_tmp("rdmadp-sim-XXXXXX", NULL);
	harness->rpc = rpc_new();
	harness->events = sim_events_new(NULL, SIM_FORMAT_JSON);
	harness->options = sim_options_default(harness->dir);
	harness->options.fsync = FALSE;
	harness->options.profile = sim_profile_find(profile);
	harness->seen = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
	harness->plugins = g_ptr_array_new();
	sim_events_observe(harness->events, on_event, harness);
	return harness;
}

void harness_start(Harness *harness)
{
	g_autoptr(GError) error = NULL;
	if (!harness->sim)
		harness->sim = sim_new(harness->rpc, &harness->options, harness->events);
	if (!sim_start(harness->sim, &error))
		fail_msg("%s", error->message);
}

static gboolean on_time(gpointer data)
{
	*(gboolean *)data = TRUE;
	return G_SOURCE_REMOVE;
}

static void print_events(const Harness *harness)
{
	for (guint i = 0; i < harness->seen->len; i++) {
		char *text = json_dumps(g_ptr_array_index(harness->seen, i), JSON_COMPACT);
		print_error("%s\n", text);
		free(text); /* jansson's, not GLib's */
	}
}

/* Runs the loop until 'holds', at most for a while. */
static void run_until(Harness *harness, gboolean (*holds)(Harness *harness, gconstpointer data),
		      gconstpointer data, const char *what)
{
	gboolean late = FALSE;
	guint timer = g_timeout_add(LIMIT_MS, on_time, &late);
	gboolean done = holds(harness, data);
	while (!done && !late) {
		g_main_context_iteration(NULL, TRUE);
		done = holds(harness, data);
	}
	if (!late)
		g_source_remove(timer);
	if (done)
		return;
	print_events(harness);
	fail_msg("waited in vain for %s", what);
}

static guint find(const Harness *harness, guint start, const json_t *pattern)
{
	guint i = start;
	while (i < harness->seen->len && !json_match(g_ptr_array_index(harness->seen, i), pattern))
		i++;
	return i;
}

static gboolean has_event(Harness *harness, gconstpointer pattern)
{
	return find(harness, harness->cursor, pattern) < harness->seen->len;
}

const json_t *harness_await(Harness *harness, const char *text)
{
	json_t *pattern = json_pattern(text);
	run_until(harness, has_event, pattern, text);
	guint i = find(harness, harness->cursor, pattern);
	json_decref(pattern);
	harness->cursor = i + 1;
	return g_ptr_array_index(harness->seen, i);
}

gboolean harness_saw(Harness *harness, const char *text)
{
	json_t *pattern = json_pattern(text);
	gboolean found = find(harness, 0, pattern) < harness->seen->len;
	json_decref(pattern);
	return found;
}

static gboolean is_set(Harness *harness, gconstpointer flag)
{
	(void)harness;
	return *(const gboolean *)flag;
}

void harness_await_flag(Harness *harness, const gboolean *flag)
{
	run_until(harness, is_set, flag, "a flag");
}

struct counter {
	const guint *counter;
	guint value;
};

static gboolean has_reached(Harness *harness, gconstpointer data)
{
	const struct counter *counter = data;
	(void)harness;
	return *counter->counter >= counter->value;
}

void harness_await_count(Harness *harness, const guint *counter, guint value)
{
	struct counter wanted = {.counter = counter, .value = value};
	run_until(harness, has_reached, &wanted, "a counter");
}

FakePlugin *harness_plugin(Harness *harness, const char *resource, const char *endpoint)
{
	FakePlugin *plugin = fake_plugin_new(harness->rpc, harness->dir, resource, endpoint);
	g_ptr_array_add(harness->plugins, plugin);
	return plugin;
}

FakePlugin *harness_register(Harness *harness, const char *resource, const char *endpoint,
			     const char *devices)
{
	FakePlugin *plugin = harness_plugin(harness, resource, endpoint);
	g_autofree char *pattern =
		g_strdup_printf("{\"event\":\"list\",\"resource\":\"%s\"}", resource);
	fake_plugin_list(plugin, devices);
	fake_plugin_serve(plugin);
	fake_plugin_register(plugin);
	harness_await(harness, pattern);
	/* The list may be there before the answer to Register is. */
	harness_await_flag(harness, &plugin->registered);
	return plugin;
}

void harness_end_plugin(Harness *harness, FakePlugin *plugin)
{
	gboolean stopped = FALSE;
	g_ptr_array_remove(harness->plugins, plugin);
	fake_plugin_free(plugin, &stopped);
	harness_await_flag(harness, &stopped);
}

static void on_freed(gpointer data)
{
	*(gboolean *)data = TRUE;
}

void harness_free(Harness *harness)
{
	gboolean freed = FALSE;
	while (harness->plugins->len > 0)
		harness_end_plugin(harness, g_ptr_array_index(harness->plugins, 0));
	if (harness->sim) {
		sim_free(harness->sim, on_freed, &freed);
		harness_await_flag(harness, &freed);
	}
	rpc_free(harness->rpc);
	g_ptr_array_unref(harness->seen);
	g_ptr_array_unref(harness->plugins);
	sim_events_free(harness->events);
	fixture_remove(harness->dir);
	g_free(harness->dir);
	g_free(harness);
}

void harness_allocate(Harness *harness, const char *resource, int count, const char *pod)
{
	struct sim_claim claim = {.pod = pod, .resource = resource, .count = count, .numa = -1};
	assert_true(sim_allocate(harness->sim, &claim, NULL, NULL));
}
