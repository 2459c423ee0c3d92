/* SPDX-License-Identifier: Apache-2.0 */
/* The program rdmadp-kubelet: its commands, what it writes, its exit status. */
#include "kubelet/fake_plugin.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"
#include "support/process.h"

static const char program[] = BINARY_DIR "/bin/rdmadp-kubelet";

static char *dir;

static int make_dir(void **state)
{
	(void)state;
	dir = g_dir_make_tmp("rdmadp-sim-XXXXXX", NULL);
	return dir ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	fixture_remove(dir);
	g_clear_pointer(&dir, g_free);
	return 0;
}

static Process *start(const char *option, const char *value)
{
	const char *const argv[] = {program, "--dir", dir, option, value, NULL};
	return process_start("kubelet", argv);
}

static void assert_ends(Process *process, int expected)
{
	int status;
	assert_true(process_await_exit(process, &status));
	assert_int_equal(status, expected);
	process_free(process);
}

/* Fake plugin and program in two processes: the loop has to run here meanwhile. */
struct plugin {
	Rpc *rpc;
	FakePlugin *fake;
};

static void run_loop_until(const gboolean *flag)
{
	while (!*flag)
		g_main_context_iteration(NULL, TRUE);
}

static struct plugin plugin_new(const char *devices)
{
	struct plugin plugin = {.rpc = rpc_new()};
	plugin.fake = fake_plugin_new(plugin.rpc, dir, "rdma/hca", "hca.sock");
	fake_plugin_list(plugin.fake, devices);
	fake_plugin_serve(plugin.fake);
	fake_plugin_register(plugin.fake);
	run_loop_until(&plugin.fake->registered);
	assert_int_equal(plugin.fake->register_status, RPC_OK);
	while (plugin.fake->streams->len == 0)
		g_main_context_iteration(NULL, TRUE);
	return plugin;
}

static void plugin_free(struct plugin *plugin)
{
	gboolean stopped = FALSE;
	fake_plugin_free(plugin->fake, &stopped);
	run_loop_until(&stopped);
	rpc_free(plugin->rpc);
}

static void it_serves_until_it_is_told_to_quit(void **state)
{
	Process *process = start("--seed", "7");
	(void)state;
	assert_non_null(process_await(process, "{\"event\":\"started\",\"profile\":\"1.36\","
					       "\"seed\":7}"));
	assert_non_null(process_await(process, "{\"event\":\"serving\"}"));
	process_write(process, "resources");
	assert_non_null(process_await(process, "{\"event\":\"resources\",\"count\":0}"));
	process_write(process, "quit");
	assert_non_null(process_await(process, "{\"event\":\"stopped\"}"));
	assert_ends(process, 0);
}

static void the_end_of_the_commands_is_not_the_end(void **state)
{
	Process *process = start("--profile", "1.33");
	(void)state;
	process_close_input(process);
	assert_non_null(process_await(process, "{\"event\":\"serving\"}"));
	process_signal(process, SIGTERM);
	assert_ends(process, 0);
}

static void bad_options_are_said(void **state)
{
	static const char *const cases[][4] = {
		{program, "--dir=/tmp", "--profile=1.2", NULL},
		{program, "--seed", "1", NULL},
		{program, "--nonsense", NULL, NULL},
		{program, "--dir=/proc/nowhere", NULL, NULL},
		{program, "--dir=/tmp", "--time-scale=0", NULL},
		{program, "--dir=/tmp", "--time-scale=nan", NULL},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *argv[] = {cases[i][0], cases[i][1], cases[i][2], cases[i][3], NULL};
		Process *process = process_start("kubelet", argv);
		assert_non_null(process_await(process, "rdmadp-kubelet: "));
		assert_ends(process, 2);
	}
}

static void it_shows_its_profiles_and_its_version(void **state)
{
	const char *const profiles[] = {program, "--list-profiles", NULL};
	const char *const version[] = {program, "--version", NULL};
	(void)state;
	Process *process = process_start("kubelet", profiles);
	assert_non_null(process_await(process, "takeover race"));
	assert_ends(process, 0);
	process = process_start("kubelet", version);
	assert_non_null(process_await(process, "rdmadp-kubelet "));
	assert_ends(process, 0);
}

static void unknown_commands_and_vain_waits_make_the_status_1(void **state)
{
	static const struct {
		const char *command, *verdict;
	} cases[] = {
		{"nonsense", "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"allocate rdma/hca", "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"allocate rdma/hca x",
		 "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"free nobody", "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"start nobody", "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"disconnect rdma/hca",
		 "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"serve", "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"wait blue rdma/hca", "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"wait capacity rdma/hca",
		 "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"command\"}"},
		{"wait registered rdma/hca 0.01", "{\"event\":\"verdict\",\"ok\":false,"
						  "\"rule\":\"wait\",\"resource\":\"rdma/hca\"}"},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		Process *process = start("--seed", "1");
		process_write(process, "%s", cases[i].command);
		assert_non_null(process_await(process, cases[i].verdict));
		process_write(process, "quit");
		assert_ends(process, 1);
	}
}

static void the_commands_do_their_work_in_order(void **state)
{
	Process *process = start("--seed", "1");
	(void)state;
	assert_non_null(process_await(process, "{\"event\":\"serving\"}"));
	struct plugin plugin = plugin_new("a=Healthy b=Healthy");
	process_write(process, "# a comment\n\nwait registered rdma/hca 20");
	process_write(process, "wait allocatable rdma/hca 2\nwait capacity rdma/hca 2");
	process_write(process, "allocate rdma/hca 1 pod-a/init-x");
	while (plugin.fake->calls[FAKE_ALLOCATE] == 0)
		g_main_context_iteration(NULL, TRUE);
	assert_non_null(process_await(process, "{\"event\":\"allocated\",\"pod\":\"pod-a\","
					       "\"container\":\"init-x\"}"));
	process_write(process, "start pod-a/init-x");
	assert_non_null(process_await(process, "{\"event\":\"container-started\"}"));
	process_write(process, "free pod-a\nresources");
	assert_non_null(process_await(process, "{\"event\":\"freed\",\"pod\":\"pod-a\"}"));
	assert_non_null(process_await(process, "{\"event\":\"resource\",\"name\":\"rdma/hca\","
					       "\"capacity\":2,\"allocatable\":2,\"free\":1,"
					       "\"state\":\"streaming\"}"));
	process_write(process, "disconnect rdma/hca\nwait stopped rdma/hca");
	assert_non_null(process_await(process, "{\"event\":\"waited\",\"condition\":\"stopped\"}"));
	process_write(process, "sleep 1\nrestart 1\nallocate rdma/hca 1");
	assert_non_null(process_await(process, "{\"event\":\"serving\"}"));
	assert_non_null(process_await(process, "{\"event\":\"rejected\"}"));
	process_write(process, "stop-serving\nserve\nrestart\nquit");
	assert_ends(process, 0);
	plugin_free(&plugin);
}

static void the_text_is_for_people(void **state)
{
	Process *process = start("--text", NULL);
	(void)state;
	assert_non_null(process_await(process, "serving"));
	struct plugin plugin = plugin_new("a=Healthy b=Unhealthy");
	assert_non_null(process_await(process, "rdma/hca: 1 of 2 devices healthy"));
	process_write(process, "allocate rdma/hca 1 p");
	while (plugin.fake->calls[FAKE_ALLOCATE] == 0)
		g_main_context_iteration(NULL, TRUE);
	assert_non_null(process_await(process, "rdma/hca to p: a; files /dev/null"));
	process_write(process, "resources\nnonsense\nquit");
	assert_non_null(process_await(process, "rdma/hca: capacity 2, allocatable 1, free 0"));
	assert_non_null(process_await(process, "BAD command: 'nonsense': no such command"));
	assert_ends(process, 1);
	plugin_free(&plugin);
}

static void a_scenario_without_a_plugin_names_no_times(void **state)
{
	const char *const argv[] = {program, "--text", "--scenario", "restart",
				    "--",    "false",  NULL};
	Process *process = process_start("kubelet", argv);
	(void)state;
	assert_non_null(process_await(process, "BAD restart"));
	assert_int_equal(process_count(process, "median"), 0);
	assert_ends(process, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_serves_until_it_is_told_to_quit, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(the_end_of_the_commands_is_not_the_end, make_dir,
						remove_dir),
		cmocka_unit_test(bad_options_are_said),
		cmocka_unit_test(it_shows_its_profiles_and_its_version),
		cmocka_unit_test_setup_teardown(unknown_commands_and_vain_waits_make_the_status_1,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(the_commands_do_their_work_in_order, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(the_text_is_for_people, make_dir, remove_dir),
		cmocka_unit_test(a_scenario_without_a_plugin_names_no_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
