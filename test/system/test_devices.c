/* SPDX-License-Identifier: Apache-2.0 */
/* Exclusive mode: devices themselves, with their NUMA nodes, for one pod each. */
#include "system/node.h"

#include <setjmp.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_and_buses_side_by_side),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
