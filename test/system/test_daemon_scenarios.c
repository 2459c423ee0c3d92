/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon in every scenario that the simulator knows, each with a node of its own. */
#include "system/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char kubelet_program[] = BINARY_DIR "/bin/rdmadp-kubelet";
static const char daemon_program[] = BINARY_DIR "/bin/rdmadp";
static const char backend_dir[] = BINARY_DIR "/lib/rdmadp/backends";

/* How many run side by side. */
#define SIDE_BY_SIDE 4
#define LIMIT_MS 120000

#define RESOURCES                                                                                  \
	"{\"configList\":[{\"resourceName\":\"a\",\"rdmaHcaMax\":4,"                               \
	"\"selectors\":{\"buses\":[\"mock\"],\"vendors\":[\"15b3\"]}},"                            \
	"{\"resourceName\":\"b\",\"rdmaHcaMax\":100,"                                              \
	"\"selectors\":{\"buses\":[\"mock\"],\"vendors\":[\"8086\"]}}]}"

/* With GetPreferredAllocation. */
#define EXCLUSIVE                                                                                  \
	"{\"configList\":[{\"resourceName\":\"a\",\"mode\":\"exclusive\","                         \
	"\"selectors\":{\"buses\":[\"mock\"]}}]}"

#define MOCK                                                                                       \
	"device a\nattribute vendor 15b3\nrdma mlx5_0 -\nport 1 infiniband active\n"               \
	"uverbs infiniband/uverbs0 231:192\nrdma_cm infiniband/rdma_cm 10:121\n"                   \
	"device b\nattribute vendor 8086\nrdma irdma0 -\nport 1 ethernet active\n"                 \
	"uverbs infiniband/uverbs1 231:193\nrdma_cm infiniband/rdma_cm 10:121\n"

#define MACHINE                                                                                    \
	"dir sys\nchr dev/infiniband/uverbs0 231:192\nchr dev/infiniband/uverbs1 231:193\n"        \
	"chr dev/infiniband/rdma_cm 10:121\n"

struct variant {
	const char *profile;
	const char *settings; /* of the daemon's group "kubelet" */
	gboolean watcher; /* the kubelet watches plugins_registry */
	const char *count; /* an option */
	const char *resources; /* NULL: two shared ones */
};

static const struct variant plain = {"1.36", "", FALSE, "--count=0", NULL};

struct run {
	char *name;
	struct node *node;
	Process *process;
};

/* The thousand of a kind take too long here: restarts are for test/bench. */
static const char *count_of(const char *name, const struct variant *variant)
{
	if (strcmp(name, "restart-many") == 0)
		return "--count=20";
	return strcmp(name, "stream-lost-many") == 0 ? "--count=200" : variant->count;
}

static void start_process(struct run *run, const struct variant *variant)
{
	g_autofree char *config = g_build_filename(run->node->root, "etc", "rdmadp.conf", NULL);
	g_autofree char *resources = g_build_filename(run->node->root, "etc", "config.json", NULL);
	g_autofree char *registry = g_strdup_printf("--registry-dir=%s/registry", run->node->root);
	const char *const argv[] = {kubelet_program,
				    "--dir",
				    run->node->kubelet_dir,
				    "--no-fsync",
				    "--limit=30",
				    "--profile",
				    variant->profile,
				    variant->watcher ? registry : "--seed=1",
				    "--scenario",
				    run->name,
				    count_of(run->name, variant),
				    "--",
				    daemon_program,
				    "--config",
				    config,
				    "--resources",
				    resources,
				    "--backend-dir",
				    backend_dir,
				    "--kubelet-dir",
				    "{dir}",
				    NULL};
	run->process = process_start(run->name, argv);
}

static void run_start(struct run *run, const char *name, const struct variant *variant)
{
	run->name = g_strdup(name);
	run->node = node_new(MACHINE);
	node_resources(run->node, variant->resources ? variant->resources : RESOURCES);
	node_mock(run->node, MOCK);
	node_kubelet_settings(run->node, variant->settings);
	start_process(run, variant);
}

static gboolean run_end(struct run *run)
{
	int status = -1;
	gboolean ended = process_await_exit_within(run->process, LIMIT_MS, &status);
	/* A client that is not the kubelet does not cost it a stream. */
	gboolean passed = ended && status == 0 &&
			  !process_has_said(run->process, "{\"event\":\"disturbed\"}");
	if (!passed) {
		g_autofree char *output = process_output(run->process);
		print_error("%s: status %d\n%s\n", run->name, status, output);
	}
	process_free(run->process);
	node_free(run->node);
	g_free(run->name);
	*run = (struct run){0};
	return passed;
}

/* The first words of --list-scenarios. */
static GStrv scenario_names(void)
{
	const char *const argv[] = {kubelet_program, "--list-scenarios", NULL};
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	Process *process = process_start("list", argv);
	assert_true(process_await_exit(process, NULL));
	g_autofree char *output = process_output(process);
	g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
	for (gsize i = 0; lines[i] && *lines[i]; i++) {
		g_auto(GStrv) words = g_strsplit(lines[i], " ", 3);
		g_ptr_array_add(names, g_strdup(words[1]));
	}
	process_free(process);
	g_ptr_array_add(names, NULL);
	return g_strdupv((char **)names->pdata);
}

/* All of them, some at a time. */
static void run_all(const char *const *names, const struct variant *variant)
{
	struct run runs[SIDE_BY_SIDE] = {0};
	guint failed = 0, n = g_strv_length((char **)names);
	for (guint i = 0; i < n + SIDE_BY_SIDE; i++) {
		struct run *run = &runs[i % SIDE_BY_SIDE];
		if (run->process)
			failed += run_end(run) ? 0 : 1;
		if (i < n)
			run_start(run, names[i], variant);
	}
	assert_int_equal(failed, 0);
}

static void the_daemon_survives_every_scenario(void **state)
{
	g_auto(GStrv) names = scenario_names();
	(void)state;
	assert_true(g_strv_length(names) > 20);
	run_all((const char *const *)names, &plain);
}

/* An upgrade with an overlap: in every profile, with one socket name and with one for each
 * instance, which is what the takeover race is about. */
static void two_instances_hand_over_in_every_profile(void **state)
{
	static const char *const profiles[] = {"1.24", "1.25", "1.26", "1.27", "1.32",
					       "1.33", "1.34", "1.36", "1.37"};
	static const char *const settings[] = {"", "unique_socket_names = true;\n"};
	static const char *const name[] = {"two-plugins", NULL};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
		for (gsize j = 0; j < G_N_ELEMENTS(settings); j++) {
			struct variant variant = {profiles[i], settings[j], FALSE, "--count=0",
						  NULL};
			run_all(name, &variant);
		}
	}
}

/* Kubelets to 1.34 go on with a Register whose caller has given it up: one that was meant
 * for the kubelet before must not reach the next. */
static void each_kubelet_is_asked_once_in_old_profiles(void **state)
{
	static const char *const profiles[] = {"1.24", "1.34"};
	static const char *const name[] = {"restart-random", NULL};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
		struct variant variant = {profiles[i], "", FALSE, "--count=300", NULL};
		run_all(name, &variant);
	}
}

/* The kubelet finds the daemon, not the other way round. Streams that end as soon as they
 * begin make the daemon wait longer each time, so there are few of them. */
static void the_daemon_survives_as_a_watched_plugin(void **state)
{
	static const char *const names[] = {
		"restart",     "restart-20ms", "restart-random",  "kill-plugin", "terminate-plugin",
		"refused",     "clock-jump",   "stream-lost",	  "rst-list",	 "goaway-list",
		"zero-window", "stale-socket", "socket-unlinked", "malformed",	 NULL};
	static const struct variant variant = {"1.36", "registration = \"watcher\";\n", TRUE,
					       "--count=3", NULL};
	(void)state;
	run_all(names, &variant);
}

static void the_daemon_survives_with_an_exclusive_resource(void **state)
{
	static const char *const names[] = {
		"restart",  "restart-random", "kill-plugin",  "stream-lost", "huge-requests",
		"same-ids", "malformed",      "deadline-1ms", "two-plugins", NULL};
	static const struct variant variant = {"1.36", "", FALSE, "--count=5", EXCLUSIVE};
	(void)state;
	run_all(names, &variant);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_daemon_survives_every_scenario),
		cmocka_unit_test(two_instances_hand_over_in_every_profile),
		cmocka_unit_test(each_kubelet_is_asked_once_in_old_profiles),
		cmocka_unit_test(the_daemon_survives_as_a_watched_plugin),
		cmocka_unit_test(the_daemon_survives_with_an_exclusive_resource),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
