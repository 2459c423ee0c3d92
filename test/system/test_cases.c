/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of the field, from what is on the bus to what the kubelet and people get to
 * see; the F numbers are those of the machines. */
#include "system/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"
#define CONFIGURATION(resources) "{\"periodicUpdateInterval\":1,\"configList\":[" resources "]}"
#define RESOURCE(name, members) "{\"resourceName\":\"" name "\",\"rdmaHcaMax\":2," members "}"
#define ALL "\"selectors\":{\"vendors\":[\"15b3\"]}"

#define LIST(name, devices, healthy)                                                               \
	"{\"event\":\"list\",\"resource\":\"rdma/" name "\",\"devices\":" #devices                 \
	",\"healthy\":" #healthy "}"
#define FILE(name) "{\"host\":\"/dev/infiniband/" name "\"}"
#define ALLOCATED(files) "{\"event\":\"allocated\",\"devices\":[" files "]}"

static struct node *node;

static int tear_down(void **state)
{
	(void)state;
	g_clear_pointer(&node, node_free);
	return 0;
}

static void start(const char *machine, const char *changes, const char *resources)
{
	node = node_new(machine);
	if (changes)
		fixture_apply(node->root, changes);
	node_resources(node, resources);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
}

static void stop(void)
{
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* Lists of several resources come in any order. */
static void await_list(const char *list)
{
	while (process_count(node->kubelet, list) == 0)
		node_kubelet_says(node, "{\"event\":\"list\"}");
}

static void assert_said(guint times, const char *text)
{
	guint n = process_count(node->daemon, text);
	if (n != times) {
		g_autofree char *output = process_output(node->daemon);
		fail_msg("said %u times and not %u: %s\n%s", n, times, text, output);
	}
}

/* An HCA whose driver is still busy is neither offered nor an error. */
static void f03_a_machine_that_boots_offers_what_is_complete(void **state)
{
	(void)state;
	start(MACHINES "f03-partial-boot.txt", NULL,
	      CONFIGURATION(
		      RESOURCE("r", "\"selectors\":{\"ifNames\":[\"ens1f0np0\"]}") "," RESOURCE(
			      "s", "\"selectors\":{\"ifNames\":[\"ens1f1np1\"]}")));
	await_list(LIST("r", 0, 0));
	await_list(LIST("s", 0, 0));
	assert_said(0, "error:");
	fixture_apply(node->root, "uverbs 0000:3b:00.0 0 mlx5_0\n");
	await_list(LIST("r", 2, 2));
	fixture_apply(node->root, "uverbs 0000:3b:00.1 1 mlx5_1\n");
	await_list(LIST("s", 2, 2));
	node_command(node, "allocate rdma/s 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs1")));
	assert_said(0, "error:");
	stop();
}

#define ALL_NODES "\"charDevices\":{\"umad\":true,\"issm\":true}," ALL

static void f04_who_needs_issm_is_told_where_it_is_missing(void **state)
{
	(void)state;
	start(MACHINES "f04-issm-subset.txt", NULL,
	      CONFIGURATION(RESOURCE("a", ALL) "," RESOURCE("b", ALL_NODES)));
	await_list(LIST("a", 2, 2));
	await_list(LIST("b", 2, 1));
	assert_said(
		1,
		"rdma/b: HCA '0000:98:00.0' is Unhealthy: files: issm for mlx5_1 port 1 missing");
	assert_said(0, "rdma/a: HCA '0000:98:00.0'");
	node_command(node, "allocate rdma/b 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("issm0") "," FILE("rdma_cm") "," FILE(
					"umad0") "," FILE("uverbs0")));
	stop();
}

/* The GUID of the interface is the port's, not the node's: it does not matter. */
static void f14_an_ipoib_interface_selects_its_adapter(void **state)
{
	(void)state;
	start(MACHINES "f14-ipoib-guid.txt", NULL,
	      CONFIGURATION(RESOURCE("r", "\"selectors\":{\"ifNames\":[\"ib0\"]}")));
	await_list(LIST("r", 2, 2));
	node_command(node, "allocate rdma/r 2 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0")));
	stop();
}

static void f18_a_port_that_was_never_up_counts_as_configured(void **state)
{
	(void)state;
	start(MACHINES "f01-roce-no-issm.txt",
	      "file sys/class/infiniband/mlx5_1/ports/1/state = 1: DOWN\n"
	      "file sys/class/infiniband/mlx5_1/ports/1/phys_state = 3: Disabled\n",
	      CONFIGURATION(RESOURCE("require", ALL) "," RESOURCE(
		      "assume", "\"health\":{\"initialState\":\"assume\"}," ALL)));
	await_list(LIST("require", 2, 1));
	await_list(LIST("assume", 2, 2));
	/* Twenty polls later: */
	fixture_apply(node->root, "pci 0000:fe:00.0 class=0x020000 vendor=0x15b3 device=0x1013\n");
	node_daemon_says(node, "0000:fe:00.0");
	assert_said(1, "rdma/require: HCA '0000:3b:00.1' is Unhealthy");
	assert_said(0, "rdma/assume: HCA '0000:3b:00.1' is Unhealthy");
	assert_int_equal(process_count(node->kubelet, LIST("require", 2, 2)), 0);
	stop();
}

static void f34_vfs_that_a_policy_keeps_down_are_healthy(void **state)
{
	(void)state;
	start(MACHINES "f34-vf-down-policy.txt", NULL,
	      CONFIGURATION("{\"resourceName\":\"vf\",\"mode\":\"exclusive\",\"selectors\":"
			    "{\"rootDevices\":[\"0000:12:00.0\"]}}"));
	await_list(LIST("vf", 2, 2));
	node_command(node, "allocate rdma/vf 2 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs1") "," FILE("uverbs2")));
	assert_said(1, "healthy although");
	assert_said(0, "Unhealthy");
	/* They follow the uplink. */
	fixture_write(node->root, "sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
	await_list(LIST("vf", 2, 0));
	fixture_write(node->root, "sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
	node_kubelet_says(node, LIST("vf", 2, 2));
	stop();
}

/* An adapter with a port of each link layer: each resource cares about its own. */
static void a_port_of_the_other_link_layer_helps_nobody(void **state)
{
	(void)state;
	start(MACHINES "f01-roce-no-issm.txt",
	      "port mlx5_0 2 ll=InfiniBand state=\"1: DOWN\" gid=none\n",
	      CONFIGURATION(
		      RESOURCE("eth", "\"selectors\":{\"linkTypes\":[\"ether\"]}") "," RESOURCE(
			      "ib", "\"selectors\":{\"linkTypes\":[\"infiniband\"]}")));
	await_list(LIST("eth", 2, 2));
	await_list(LIST("ib", 2, 0));
	assert_said(1,
		    "rdma/ib: HCA '0000:3b:00.0' is Unhealthy: link: no port of the linkTypes is "
		    "ACTIVE, although mlx5_0 port 1 is '4: ACTIVE'");
	stop();
}

#define TEST(function) cmocka_unit_test_teardown(function, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(f03_a_machine_that_boots_offers_what_is_complete),
		TEST(f04_who_needs_issm_is_told_where_it_is_missing),
		TEST(f14_an_ipoib_interface_selects_its_adapter),
		TEST(f18_a_port_that_was_never_up_counts_as_configured),
		TEST(a_port_of_the_other_link_layer_helps_nobody),
		TEST(f34_vfs_that_a_policy_keeps_down_are_healthy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
