/* SPDX-License-Identifier: Apache-2.0 */
/* What has gone wrong between kubelets and device plugins in the field, and does not with
 * this one: the list of bugs, as far as the scenarios and the other tests do not have
 * them. On the mock bus. */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define DEVICE(id, n, more)                                                                        \
	"device " id "\nattribute vendor 15b3\nrdma mlx5_" n " mlx5_ib\n"                          \
	"port 1 infiniband active\nuverbs infiniband/uverbs" n " 231:" n "\n"                      \
	"rdma_cm infiniband/rdma_cm 10:121\n" more "\n"

#define NODES                                                                                      \
	"dir sys\nchr dev/infiniband/uverbs1 231:1\nchr dev/infiniband/uverbs2 231:2\n"            \
	"chr dev/infiniband/rdma_cm 10:121\n"

#define LISTED "{\"event\":\"list\",\"first\":true}"

static int set_up(void **state)
{
	*state = node_new(NODES);
	return 0;
}

static int tear_down(void **state)
{
	node_free(*state);
	return 0;
}

static void configure(struct node *node, const char *members)
{
	g_autofree char *json = g_strdup_printf("{\"configList\":[{\"resourceName\":\"hca\",%"
						"s\"selectors\":{\"buses\":[\"mock\"]}}]}",
						members);
	node_resources(node, json);
}

static void start(struct node *node, const char *const *kubelet_options)
{
	node_start_kubelet(node, kubelet_options);
	node_start_daemon(node);
	node_kubelet_says(node, LISTED);
}

/* A health read that blocks for ever, as in the firmware of a broken adapter. */
static void a_read_that_hangs_holds_up_nothing(void **state)
{
	struct node *node = *state;
	configure(node, "\"rdmaHcaMax\":4,");
	node_mock(node, DEVICE("a", "1", "hang forever") DEVICE("b", "2", "health ok"));
	start(node, NULL);
	node_command(node, "allocate rdma/hca 1 p");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"pod\":\"p\"}");
	node_command(node, "restart");
	node_kubelet_says(node, "{\"event\":\"stopped\"}");
	node_kubelet_says(node, LISTED);
	node_command(node, "allocate rdma/hca 1 q");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"pod\":\"q\"}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* The number of slots that the daemon says would fit. */
static guint64 largest_list(struct node *node)
{
	static const char marker[] = "which is ";
	int status;
	guint64 largest = 0;
	configure(node, "\"rdmaHcaMax\":2000000,");
	Process *daemon = node_run_daemon(node, NULL);
	const char *line = process_await(daemon, "4194304");
	assert_non_null(line);
	const char *number = strstr(line, marker);
	assert_non_null(number);
	largest = g_ascii_strtoull(number + strlen(marker), NULL, 10);
	assert_true(process_await_exit(daemon, &status));
	assert_int_equal(status, 1);
	process_free(daemon);
	return largest;
}

/* Over 4 MiB a kubelet shows 0 and says nothing: the largest list that is allowed has to
 * get through, healthy and, which is longer, unhealthy. */
static void the_largest_list_that_is_allowed_is_taken(void **state)
{
	struct node *node = *state;
	guint64 largest = largest_list(node);
	g_autofree char *members =
		g_strdup_printf("\"rdmaHcaMax\":%" G_GUINT64_FORMAT ",", largest);
	g_autofree char *healthy =
		g_strdup_printf("{\"event\":\"list\",\"devices\":%" G_GUINT64_FORMAT
				",\"healthy\":%" G_GUINT64_FORMAT "}",
				largest, largest);
	g_autofree char *unhealthy = g_strdup_printf(
		"{\"event\":\"list\",\"devices\":%" G_GUINT64_FORMAT ",\"healthy\":0}", largest);
	assert_true(largest > 50000);
	configure(node, members);
	node_mock(node, DEVICE("a", "1", "health ok"));
	start(node, NULL);
	assert_true(process_has_said(node->kubelet, healthy));
	node_mock(node, DEVICE("a", "1", "health down"));
	node_kubelet_says(node, unhealthy);
	node_stop_kubelet(node, 0);
}

static void one_slot_more_is_refused_with_the_numbers(void **state)
{
	struct node *node = *state;
	guint64 largest = largest_list(node);
	g_autofree char *members =
		g_strdup_printf("\"rdmaHcaMax\":%" G_GUINT64_FORMAT ",", largest + 1);
	int status;
	configure(node, members);
	Process *daemon = node_run_daemon(node, NULL);
	assert_non_null(process_await(daemon, "4194304"));
	assert_true(process_await_exit(daemon, &status));
	assert_int_equal(status, 1);
	process_free(daemon);
}

/* No NUMA node is no topology at all: kubelets refuse a TopologyInfo without nodes, and a
 * node of -1, under strict policies. */
static void topology_is_all_or_nothing(void **state)
{
	static const struct {
		const char *first, *second, *list;
	} cases[] = {
		{"numa 0", "numa 1",
		 "{\"event\":\"list\",\"list\":[{\"nodes\":[0]},{\"nodes\":[1]}]}"},
		{"numa 0", "", "{\"event\":\"list\",\"list\":[{},{}]}"},
		{"numa 1", "numa 1",
		 "{\"event\":\"list\",\"list\":[{\"nodes\":[1]},{\"nodes\":[1]}]}"},
	};
	/* Up to 1.25 a TopologyInfo without nodes is "no node suits". */
	static const char *const profiles[] = {"1.25", "1.36"};
	(void)state;
	for (gsize n = 0; n < G_N_ELEMENTS(cases) * G_N_ELEMENTS(profiles); n++) {
		gsize i = n / G_N_ELEMENTS(profiles);
		const char *const options[] = {"--topology-policy=restricted", "--profile",
					       profiles[n % G_N_ELEMENTS(profiles)], NULL};
		struct node *node = node_new(NODES);
		g_autofree char *mock =
			g_strconcat(DEVICE("a", "1", ""), cases[i].first, "\n",
				    DEVICE("b", "2", ""), cases[i].second, "\n", NULL);
		configure(node, "\"rdmaHcaMax\":2,\"topology\":true,");
		node_mock(node, mock);
		start(node, options);
		assert_true(process_has_said(node->kubelet, cases[i].list));
		assert_int_equal(process_has_said(node->kubelet, "\"nodes\""), i != 1);
		node_command(node, "allocate rdma/hca 1 p");
		node_kubelet_says(node, "{\"event\":\"allocated\"}");
		node_stop_kubelet(node, 0);
		node_free(node);
	}
}

static void after_the_grace_period_the_resource_comes_back(void **state)
{
	/* Five minutes pass in 0.3 s, and the daemon needs longer than that to start. */
	static const char *const options[] = {"--time-scale=1000", NULL};
	struct node *node = *state;
	configure(node, "\"rdmaHcaMax\":4,");
	node_mock(node, DEVICE("a", "1", "health ok"));
	start(node, options);
	node_stop_daemon(node);
	node_kubelet_says(node, "{\"event\":\"deleted\",\"resource\":\"rdma/hca\"}");
	node_start_daemon(node);
	node_kubelet_says(node, LISTED);
	node_command(node, "allocate rdma/hca 4 p");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	node_stop_kubelet(node, 0);
}

/* Init containers give their ids to the others: the same ids twice. */
static void ids_may_be_allocated_again(void **state)
{
	struct node *node = *state;
	configure(node, "\"rdmaHcaMax\":2,");
	node_mock(node, DEVICE("a", "1", "health ok"));
	start(node, NULL);
	node_command(node, "allocate rdma/hca 2 p/init-a\nallocate rdma/hca 2 p/init-b");
	node_command(node, "allocate rdma/hca 2 p/main");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"container\":\"init-a\"}");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"container\":\"init-b\"}");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"container\":\"main\"}");
	node_command(node, "allocate rdma/hca 1 q");
	node_kubelet_says(node, "{\"event\":\"rejected\",\"pod\":\"q\"}");
	node_stop_kubelet(node, 0);
}

/* Many changes in a short time: each list differs from the one before, and the last one
 * is right. */
static void quick_changes_are_coalesced(void **state)
{
	struct node *node = *state;
	configure(node, "\"rdmaHcaMax\":4,");
	node_mock(node, DEVICE("a", "1", "health ok") DEVICE("b", "2", "health ok"));
	start(node, NULL);
	for (int i = 0; i < 200; i++) {
		node_mock(node, i % 2 ? DEVICE("a", "1", "health ok") DEVICE("b", "2", "health ok")
				      : DEVICE("a", "1", "health down") DEVICE("b", "2",
									       "health "
									       "ok"));
	}
	node_mock(node, DEVICE("a", "1", "health down") DEVICE("b", "2", "health down"));
	node_kubelet_says(node, "{\"event\":\"list\",\"healthy\":0}");
	node_mock(node, DEVICE("a", "1", "health ok") DEVICE("b", "2", "health ok"));
	node_kubelet_says(node, "{\"event\":\"list\",\"healthy\":4}");
	node_stop_kubelet(node, 0);
}

/* sun_path has 108 bytes: a long name is shortened, and still its own. */
static void long_names_get_short_sockets(void **state)
{
	g_autofree char *name = g_strnfill(62, 'n');
	g_autofree char *prefix = g_strnfill(200, 'p');
	g_autofree char *json = g_strdup_printf(
		"{\"configList\":["
		"{\"resourceName\":\"%sa\",\"resourcePrefix\":\"%s\",\"rdmaHcaMax\":2,"
		"\"selectors\":{\"buses\":[\"mock\"],\"rdmaDevices\":[\"mlx5_1\"]}},"
		"{\"resourceName\":\"%sb\",\"resourcePrefix\":\"%s\",\"rdmaHcaMax\":3,"
		"\"selectors\":{\"buses\":[\"mock\"],\"rdmaDevices\":[\"mlx5_2\"]}}]}",
		name, prefix, name, prefix);
	g_autofree char *first = g_strdup_printf(
		"{\"event\":\"list\",\"resource\":\"%s/%sa\",\"healthy\":2}", prefix, name);
	g_autofree char *second = g_strdup_printf(
		"{\"event\":\"list\",\"resource\":\"%s/%sb\",\"healthy\":3}", prefix, name);
	struct node *node = *state;
	node_resources(node, json);
	node_mock(node, DEVICE("a", "1", "health ok") DEVICE("b", "2", "health ok"));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LISTED);
	node_kubelet_says(node, LISTED);
	assert_true(process_has_said(node->kubelet, first));
	assert_true(process_has_said(node->kubelet, second));
	node_stop_kubelet(node, 0);
}

/* The first kubelet.sock is no restart: one Register for each life of the kubelet. */
static void there_is_one_register_for_each_kubelet(void **state)
{
	struct node *node = *state;
	configure(node, "\"rdmaHcaMax\":2,");
	node_mock(node, DEVICE("a", "1", "health ok"));
	node_start_daemon(node);
	node_daemon_says(node, "kubelet");
	node_start_kubelet(node, NULL);
	node_kubelet_says(node, LISTED);
	node_command(node, "restart 300");
	node_kubelet_says(node, "{\"event\":\"stopped\"}");
	node_kubelet_says(node, LISTED);
	/* Time for whatever would be too much. */
	node_command(node, "sleep 1000\nresources");
	node_kubelet_says(node, "{\"event\":\"resources\",\"count\":1,\"connections\":1}");
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"register\"}"), 2);
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"list\"}"), 2);
	node_stop_kubelet(node, 0);
}

/* A device that fails while its Allocate is under way, or was, stays in the list. */
static void an_id_never_leaves_the_list(void **state)
{
	struct node *node = *state;
	configure(node, "\"mode\":\"exclusive\",");
	node_mock(node, DEVICE("a", "1", "health ok") DEVICE("b", "2", "health ok"));
	start(node, NULL);
	node_command(node, "allocate rdma/hca 2 p");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	node_mock(node, DEVICE("b", "2", "health ok"));
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":2,\"healthy\":1}");
	node_mock(node, "");
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":2,\"healthy\":0}");
	node_mock(node, DEVICE("a", "1", "health ok") DEVICE("b", "2", "health ok"));
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":2,\"healthy\":2}");
	node_stop_kubelet(node, 0);
}

/* GetPreferredAllocation is asked even when nothing is left to choose, and must not fail. */
static void a_preference_never_fails(void **state)
{
	struct node *node = *state;
	configure(node, "\"mode\":\"exclusive\",");
	node_mock(node, DEVICE("a", "1", "numa 0") DEVICE("b", "2", "numa 1"));
	start(node, NULL);
	node_command(node, "allocate rdma/hca 1 p\nallocate rdma/hca 1 q\nallocate rdma/hca 1 r");
	node_kubelet_says(node, "{\"event\":\"preferred\",\"pod\":\"p\"}");
	node_kubelet_says(node, "{\"event\":\"preferred\",\"pod\":\"q\"}");
	node_kubelet_says(node, "{\"event\":\"rejected\",\"pod\":\"r\"}");
	node_command(node, "free p\nfree q\nallocate rdma/hca 2 s");
	node_kubelet_says(node, "{\"event\":\"preferred\",\"pod\":\"s\"}");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"pod\":\"s\"}");
	node_stop_kubelet(node, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_read_that_hangs_holds_up_nothing),
		TEST(the_largest_list_that_is_allowed_is_taken),
		TEST(one_slot_more_is_refused_with_the_numbers),
		cmocka_unit_test(topology_is_all_or_nothing),
		TEST(after_the_grace_period_the_resource_comes_back),
		TEST(ids_may_be_allocated_again),
		TEST(quick_changes_are_coalesced),
		TEST(long_names_get_short_sockets),
		TEST(there_is_one_register_for_each_kubelet),
		TEST(an_id_never_leaves_the_list),
		TEST(a_preference_never_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
