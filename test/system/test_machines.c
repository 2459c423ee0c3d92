/* SPDX-License-Identifier: Apache-2.0 */
/* Real machines and the configurations that people use on them: what the kubelet gets to
 * see, and which files a container gets. With real device nodes when run as root. */
#include "system/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/json_match.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"

/* A Kunpeng node with two ports of one adapter, named as in the field. */
#define HUAWEI_PCI                                                                                 \
	"netns Y\nrdma_cm\n"                                                                       \
	"pci 0000:17:00.0 class=0x020000 vendor=0x19e5 device=0x0222 driver=hisdk3 numa=0\n"       \
	"net 0000:17:00.0 enp23s0f0\nib 0000:17:00.0 hrn0_0 ll=Ethernet ndev=enp23s0f0\n"          \
	"uverbs 0000:17:00.0 0 hrn0_0\n"                                                           \
	"pci 0000:17:00.1 class=0x020000 vendor=0x19e5 device=0x0222 driver=hisdk3 numa=0\n"       \
	"net 0000:17:00.1 enp23s0f1\nib 0000:17:00.1 hrn0_1 ll=Ethernet ndev=enp23s0f1\n"          \
	"uverbs 0000:17:00.1 1 hrn0_1\n"                                                           \
	"pci 0000:18:00.0 class=0x020000 vendor=0x19e5 device=0x0222 driver=hisdk3 numa=0\n"       \
	"net 0000:18:00.0 enp24s0f0\nib 0000:18:00.0 hrn0_2 ll=Ethernet ndev=enp24s0f0\n"          \
	"uverbs 0000:18:00.0 2 hrn0_2\n"

static const struct {
	const char *name, *machine, *config, *resource;
	int devices, healthy;
	const char *files; /* of an allocation, below /dev/infiniband */
	const char *unsaid; /* what no line of the daemon's log may have; or NULL */
} cases[] = {
	{"F01, all functions", MACHINES "f01-roce-no-issm.txt",
	 "{\"configList\":[{\"resourceName\":\"r\",\"rdmaHcaMax\":2,\"selectors\":"
	 "{\"vendors\":[\"15b3\"]}}]}",
	 "rdma/r", 2, 2, "rdma_cm uverbs0 uverbs1", "5e:00.0"},
	{"F01, one interface", MACHINES "f01-roce-no-issm.txt",
	 "{\"configList\":[{\"resourceName\":\"r\",\"rdmaHcaMax\":1000,\"selectors\":"
	 "{\"ifNames\":[\"ens1f1np1\"]}}]}",
	 "rdma/r", 1000, 1000, "rdma_cm uverbs1", NULL},
	{"F01, umad asked for", MACHINES "f01-roce-no-issm.txt",
	 "{\"configList\":[{\"resourceName\":\"r\",\"rdmaHcaMax\":2,\"charDevices\":{\"umad\":true}"
	 ","
	 "\"selectors\":{\"vendors\":[\"15b3\"]}}]}",
	 "rdma/r", 2, 2, "rdma_cm umad0 umad1 uverbs0 uverbs1", NULL},
	{"ConnectX-3 beside a Xeon Phi", MACHINES "connectx3-scif.txt",
	 "{\"configList\":[{\"resourceName\":\"hca_shared_devices_a\",\"rdmaHcaMax\":4,"
	 "\"selectors\":{\"vendors\":[\"15b3\"],\"deviceIDs\":[\"1003\"]}}]}",
	 "rdma/hca_shared_devices_a", 4, 4, "rdma_cm uverbs0", NULL},
	{"ConnectX-3 by the peer's old key", MACHINES "connectx3-scif.txt",
	 "{\"configList\":[{\"resourceName\":\"shared_ib0\",\"rdmaHcaMax\":3,"
	 "\"devices\":[\"ib0\"]}]}",
	 "rdma/shared_ib0", 3, 3, "rdma_cm uverbs0", NULL},
	{"E810 by the name of its RDMA driver", MACHINES "f15-e810.txt",
	 "{\"configList\":[{\"resourceName\":\"r\",\"selectors\":{\"vendors\":[\"8086\"],"
	 "\"deviceIDs\":[\"159b\"],\"drivers\":[\"irdma\"],\"linkTypes\":[\"ethernet\"]}}]}",
	 "rdma/r", 4, 4, "rdma_cm uverbs0 uverbs1 uverbs2 uverbs3", NULL},
	{"UB, seven entities", MACHINES "ub-a11.txt",
	 "{\"configList\":[{\"resourceName\":\"ub_rdma\",\"rdmaHcaMax\":2,\"resourcePrefix\":"
	 "\"huawei.com\",\"selectors\":{\"buses\":[\"ub\"],\"drivers\":[\"hisdk5\"],"
	 "\"vendors\":[\"cc08\"]}}]}",
	 "huawei.com/ub_rdma", 2, 2, "rdma_cm uverbs0 uverbs1", NULL},
	{"Huawei's example for PCI", HUAWEI_PCI,
	 "{\"periodicUpdateInterval\":300,\"configList\":[{\"resourceName\":\"rdma_shared\","
	 "\"resourcePrefix\":\"huawei.com\",\"rdmaHcaMax\":8,\"selectors\":{\"vendors\":[\"19e5\"],"
	 "\"ifNames\":[\"enp23s0f0\",\"enp23s0f1\"]}}]}",
	 "huawei.com/rdma_shared", 8, 8, "rdma_cm uverbs0 uverbs1", NULL},
	{"Huawei's example for UB", MACHINES "ub-a11.txt",
	 "{\"configList\":[{\"resourceName\":\"ub_rdma\",\"resourcePrefix\":\"huawei.com\","
	 "\"selectors\":{\"buses\":[\"ub\"],\"vendors\":[\"cc08\"],\"deviceIDs\":[\"8200\"]}}]}",
	 "huawei.com/ub_rdma", 1, 1, "rdma_cm uverbs0", NULL},
	{"the same with 0x", MACHINES "ub-a11.txt",
	 "{\"configList\":[{\"resourceName\":\"ub_rdma\",\"resourcePrefix\":\"huawei.com\","
	 "\"selectors\":{\"buses\":[\"ub\"],\"vendors\":[\"0xcc08\"],\"deviceIDs\":[\"0x8200\"]}}]"
	 "}",
	 "huawei.com/ub_rdma", 1, 1, "rdma_cm uverbs0", NULL},
};

/* The pattern of an "allocated" event with exactly these files. */
static char *allocated_pattern(const char *files)
{
	g_auto(GStrv) names = g_strsplit(files, " ", -1);
	GString *text = g_string_new("{\"event\":\"allocated\",\"mounts\":[],\"envs\":{},"
				     "\"annotations\":{},\"devices\":[");
	for (gsize i = 0; names[i]; i++)
		g_string_append_printf(text,
				       "%s{\"host\":\"/dev/infiniband/%s\",\"container\":"
				       "\"/dev/infiniband/%s\",\"permissions\":\"rw\"}",
				       i > 0 ? "," : "", names[i], names[i]);
	g_string_append(text, "]}");
	return g_string_free(text, FALSE);
}

static void run_case(gsize i)
{
	struct node *node = node_new(cases[i].machine);
	g_autofree char *list = g_strdup_printf(
		"{\"event\":\"list\",\"resource\":\"%s\",\"devices\":%d,\"healthy\":%d}",
		cases[i].resource, cases[i].devices, cases[i].healthy);
	g_autofree char *allocated = allocated_pattern(cases[i].files);
	print_message("%s\n", cases[i].name);
	node_resources(node, cases[i].config);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, list);
	node_command(node, "allocate %s 1 pod-a", cases[i].resource);
	node_kubelet_says(node, allocated);
	/* Whatever the slot: the same files. */
	if (cases[i].devices > 1) {
		node_command(node, "allocate %s %d pod-b", cases[i].resource, cases[i].devices - 1);
		node_kubelet_says(node, allocated);
	}
	if (cases[i].unsaid)
		assert_false(process_has_said(node->daemon, cases[i].unsaid));
	assert_int_equal(process_count(node->daemon, "error:"), 0);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

static void machines_are_offered_as_configured(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		run_case(i);
}

/* What the machine has beside the device that is asked for is none of anybody's business,
 * but what was asked for and cannot be used is said. */
static void entities_that_cannot_be_used_are_said(void **state)
{
	struct node *node = node_new(MACHINES "ub-a11.txt");
	(void)state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"r\",\"rdmaHcaMax\":2,"
			     "\"selectors\":{\"buses\":[\"ub\"],\"deviceIDs\":[\"8200\"]}}]}");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, "{\"event\":\"list\",\"healthy\":2}");
	assert_true(process_has_said(node->daemon, "00012"));
	assert_true(process_has_said(node->daemon, "vfio-ub"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_are_offered_as_configured),
		cmocka_unit_test(entities_that_cannot_be_used_are_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
