/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that copes with nothing fails the scenarios that ask something of it, and
 * only those. test/system runs all of them against the daemon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kubelet/scenario.h"
#include "support/process.h"

static const char program[] = BINARY_DIR "/bin/rdmadp-kubelet";
static const char plugin[] = BINARY_DIR "/bin/stubborn_plugin";

static Process *start_scenario(const char *name, const char *limit, const char *command)
{
	const char *const argv[] = {program,	      "--scenario", name,  "--count=2",
				    "--duration=0.3", "--limit",    limit, "--",
				    command,	      "{dir}",	    NULL};
	return process_start(name, argv);
}

/* It failed because of what happened, not because the plugin did not come up at all. */
static void assert_fails(Process *process)
{
	int status;
	assert_true(process_await_exit(process, &status));
	assert_int_equal(status, 1);
	assert_true(process_has_said(process, "{\"event\":\"list\"}"));
	assert_true(process_has_said(process, "{\"event\":\"verdict\",\"ok\":false}"));
	assert_true(process_has_said(process, "{\"event\":\"scenario\",\"ok\":false}"));
	process_free(process);
}

static void assert_passes(Process *process)
{
	int status;
	assert_true(process_await_exit(process, &status));
	assert_true(process_has_said(process, "{\"event\":\"scenario\",\"ok\":true}"));
	assert_int_equal(status, 0);
	process_free(process);
}

static void a_plugin_that_never_registers_again_fails(void **state)
{
	static const char *const names[] = {"restart",	       "restart-20ms",	 "restart-steps",
					    "restart-random",  "refused",	 "silent",
					    "clock-jump",      "directory-gone", "read-only",
					    "socket-unlinked", "stream-lost",	 "stream-lost-many",
					    "slow-register"};
	Process *processes[G_N_ELEMENTS(names)];
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		processes[i] = start_scenario(names[i], "5", plugin);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		assert_fails(processes[i]);
}

static void what_it_copes_with_it_passes(void **state)
{
	static const char *const names[] = {"kill-plugin",  "terminate-plugin", "stale-socket",
					    "rst-list",	    "goaway-list",	"close-list",
					    "half-closed",  "garbage-client",	"unknown-methods",
					    "deadline-1ms", "huge-requests",	"same-ids"};
	Process *processes[G_N_ELEMENTS(names)];
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		processes[i] = start_scenario(names[i], "25", plugin);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		assert_passes(processes[i]);
}

static void a_plugin_that_does_not_start_or_does_not_live_fails(void **state)
{
	static const char *const commands[] = {"/nonexistent/plugin", "/bin/false", "/bin/ls"};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
		Process *process = start_scenario("restart", "0.5", commands[i]);
		int status;
		assert_true(process_await_exit(process, &status));
		assert_int_equal(status, 1);
		process_free(process);
	}
}

static void bad_options_are_said(void **state)
{
	const char *const cases[][6] = {
		{program, "--scenario", "nonsense", "--", plugin, NULL},
		{program, "--scenario", "restart", NULL},
		{program, "--dir", "/tmp", "surplus", NULL},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		Process *process = process_start("kubelet", cases[i]);
		int status;
		assert_non_null(process_await(process, "rdmadp-kubelet: "));
		assert_true(process_await_exit(process, &status));
		assert_int_equal(status, 2);
		process_free(process);
	}
}

static void all_scenarios_are_listed_and_found(void **state)
{
	const char *const argv[] = {program, "--list-scenarios", NULL};
	g_autofree char *list = scenario_list();
	g_auto(GStrv) lines = g_strsplit(list, "\n", -1);
	(void)state;
	Process *process = process_start("kubelet", argv);
	assert_non_null(process_await(process, "restart-random"));
	process_free(process);
	for (gsize i = 0; lines[i] && *lines[i]; i++) {
		g_auto(GStrv) words = g_strsplit(lines[i], " ", 2);
		assert_non_null(scenario_find(words[0]));
	}
	assert_null(scenario_find("nonsense"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plugin_that_never_registers_again_fails),
		cmocka_unit_test(what_it_copes_with_it_passes),
		cmocka_unit_test(a_plugin_that_does_not_start_or_does_not_live_fails),
		cmocka_unit_test(bad_options_are_said),
		cmocka_unit_test(all_scenarios_are_listed_and_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
