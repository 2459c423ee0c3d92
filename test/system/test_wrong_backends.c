/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon with backends that pass their rehearsal and go wrong afterwards. */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RESOURCE(bus)                                                                              \
	"{\"resourceName\":\"" bus "\",\"rdmaHcaMax\":4,\"selectors\":{\"buses\":[\"" bus "\"]}}"

static int set_up(void **state)
{
	*state = node_new("");
	return 0;
}

static int tear_down(void **state)
{
	node_free(*state);
	return 0;
}

static void start_daemon(struct node *node, const char *resources)
{
	g_autofree char *json = g_strdup_printf("{\"configList\":[%s]}", resources);
	const char *const options[] = {"--backend-dir", BINARY_DIR "/test/evil", NULL};
	node_resources(node, json);
	node->daemon = node_run_daemon(node, options);
}

static void a_scan_that_hangs_is_told_and_others_run(void **state)
{
	struct node *node = *state;
	node_start_kubelet(node, NULL);
	start_daemon(node, RESOURCE("hang_later1") "," RESOURCE("good"));
	node_daemon_says(node, "backend hang_later1: backend 'hang_later1': a scan does not end "
			       "within 5 s and is waited for; keeping 0 known devices");
	node_kubelet_says(node, "{\"event\":\"list\",\"resource\":\"rdma/hang_later1\"}");
	assert_true(
		process_has_said(node->kubelet, "{\"event\":\"list\",\"resource\":\"rdma/good\"}"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void many_that_hang_do_not_hold_up_the_end(void **state)
{
	struct node *node = *state;
	start_daemon(
		node,
		RESOURCE("hang_later1") "," RESOURCE("hang_later2") "," RESOURCE("hang_later3") "," RESOURCE(
			"hang_later4") "," RESOURCE("hang_later5") "," RESOURCE("hang_later6") "," RESOURCE("good"));
	for (int i = 1; i <= 6; i++) {
		g_autofree char *said = g_strdup_printf("hang_later%d: backend", i);
		process_mark(node->daemon);
		if (!process_has_said(node->daemon, said))
			node_daemon_says(node, said);
	}
	node_stop_daemon(node);
}

static void one_that_ends_the_process_lets_it_fail(void **state)
{
	struct node *node = *state;
	int status;
	start_daemon(node, RESOURCE("quit_later"));
	node_daemon_says(node, "a backend or a library has ended the process");
	assert_true(process_await_exit(node->daemon, &status));
	assert_int_equal(status, 1);
}

static void one_that_hangs_in_the_end_is_left(void **state)
{
	struct node *node = *state;
	int status;
	start_daemon(node, RESOURCE("hang_exit"));
	node_daemon_says(node, "1 device found, with RDMA: ");
	process_signal(node->daemon, SIGTERM);
	node_daemon_says(node, "the end takes too long: something hangs and is left");
	assert_true(process_await_exit(node->daemon, &status));
	assert_int_equal(status, 1);
}

static void one_that_was_killed_is_tried_again(void **state)
{
	struct node *node = *state;
	start_daemon(node, RESOURCE("killed_once"));
	node_daemon_says(node, "the process was killed (SIGKILL), as the kernel does where memory "
			       "is short; its resources stay at 0 until it can be used: that is "
			       "tried again");
	node_daemon_says(node, "1 device found, with RDMA: ");
	node_stop_daemon(node);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_scan_that_hangs_is_told_and_others_run),
		TEST(many_that_hang_do_not_hold_up_the_end),
		TEST(one_that_ends_the_process_lets_it_fail),
		TEST(one_that_was_killed_is_tried_again),
		TEST(one_that_hangs_in_the_end_is_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
