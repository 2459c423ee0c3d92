/* SPDX-License-Identifier: Apache-2.0 */
/* Exclusive mode: devices themselves, with their NUMA nodes, for one pod each. */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"
#include "support/json_match.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"
#define TWO_SOCKETS MACHINES "two-sockets.txt"

/* "name uverbs…" -> what the kubelet's event says of the files. */
static char *files_pattern(const char *files)
{
	g_auto(GStrv) names = g_strsplit(files, " ", -1);
	GString *text = g_string_new("\"devices\":[");
	for (gsize i = 0; names[i]; i++)
		g_string_append_printf(text,
				       "%s{\"host\":\"/dev/infiniband/%s\",\"container\":"
				       "\"/dev/infiniband/%s\",\"permissions\":\"rw\"}",
				       i > 0 ? "," : "", names[i], names[i]);
	g_string_append_c(text, ']');
	return g_string_free(text, FALSE);
}

/* Allocates and expects these files and variables. */
static void expect_allocation(const struct node *node, const char *command, const char *files,
			      const char *envs)
{
	g_autofree char *file_list = files_pattern(files);
	g_autofree char *pattern =
		g_strdup_printf("{\"event\":\"allocated\",%s,\"envs\":%s}", file_list, envs);
	node_command(node, "%s", command);
	node_kubelet_says(node, pattern);
}

/* In whatever order they come. */
static void kubelet_has_said(const struct node *node, const char *pattern)
{
	if (!process_has_said(node->kubelet, pattern))
		node_kubelet_says(node, pattern);
}

/* --- everything at once --- */

#define ALL_KINDS                                                                                  \
	"{\"configList\":["                                                                        \
	"{\"resourceName\":\"vf\",\"mode\":\"exclusive\",\"selectors\":"                           \
	"{\"pfNames\":[\"ens1f0np0\",\"ens2f0np0#0\",\"ens3f0np0\"]}},"                            \
	"{\"resourceName\":\"bonded-hca\",\"resourcePrefix\":\"example.com\","                     \
	"\"mode\":\"exclusive\",\"env\":{\"hcaList\":\"NCCL_IB_HCA\"},"                            \
	"\"selectors\":{\"rdmaDevices\":[\"mlx5_bond_*\"]}},"                                      \
	"{\"resourceName\":\"shared\",\"rdmaHcaMax\":3,\"selectors\":"                             \
	"{\"rootDevices\":[\"0000:b9:00.0\"]}},"                                                   \
	"{\"resourceName\":\"ub\",\"resourcePrefix\":\"huawei.com\",\"mode\":\"exclusive\","       \
	"\"topology\":false,\"selectors\":{\"buses\":[\"ub\"]}}]}"

#define ON_NODE(id, node) "{\"id\":\"" id "\",\"health\":\"Healthy\",\"nodes\":[" node "]}"
#define NOWHERE(id) "{\"id\":\"" id "\",\"health\":\"Healthy\"}"

static const char *const all_lists[] = {
	"{\"event\":\"list\",\"resource\":\"rdma/vf\",\"list\":[" ON_NODE(
		"0000:19:00.2",
		"0") "," ON_NODE("0000:19:00.3",
				 "0") "," ON_NODE("0000:1a:00.2",
						  "0") "," ON_NODE("0000:99:00.2",
								   "1") "," ON_NODE("0000:99:00.3",
										    "1") "]}",
	"{\"event\":\"list\",\"resource\":\"example.com/bonded-hca\",\"list\":[" ON_NODE(
		"0000:3b:00.0", "0") "," ON_NODE("0000:d8:00.0", "1") "]}",
	"{\"event\":\"list\",\"resource\":\"rdma/shared\",\"list\":[" NOWHERE(
		"rdma/shared-0") "," NOWHERE("rdma/shared-1") "," NOWHERE("rdma/shared-2") "]}",
	"{\"event\":\"list\",\"resource\":\"huawei.com/ub\",\"list\":[" NOWHERE(
		"cc08-8200-0-1-000000-000000000000000f") "," NOWHERE("cc08-8201-0-1-000000-"
								     "0000000000000010") "]}",
};

#define UB_ID "cc08-8200-0-1-000000-000000000000000f"

static void modes_and_buses_side_by_side(void **state)
{
	struct node *node = node_new(TWO_SOCKETS);
	(void)state;
	node_resources(node, ALL_KINDS);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	for (gsize i = 0; i < G_N_ELEMENTS(all_lists); i++)
		kubelet_has_said(node, all_lists[i]);
	expect_allocation(node, "allocate rdma/vf 1 a 1", "rdma_cm uverbs7",
			  "{\"PCIDEVICE_RDMA_VF\":\"0000:99:00.2\",\"PCIDEVICE_RDMA_VF_INFO\":"
			  "\"{\\\"0000:99:00.2\\\":{\\\"generic\\\":{\\\"deviceID\\\":"
			  "\\\"0000:99:00.2\\\"},\\\"rdma\\\":{\\\"rdma_cm\\\":"
			  "\\\"/dev/infiniband/rdma_cm\\\",\\\"rdma_dev\\\":\\\"mlx5_7\\\","
			  "\\\"uverbs\\\":\\\"/dev/infiniband/uverbs7\\\"}}}\"}");
	expect_allocation(node, "allocate rdma/vf 3 b", "rdma_cm uverbs1 uverbs2 uverbs4",
			  "{\"PCIDEVICE_RDMA_VF\":\"0000:19:00.2,0000:19:00.3,0000:1a:00.2\"}");
	expect_allocation(node, "allocate example.com/bonded-hca 2 c", "rdma_cm uverbs12 uverbs13",
			  "{\"NCCL_IB_HCA\":\"mlx5_bond_0,mlx5_bond_1\","
			  "\"PCIDEVICE_EXAMPLE_COM_BONDED-HCA\":\"0000:3b:00.0,0000:d8:00.0\","
			  "\"PCIDEVICE_EXAMPLE_COM_BONDED_HCA\":\"0000:3b:00.0,0000:d8:00.0\"}");
	expect_allocation(node, "allocate rdma/shared 1 d", "rdma_cm uverbs10 uverbs11", "{}");
	expect_allocation(node, "allocate huawei.com/ub 1 e", "rdma_cm uverbs14",
			  "{\"PCIDEVICE_HUAWEI_COM_UB\":\"" UB_ID "\"}");
	assert_int_equal(process_count(node->daemon, "error:"), 0);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

/* --- topology policies --- */

#define ALL_VFS                                                                                    \
	"{\"configList\":[{\"resourceName\":\"vf\",\"mode\":\"exclusive\",\"selectors\":"          \
	"{\"deviceIDs\":[\"101e\"]}}]}"

/* What pods that ask for so many one after the other get: the PCI addresses without
 * "0000:" and ":00", or "-" if it is rejected. There are four on each node: 19.2 19.3 1a.2
 * 1a.3 behind one switch, and 99.2 99.3, b9.2 b9.3 of different PCIe roots. */
static const struct {
	const char *policy;
	int wanted[4];
	const char *given[4];
} policies[] = {
	{"none", {2, 2, 3}, {"19.2,19.3", "1a.2,1a.3", "99.2,99.3,b9.2"}},
	{"best-effort", {3, 3, 2}, {"19.2,19.3,1a.2", "99.2,99.3,b9.2", "1a.3,b9.3"}},
	{"restricted", {3, 3, 2, 1}, {"19.2,19.3,1a.2", "99.2,99.3,b9.2", "-", "1a.3"}},
	{"single-numa-node", {3, 5, 4}, {"19.2,19.3,1a.2", "-", "99.2,99.3,b9.2,b9.3"}},
	{"restricted", {6, 2}, {"19.2,19.3,1a.2,1a.3,99.2,99.3", "b9.2,b9.3"}},
};

static char *addresses(const char *given)
{
	g_auto(GStrv) parts = g_strsplit(given, ",", -1);
	GString *text = g_string_new(NULL);
	for (gsize i = 0; parts[i]; i++)
		g_string_append_printf(text, "%s0000:%.2s:00%s", i > 0 ? "," : "", parts[i],
				       parts[i] + 2);
	return g_string_free(text, FALSE);
}

static void expect_given(const struct node *node, int wanted, const char *given)
{
	g_autofree char *ids = addresses(given);
	g_autofree char *pattern = g_strdup_printf(
		"{\"event\":\"allocated\",\"envs\":{\"PCIDEVICE_RDMA_VF\":\"%s\"}}", ids);
	node_command(node, "allocate rdma/vf %d", wanted);
	node_kubelet_says(node, *given == '-' ? "{\"reason\":\"TopologyAffinityError\"}" : pattern);
}

static void run_policy(gsize i, const char *profile)
{
	struct node *node = node_new(TWO_SOCKETS);
	const char *const options[] = {"--topology-policy", policies[i].policy, "--profile",
				       profile, NULL};
	node_resources(node, ALL_VFS);
	node_start_kubelet(node, options);
	node_start_daemon(node);
	node_kubelet_says(node, "{\"event\":\"list\",\"healthy\":8}");
	for (gsize j = 0; j < 4 && policies[i].given[j]; j++)
		expect_given(node, policies[i].wanted[j], policies[i].given[j]);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

static void devices_are_given_as_the_policy_wants(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(policies); i++) {
		run_policy(i, "1.25");
		run_policy(i, "1.36");
	}
}

/* --- devices in pods --- */

#define VFS_OF_IBS1                                                                                \
	"{\"configList\":[{\"resourceName\":\"vf\",\"mode\":\"exclusive\",\"selectors\":"          \
	"{\"pfNames\":[\"ibs1\"],\"linkTypes\":[\"infiniband\"]}},"                                \
	"{\"resourceName\":\"other\",\"mode\":\"exclusive\",\"selectors\":"                        \
	"{\"deviceIDs\":[\"1021\"]}}]}"

/* Something that the next scan has to find, too: then it is known that there was one. */
#define ANOTHER                                                                                    \
	"pci 0000:55:00.0 class=0x020700 device=0x1021 driver=mlx5_core\n"                         \
	"ib 0000:55:00.0 mlx5_20\nuverbs 0000:55:00.0 20 mlx5_20\n"

#define THREE_VFS                                                                                  \
	"{\"event\":\"list\",\"resource\":\"rdma/vf\",\"list\":[" ON_NODE(                         \
		"0000:12:00.1", "0") "," ON_NODE("0000:12:00.2", "0") "," ON_NODE("0000:12:00.3",  \
										  "0") "]}"

static void start_with_three_vfs(struct node *node)
{
	process_mark(node->kubelet);
	node_start_daemon(node);
	node_kubelet_says(node, THREE_VFS);
}

/* F05: interfaces of VFs are in pods, at the first start and at the next. */
static void interfaces_in_pods_cost_no_device(void **state)
{
	struct node *node = node_new(MACHINES "f05-vf-netdev-in-pod.txt");
	(void)state;
	node_resources(node, VFS_OF_IBS1);
	node_start_kubelet(node, NULL);
	start_with_three_vfs(node);
	node_stop_daemon(node);
	start_with_three_vfs(node);
	expect_allocation(node, "allocate rdma/vf 3 a", "rdma_cm uverbs1 uverbs2 uverbs3",
			  "{\"PCIDEVICE_RDMA_VF\":\"0000:12:00.1,0000:12:00.2,0000:12:00.3\"}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

/* What the second VF looks like while a pod has it, and when it has come back. */
#define INTO_POD                                                                                   \
	"remove sys/class/infiniband/mlx5_2\n"                                                     \
	"remove sys/devices/pci0000:00/0000:12:00.2/infiniband/mlx5_2\n"
#define OUT_OF_POD                                                                                 \
	"remove sys/class/infiniband_verbs/uverbs2\n"                                              \
	"remove sys/devices/pci0000:00/0000:12:00.2/infiniband_verbs/uverbs2\n"                    \
	"ib 0000:12:00.2 mlx5_9\nuverbs 0000:12:00.2 7 mlx5_9\n"

static void scan_again(struct node *node)
{
	process_signal(node->daemon, SIGHUP);
	node_daemon_says(node, "SIGHUP");
}

/* F06: with RDMA network namespaces of their own, RDMA devices go into pods, too, and come
 * back under other names and numbers. */
static void rdma_devices_in_pods_cost_no_device(void **state)
{
	struct node *node = node_new(MACHINES "f05-vf-netdev-in-pod.txt");
	(void)state;
	fixture_apply(node->root, "netns N\n");
	node_resources(node, VFS_OF_IBS1);
	node_start_kubelet(node, NULL);
	start_with_three_vfs(node);
	node_command(node, "allocate rdma/vf 3 a");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	fixture_apply(node->root, INTO_POD ANOTHER);
	scan_again(node);
	node_kubelet_says(node, "{\"event\":\"list\",\"resource\":\"rdma/other\",\"healthy\":1}");
	node_command(node, "resources");
	node_kubelet_says(node, "{\"event\":\"resource\",\"name\":\"rdma/vf\",\"capacity\":3,"
				"\"allocatable\":3}");
	/* the daemon starts again, and its devices are in pods */
	node_stop_daemon(node);
	start_with_three_vfs(node);
	node_command(node, "free a");
	fixture_apply(node->root, OUT_OF_POD);
	scan_again(node);
	node_daemon_says(node, "the character devices of '0000:12:00.2' have other numbers");
	/* Without a delay, a poll may have looked at the old numbers before that. */
	node_await_allocatable(node, "rdma/vf", 3);
	expect_allocation(node, "allocate rdma/vf 3 b", "rdma_cm uverbs1 uverbs3 uverbs7",
			  "{\"PCIDEVICE_RDMA_VF\":\"0000:12:00.1,0000:12:00.2,0000:12:00.3\"}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

#define WITHOUT_POLLS "{\"faultDetectPeriod\":0,"

/* Before the scan that finds the new numbers nobody may be told that the old ones are gone. */
static void a_scan_that_is_asked_for_comes_before_health(void **state)
{
	struct node *node = node_new(MACHINES "f05-vf-netdev-in-pod.txt");
	g_autofree char *resources = g_strconcat(WITHOUT_POLLS, &VFS_OF_IBS1[1], NULL);
	(void)state;
	node_resources(node, resources);
	node_start_kubelet(node, NULL);
	start_with_three_vfs(node);
	fixture_apply(node->root, INTO_POD OUT_OF_POD);
	scan_again(node);
	node_daemon_says(node, "the character devices of '0000:12:00.2' have other numbers");
	expect_allocation(node, "allocate rdma/vf 3 a", "rdma_cm uverbs1 uverbs3 uverbs7",
			  "{\"PCIDEVICE_RDMA_VF\":\"0000:12:00.1,0000:12:00.2,0000:12:00.3\"}");
	node_stop_daemon(node);
	assert_false(process_has_said(node->kubelet, "{\"event\":\"list\",\"healthy\":2}"));
	node_stop_kubelet(node, 0);
	node_free(node);
}

/* The same when the daemon has never seen it elsewhere. */
static void a_device_in_a_pod_is_found_at_the_first_start(void **state)
{
	struct node *node = node_new(MACHINES "f06-vf-in-pod-exclusive.txt");
	(void)state;
	node_resources(node, VFS_OF_IBS1);
	node_start_kubelet(node, NULL);
	start_with_three_vfs(node);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

/* F30: neither names nor GUIDs tell them apart. */
static void devices_without_guid_are_two(void **state)
{
	struct node *node = node_new(MACHINES "f30-zero-guid.txt");
	(void)state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"vf\",\"mode\":\"exclusive\","
			     "\"selectors\":{\"vendors\":[\"15b3\"]}}]}");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, "{\"event\":\"list\",\"list\":[" NOWHERE(
					"0000:00:04.0") "," NOWHERE("0000:00:05.0") "]}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

/* --- what tells devices apart --- */

#define SUBFUNCTION(n, number)                                                                     \
	"aux mlx5_core.sf." n " 0000:3b:00.0 sfnum=" number " driver=mlx5_core.sf\n"               \
	"net mlx5_core.sf." n " s" number "\nib mlx5_core.sf." n " mlx5_" n " ll=Ethernet "        \
	"ndev=s" number "\nuverbs mlx5_core.sf." n " 1" n " mlx5_" n "\n"
#define SOFT(n)                                                                                    \
	"net virtual eth" n "\nib virtual rxe" n " guid=5054:00ff:fe00:000" n " ll=Ethernet "      \
	"parent=eth" n "\nuverbs virtual 2" n " rxe" n "\n"
#define ENTITY(id, guid, n)                                                                        \
	"ub " id " vendor=0xcc08 device=0x8200 class=0x0102 guid=" guid " driver=hisdk5\n"         \
	"net " id " ens0p" n "\nib " id " hrn5_" n " ll=Ethernet ndev=ens0p" n "\n"                \
	"uverbs " id " 3" n " hrn5_" n "\n"
#define OTHER_UB_ID "cc08-8200-0-1-000000-0000000000000010"
#define FIRST_OF_EACH                                                                              \
	ENTITY("0000f", UB_ID, "0")                                                                \
	SOFT("1") "pci 0000:3b:00.0 device=0x101d driver=mlx5_core\n" SUBFUNCTION("2", "88")
#define SECOND_OF_EACH ENTITY("00010", OTHER_UB_ID, "1") SOFT("2") SUBFUNCTION("3", "89")

#define GUID(name, text) "file sys/devices/" name " = " text "\n"
#define RUBBISH                                                                                    \
	GUID("ub0/0000f/guid", "\\x01\\x02")                                                       \
	GUID("virtual/infiniband/rxe1/node_guid", "-")                                             \
	GUID("pci0000:00/0000:3b:00.0/mlx5_core.sf.2/sfnum", "x")

/* In whatever order the resources tell theirs. */
static void expect_list(const struct node *node, const char *name, int healthy, const char *list)
{
	g_autofree char *pattern = g_strdup_printf(
		"{\"event\":\"list\",\"resource\":\"rdma/%s\",\"healthy\":%d,\"list\":%s}", name,
		healthy, list);
	while (!process_has_said(node->kubelet, pattern))
		node_kubelet_says(node, "{\"event\":\"list\"}");
}

/* Unreadable for a moment: no other device, no other id, nobody Unhealthy. Each bus gets
 * another device, which shows that the rubbish was seen. */
static void what_identifies_a_device_may_be_unreadable(void **state)
{
	static const struct {
		const char *name, *selectors, *first, *both;
	} resources[] = {
		{"ub", "\"buses\":[\"ub\"]", "[{\"id\":\"" UB_ID "\"}]",
		 "[{\"id\":\"" UB_ID "\"},"
		 "{\"id\":\"" OTHER_UB_ID "\"}]"},
		{"soft", "\"buses\":[\"soft\"]", "[{\"id\":\"5054:00ff:fe00:0001\"}]",
		 "[{\"id\":\"5054:00ff:fe00:0001\"},{\"id\":\"5054:00ff:fe00:0002\"}]"},
		{"sf", "\"rdmaDevices\":[\"mlx5_*\"]", "[{\"id\":\"mlx5_core.sf.2\"}]",
		 "[{\"id\":\"mlx5_core.sf.2\"},{\"id\":\"mlx5_core.sf.3\"}]"},
	};
	struct node *node = node_new("netns Y\nrdma_cm\n" FIRST_OF_EACH);
	GString *config = g_string_new("{\"periodicUpdateInterval\":1,\"configList\":[");
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(resources); i++)
		g_string_append_printf(config,
				       "%s{\"resourceName\":\"%s\",\"mode\":\"exclusive\","
				       "\"selectors\":{%s}}",
				       i > 0 ? "," : "", resources[i].name, resources[i].selectors);
	g_string_append(config, "]}");
	node_resources(node, config->str);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	for (gsize i = 0; i < G_N_ELEMENTS(resources); i++)
		expect_list(node, resources[i].name, 1, resources[i].first);
	fixture_apply(node->root, RUBBISH SECOND_OF_EACH);
	for (gsize i = 0; i < G_N_ELEMENTS(resources); i++)
		expect_list(node, resources[i].name, 2, resources[i].both);
	assert_false(process_has_said(node->daemon, "Unhealthy"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
	g_string_free(config, TRUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_and_buses_side_by_side),
		cmocka_unit_test(devices_are_given_as_the_policy_wants),
		cmocka_unit_test(interfaces_in_pods_cost_no_device),
		cmocka_unit_test(rdma_devices_in_pods_cost_no_device),
		cmocka_unit_test(a_scan_that_is_asked_for_comes_before_health),
		cmocka_unit_test(a_device_in_a_pod_is_found_at_the_first_start),
		cmocka_unit_test(devices_without_guid_are_two),
		cmocka_unit_test(what_identifies_a_device_may_be_unreadable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
