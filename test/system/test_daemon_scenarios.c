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

#define MOCK                                                                                       \
	"device a\nattribute vendor 15b3\nrdma mlx5_0 -\nport 1 infiniband active\n"               \
	"uverbs infiniband/uverbs0 231:192\nrdma_cm infiniband/rdma_cm 10:121\n"                   \
	"device b\nattribute vendor 8086\nrdma irdma0 -\nport 1 ethernet active\n"                 \
	"uverbs infiniband/uverbs1 231:193\nrdma_cm infiniband/rdma_cm 10:121\n"

#define MACHINE                                                                                    \
	"dir sys\nchr dev/infiniband/uverbs0 231:192\nchr dev/infiniband/uverbs1 231:193\n"        \
	"chr dev/infiniband/rdma_cm 10:121\n"

struct run {
	char *name;
	struct node *node;
	Process *process;
};

static void run_start(struct run *run, const char *name)
{
	run->name = g_strdup(name);
	run->node = node_new(MACHINE);
	node_resources(run->node, RESOURCES);
	node_mock(run->node, MOCK);
	g_autofree char *config = g_build_filename(run->node->root, "etc", "rdmadp.conf", NULL);
	g_autofree char *resources = g_build_filename(run->node->root, "etc", "config.json", NULL);
	/* The thousand restarts are for test/bench. */
	const char *count = strcmp(name, "restart-many") == 0 ? "--count=20" : "--seed=1";
	const char *const argv[] = {kubelet_program,
				    "--dir",
				    run->node->kubelet_dir,
				    "--no-fsync",
				    "--limit=30",
				    "--scenario",
				    name,
				    count,
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
	run->process = process_start(name, argv);
}

static gboolean run_end(struct run *run)
{
	int status = -1;
	gboolean ended = process_await_exit_within(run->process, LIMIT_MS, &status);
	gboolean passed = ended && status == 0;
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

static void the_daemon_survives_every_scenario(void **state)
{
	g_auto(GStrv) names = scenario_names();
	struct run runs[SIDE_BY_SIDE] = {0};
	guint failed = 0, n = g_strv_length(names);
	(void)state;
	assert_true(n > 20);
	for (guint i = 0; i < n + SIDE_BY_SIDE; i++) {
		struct run *run = &runs[i % SIDE_BY_SIDE];
		if (run->process)
			failed += run_end(run) ? 0 : 1;
		if (i < n)
			run_start(run, names[i]);
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_daemon_survives_every_scenario),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
