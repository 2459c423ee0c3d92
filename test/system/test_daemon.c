/* SPDX-License-Identifier: Apache-2.0 */
/* The main job from the start to the end: registration, lists, allocations, health, and
 * what the kubelet and the daemon survive of each other. On the mock bus. */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RESOURCES                                                                                  \
	"{\"configList\":[{\"resourceName\":\"hca\",\"rdmaHcaMax\":4,"                             \
	"\"selectors\":{\"buses\":[\"mock\"],\"vendors\":[\"15b3\"]}}]}"

#define DEVICE(id, n, health)                                                                      \
	"device " id "\nattribute vendor 15b3\nattribute device 101d\n"                            \
	"rdma mlx5_" n " mlx5_ib\nport 1 infiniband active\n"                                      \
	"uverbs infiniband/uverbs" n " 231:" n "\nrdma_cm infiniband/rdma_cm 10:121\n" health "\n"

#define HEALTHY DEVICE("0000:3b:00.0", "1", "health ok") DEVICE("0000:af:00.0", "2", "health ok")
#define ONE_DOWN                                                                                   \
	DEVICE("0000:3b:00.0", "1", "health down \"no cable\"")                                    \
	DEVICE("0000:af:00.0", "2", "health ok")

#define NODES                                                                                      \
	"dir sys\nchr dev/infiniband/uverbs1 231:1\nchr dev/infiniband/uverbs2 231:2\n"            \
	"chr dev/infiniband/rdma_cm 10:121\n"

#define REGISTERED "{\"event\":\"list\",\"resource\":\"rdma/hca\",\"first\":true}"

static int set_up(void **state)
{
	struct node *node = node_new(NODES);
	node_resources(node, RESOURCES);
	node_mock(node, HEALTHY);
	*state = node;
	return 0;
}

static int tear_down(void **state)
{
	node_free(*state);
	return 0;
}

static struct node *running(void **state)
{
	struct node *node = *state;
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, REGISTERED);
	return node;
}

static void the_list_holds_all_slots_and_an_allocation_all_files(void **state)
{
	struct node *node = running(state);
	assert_true(process_has_said(node->kubelet,
				     "{\"event\":\"list\",\"devices\":4,\"healthy\":4,\"list\":["
				     "{\"id\":\"rdma/hca-0\",\"health\":\"Healthy\"},"
				     "{\"id\":\"rdma/hca-1\",\"health\":\"Healthy\"},"
				     "{\"id\":\"rdma/hca-2\",\"health\":\"Healthy\"},"
				     "{\"id\":\"rdma/hca-3\",\"health\":\"Healthy\"}]}"));
	node_command(node, "allocate rdma/hca 2 pod-a");
	node_kubelet_says(node,
			  "{\"event\":\"allocated\",\"pod\":\"pod-a\",\"mounts\":[],\"devices\":["
			  "{\"host\":\"/dev/infiniband/rdma_cm\",\"permissions\":\"rw\","
			  "\"container\":\"/dev/infiniband/rdma_cm\"},"
			  "{\"host\":\"/dev/infiniband/uverbs1\",\"permissions\":\"rw\","
			  "\"container\":\"/dev/infiniband/uverbs1\"},"
			  "{\"host\":\"/dev/infiniband/uverbs2\",\"permissions\":\"rw\","
			  "\"container\":\"/dev/infiniband/uverbs2\"}]}");
	node_command(node, "allocate rdma/hca 3 pod-b");
	node_kubelet_says(node, "{\"event\":\"rejected\",\"pod\":\"pod-b\"}");
	node_stop_daemon(node);
	node_kubelet_says(node, "{\"event\":\"stream-ended\",\"by\":\"plugin\"}");
	assert_false(node_has_file(node, "kubelet/rdma_hca.sock"));
	node_stop_kubelet(node, 0);
}

static void a_failing_hca_takes_its_slots_down_and_back(void **state)
{
	struct node *node = running(state);
	node_mock(node, ONE_DOWN);
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":4,\"healthy\":3,\"capacity\":4}");
	node_daemon_says(node, "no cable");
	node_command(node, "allocate rdma/hca 1 pod-a");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	node_mock(node, HEALTHY);
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":4,\"healthy\":4}");
	node_stop_kubelet(node, 0);
}

/* Neither polls nor periodic scans: what the backend tells is enough. */
static void events_alone_are_followed(void **state)
{
	struct node *node = *state;
	node_resources(node,
		       "{\"periodicUpdateInterval\":0,\"faultDetectPeriod\":0,\"configList\":["
		       "{\"resourceName\":\"hca\",\"rdmaHcaMax\":4,\"selectors\":"
		       "{\"buses\":[\"mock\"],\"vendors\":[\"15b3\"]}}]}");
	running(state);
	node_mock(node, ONE_DOWN);
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":4,\"healthy\":3}");
	node_mock(node, HEALTHY);
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":4,\"healthy\":4}");
	node_mock(node, DEVICE("0000:3b:00.0", "1", "health ok"));
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":4,\"healthy\":3}");
	node_daemon_says(node, "it is not on the bus any more");
	node_mock(node, HEALTHY);
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":4,\"healthy\":4}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_kubelet_that_restarts_has_the_resource_again(void **state)
{
	struct node *node = running(state);
	node_command(node, "allocate rdma/hca 1 pod-a");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	for (int i = 0; i < 5; i++) {
		node_command(node, "restart");
		node_kubelet_says(node, "{\"event\":\"wiped\"}");
		node_kubelet_says(node, REGISTERED);
	}
	node_command(node, "allocate rdma/hca 1 pod-a");
	node_kubelet_says(node, "{\"event\":\"held\",\"pod\":\"pod-a\"}");
	node_command(node, "resources");
	node_kubelet_says(node, "{\"event\":\"resource\",\"allocatable\":4,\"free\":3}");
	node_kubelet_says(node, "{\"event\":\"resources\",\"count\":1,\"connections\":1}");
	node_stop_kubelet(node, 0);
}

static void a_kubelet_that_is_away_for_a_while_is_waited_for(void **state)
{
	struct node *node = running(state);
	node_command(node, "restart 700");
	node_kubelet_says(node, "{\"event\":\"stopped\"}");
	node_kubelet_says(node, REGISTERED);
	node_stop_kubelet(node, 0);
	node_start_kubelet(node, NULL);
	node_kubelet_says(node, REGISTERED);
	node_stop_kubelet(node, 0);
}

static void a_stream_that_breaks_is_registered_again(void **state)
{
	struct node *node = running(state);
	node_command(node, "disconnect rdma/hca");
	node_kubelet_says(node, "{\"event\":\"stream-ended\",\"by\":\"kubelet\"}");
	node_daemon_says(node, "rdma/hca: the kubelet has ended its stream");
	node_kubelet_says(node, REGISTERED);
	node_stop_kubelet(node, 0);
}

static void the_daemon_may_be_there_before_the_kubelet(void **state)
{
	struct node *node = *state;
	node_start_daemon(node);
	node_daemon_says(node, "kubelet");
	node_start_kubelet(node, NULL);
	node_kubelet_says(node, REGISTERED);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_daemon_that_is_killed_comes_back_with_the_same_ids(void **state)
{
	struct node *node = running(state);
	node_command(node, "allocate rdma/hca 4 pod-a");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	process_signal(node->daemon, SIGKILL);
	node_kubelet_says(node, "{\"event\":\"stream-ended\",\"by\":\"plugin\"}");
	assert_true(node_has_file(node, "kubelet/rdma_hca.sock"));
	node_start_daemon(node);
	node_kubelet_says(node, REGISTERED);
	node_command(node, "resources");
	node_kubelet_says(node, "{\"event\":\"resource\",\"allocatable\":4,\"free\":0}");
	node_stop_kubelet(node, 0);
}

static void a_daemon_that_ends_frees_the_way_for_the_next(void **state)
{
	struct node *node = running(state);
	for (int i = 0; i < 3; i++) {
		node_stop_daemon(node);
		node_kubelet_says(node, "{\"event\":\"stream-ended\"}");
		assert_false(node_has_file(node, "kubelet/rdma_hca.sock"));
		node_start_daemon(node);
		node_kubelet_says(node, REGISTERED);
	}
	node_stop_kubelet(node, 0);
}

static void a_second_daemon_does_not_take_the_socket(void **state)
{
	struct node *node = running(state);
	Process *second = node_run_daemon(node, NULL);
	/* Other names would help the resource, and not the status socket. */
	assert_non_null(process_await(second, "it ends; 'rdmadp status' has no answer"));
	assert_non_null(process_await(second, "it ends (or let both serve with unique_socket"));
	node_command(node, "resources");
	node_kubelet_says(node, "{\"event\":\"resource\",\"allocatable\":4,"
				"\"state\":\"streaming\"}");
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"register\"}"), 1);
	/* The first one goes, the second takes over. */
	node_stop_daemon(node);
	node_kubelet_says(node, "{\"event\":\"stream-ended\"}");
	node_kubelet_says(node, REGISTERED);
	process_free(second);
	node_stop_kubelet(node, 0);
}

/* As one that was killed while a driver holds a thread of it: its sockets live on, and the
 * kubelet would wait for it for ever. */
static void a_daemon_that_is_stopped_gives_way(void **state)
{
	struct node *node = running(state);
	process_signal(node->daemon, SIGSTOP);
	Process *second = node_run_daemon(node, NULL);
	assert_non_null(process_await(second, "has not answered for 10 s: its socket is replaced"));
	node_kubelet_says(node, REGISTERED);
	assert_non_null(node_allocate(node, "rdma/hca", 1, "pod"));
	/* Back among the living it leaves the socket where it is. */
	process_signal(node->daemon, SIGCONT);
	node_daemon_says(node, "another instance serves");
	process_signal(node->daemon, SIGKILL);
	node_kubelet_says(node, "{\"event\":\"stream-ended\"}");
	node_kubelet_says(node, REGISTERED);
	process_free(second);
	/* To a kubelet that was the second Register of one plugin. */
	node_stop_kubelet(node, 1);
}

/* The kubelet still has the first one's stream from before, but asks the other. */
static void who_takes_the_socket_back_registers_again(void **state)
{
	struct node *node = running(state);
	process_signal(node->daemon, SIGSTOP);
	Process *second = node_run_daemon(node, NULL);
	assert_non_null(process_await(second, "has not answered for 10 s: its socket is replaced"));
	node_kubelet_says(node, REGISTERED);
	process_signal(node->daemon, SIGCONT);
	node_daemon_says(node, "another instance serves");
	process_signal(second, SIGSTOP);
	node_daemon_says(node, "has not answered for 10 s: its socket is replaced");
	node_kubelet_says(node, REGISTERED);
	assert_non_null(node_allocate(node, "rdma/hca", 1, "pod"));
	process_free(second);
	node_stop_kubelet(node, 1);
}

static void hcas_that_appear_and_vanish_are_followed(void **state)
{
	struct node *node = *state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"hca\",\"selectors\":{\"buses\":"
			     "[\"mock\"]}}]}");
	node_mock(node, "");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, "{\"event\":\"list\",\"first\":true,\"devices\":0}");
	node_mock(node, DEVICE("0000:3b:00.0", "1", "health ok"));
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":1,\"healthy\":1}");
	node_mock(node, HEALTHY);
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":2,\"healthy\":2}");
	/* What was shown once stays listed. */
	node_mock(node, DEVICE("0000:3b:00.0", "1", "health ok"));
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":2,\"healthy\":1}");
	node_stop_kubelet(node, 0);
}

static void every_profile_is_served(void **state)
{
	static const char *const profiles[] = {"1.20", "1.24", "1.25", "1.26", "1.28", "1.32",
					       "1.33", "1.34", "1.35", "1.36", "1.37"};
	struct node *node = *state;
	node_start_daemon(node);
	for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
		const char *const options[] = {"--profile", profiles[i], NULL};
		node_start_kubelet(node, options);
		node_kubelet_says(node, REGISTERED);
		node_command(node, "restart");
		node_kubelet_says(node, "{\"event\":\"stopped\"}");
		node_kubelet_says(node, REGISTERED);
		node_command(node, "allocate rdma/hca 1 pod-a");
		node_kubelet_says(node, "{\"event\":\"allocated\"}");
		node_command(node, "free pod-a");
		node_stop_kubelet(node, 0);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_list_holds_all_slots_and_an_allocation_all_files),
		TEST(a_failing_hca_takes_its_slots_down_and_back),
		TEST(events_alone_are_followed),
		TEST(a_kubelet_that_restarts_has_the_resource_again),
		TEST(a_kubelet_that_is_away_for_a_while_is_waited_for),
		TEST(a_stream_that_breaks_is_registered_again),
		TEST(the_daemon_may_be_there_before_the_kubelet),
		TEST(a_daemon_that_is_killed_comes_back_with_the_same_ids),
		TEST(a_daemon_that_ends_frees_the_way_for_the_next),
		TEST(a_second_daemon_does_not_take_the_socket),
		TEST(a_daemon_that_is_stopped_gives_way),
		TEST(who_takes_the_socket_back_registers_again),
		TEST(hcas_that_appear_and_vanish_are_followed),
		TEST(every_profile_is_served),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
