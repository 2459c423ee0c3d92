/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters that are configured anew while the daemon runs: virtual functions in another
 * number, bonds, sub-functions and entities that come back under other ids. */
#include "system/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fixture.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"

#define ONE(members)                                                                               \
	"{\"periodicUpdateInterval\":1,\"configList\":[{\"resourceName\":\"r\"," members "}]}"
#define EXCLUSIVE(selectors) ONE("\"mode\":\"exclusive\",\"selectors\":{" selectors "}")
#define LIST(devices, healthy)                                                                     \
	"{\"event\":\"list\",\"resource\":\"rdma/r\",\"devices\":" #devices                        \
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

static void start(const char *machine, const char *resources)
{
	node = node_new(machine);
	node_resources(node, resources);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
}

static void stop(void)
{
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* Until a scan has seen what is there now pods may be refused. */
static void allocate(const char *answer)
{
	g_autofree char *pod = NULL;

	for (guint n = 0; pod == NULL || node_allocate(node, "rdma/r", 1, pod) == NULL; n++) {
		g_free(pod);
		pod = g_strdup_printf("pod-%u", n);
	}
	assert_true(process_has_said(node->kubelet, answer));
}

/* --- names --- */

#define RENAMED                                                                                    \
	"remove sys/class/infiniband/mlx5_0\n"                                                     \
	"remove sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/infiniband/mlx5_0\n"              \
	"ib 0000:3b:00.0 rocep59s0f0 ll=Ethernet ndev=ens1f0np0\n"                                 \
	"file sys/class/infiniband_verbs/uverbs0/ibdev = rocep59s0f0\n"

/* Between a new name and the scan that sees it no pod is refused that is not told names. */
static void a_renamed_rdma_device_is_given_at_once(void **state)
{
	(void)state;
	start(MACHINES "f01-roce-no-issm.txt",
	      "{\"periodicUpdateInterval\":0,\"configList\":[{\"resourceName\":\"r\","
	      "\"selectors\":{\"ifNames\":[\"ens1f0np0\"]}}]}");
	node_kubelet_says(node, LIST(1, 1));
	fixture_apply(node->root, RENAMED);
	node_command(node, "allocate rdma/r 1 a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0")));
	stop();
}

/* --- virtual functions --- */

#define PF_DIR "sys/devices/pci0000:00/0000:12:00.0"
#define NO_VF(n)                                                                                   \
	"remove sys/class/infiniband/mlx5_" n "\nremove sys/class/infiniband_verbs/uverbs" n "\n"  \
	"remove sys/class/infiniband_mad/umad" n "\nremove sys/bus/pci/devices/0000:12:00." n "\n" \
	"remove sys/devices/pci0000:00/0000:12:00." n "\n"
#define NO_VFS                                                                                     \
	NO_VF("1")                                                                                 \
	NO_VF("2")                                                                                 \
	NO_VF("3")                                                                                 \
	"remove sys/class/net/ibs1v0\nremove " PF_DIR "/virtfn0\nremove " PF_DIR "/virtfn1\n"      \
	"remove " PF_DIR "/virtfn2\nfile " PF_DIR "/sriov_numvfs = 0\n"
/* VF n - 1, at another number than before. */
#define VF(n, index, number)                                                                       \
	"pci 0000:12:00." n " class=0x020700 device=0x101c driver=mlx5_core numa=0\n"              \
	"vf 0000:12:00." n " 0000:12:00.0 " index "\nnet 0000:12:00." n " ibs1v" index             \
	" type=32\nib 0000:12:00." n " mlx5_" number "\nuverbs 0000:12:00." n " " number           \
	" mlx5_" number "\n"
#define FOUR_VFS                                                                                   \
	"file " PF_DIR "/sriov_numvfs = 4\n" VF("1", "0", "7") VF("2", "1", "6") VF("3", "2", "5") \
		VF("4", "3", "4")

/* There are none for a moment, and the physical function never stands in for them. */
static void virtual_functions_are_made_anew_in_another_number(void **state)
{
	(void)state;
	start(MACHINES "f05-vf-netdev-in-pod.txt", EXCLUSIVE("\"pfNames\":[\"ibs1\"]"));
	node_kubelet_says(node, LIST(3, 3));
	fixture_apply(node->root, NO_VFS);
	node_kubelet_says(node, LIST(3, 0));
	node_daemon_says(node, "gives away virtual functions of it");
	fixture_apply(node->root, FOUR_VFS);
	node_await_allocatable(node, "rdma/r", 4);
	node_command(node, "resources");
	node_kubelet_says(node, "{\"event\":\"resource\",\"name\":\"rdma/r\",\"capacity\":4}");
	allocate(ALLOCATED(FILE("rdma_cm") "," FILE("uverbs7")));
	stop();
}

/* --- bonds --- */

#define CARD "sys/devices/pci0000:00/0000:17:00."
#define TWO_PORTS                                                                                  \
	"netns Y\nrdma_cm\n"                                                                       \
	"pci 0000:17:00.0 device=0x101d driver=mlx5_core numa=0\n"                                 \
	"pci 0000:17:00.1 device=0x101d driver=mlx5_core numa=0\n"                                 \
	"net 0000:17:00.0 ens1f0 port_name=p0\nnet 0000:17:00.1 ens1f1 port_name=p1\n"
#define APART                                                                                      \
	"ib 0000:17:00.0 mlx5_0 ll=Ethernet ndev=ens1f0\n"                                         \
	"ib 0000:17:00.1 mlx5_1 ll=Ethernet ndev=ens1f1\n"                                         \
	"uverbs 0000:17:00.0 0 mlx5_0\nuverbs 0000:17:00.1 1 mlx5_1\n"
#define NO_RDMA(n, name)                                                                           \
	"remove sys/class/infiniband/" name "\nremove sys/class/infiniband_verbs/uverbs" n "\n"    \
	"remove " CARD n "/infiniband\nremove " CARD n "/infiniband_verbs\n"
#define BOND                                                                                       \
	NO_RDMA("0", "mlx5_0")                                                                     \
	NO_RDMA("1", "mlx5_1")                                                                     \
	"bond bond0 ens1f0 ens1f1\nib 0000:17:00.0 mlx5_bond_0 ll=Ethernet ndev=bond0\n"           \
	"uverbs 0000:17:00.0 0 mlx5_bond_0\n"
#define FREE(n, name)                                                                              \
	"remove " CARD n "/net/" name "/master\nremove " CARD n "/net/" name "/bonding_slave\n"
#define NO_BOND                                                                                    \
	NO_RDMA("0", "mlx5_bond_0")                                                                \
	FREE("0", "ens1f0")                                                                        \
	FREE("1", "ens1f1")                                                                        \
	"remove sys/class/net/bond0\nremove sys/devices/virtual/net/bond0\n" APART

/* The driver takes both RDMA devices away and makes one for both ports, and back. */
static void a_bond_is_made_and_broken(void **state)
{
	static const struct {
		const char *resources, *apart, *bonded;
	} rows[] = {
		{ONE("\"rdmaHcaMax\":4,\"selectors\":{\"ifNames\":[\"ens1f0\",\"ens1f1\"]}"),
		 LIST(4, 4), LIST(4, 3)},
		{EXCLUSIVE("\"ifNames\":[\"ens1f0\",\"ens1f1\"]"), LIST(2, 2), LIST(2, 1)},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		start(TWO_PORTS APART, rows[i].resources);
		node_kubelet_says(node, rows[i].apart);
		fixture_apply(node->root, BOND);
		node_kubelet_says(node, rows[i].bonded);
		allocate(ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0")));
		fixture_apply(node->root, NO_BOND);
		node_kubelet_says(node, rows[i].apart);
		stop();
		g_clear_pointer(&node, node_free);
	}
}

/* --- ids that others get --- */

#define SF_DIR "sys/devices/pci0000:00/0000:3b:00.0/mlx5_core.sf."
#define SUBFUNCTION(n)                                                                             \
	"aux mlx5_core.sf." n " 0000:3b:00.0 sfnum=88 driver=mlx5_core.sf\n"                       \
	"net mlx5_core.sf." n " s88\nib mlx5_core.sf." n " mlx5_" n " ll=Ethernet ndev=s88\n"      \
	"uverbs mlx5_core.sf." n " " n " mlx5_" n "\n"
#define NO_SUBFUNCTION(n)                                                                          \
	"remove sys/class/infiniband/mlx5_" n "\nremove sys/class/infiniband_verbs/uverbs" n "\n"  \
	"remove sys/class/net/s88\nremove sys/bus/auxiliary/devices/mlx5_core.sf." n "\n"          \
	"remove " SF_DIR n "\n"

static void a_subfunction_comes_back_under_another_name(void **state)
{
	(void)state;
	start("netns Y\nrdma_cm\npci 0000:3b:00.0 device=0x101d driver=mlx5_core\n"
	      "net 0000:3b:00.0 ens1f0\n" SUBFUNCTION("2"),
	      EXCLUSIVE("\"pfNames\":[\"ens1f0#88\"]"));
	node_kubelet_says(node, LIST(1, 1));
	fixture_apply(node->root, NO_SUBFUNCTION("2"));
	node_kubelet_says(node, LIST(1, 0));
	fixture_apply(node->root, SUBFUNCTION("7"));
	node_kubelet_says(node, LIST(2, 1));
	allocate(ALLOCATED(FILE("rdma_cm") "," FILE("uverbs7")));
	stop();
}

#define ENTITY(id, guid, n)                                                                        \
	"ub " id " vendor=0xcc08 device=0x8200 guid=" guid " driver=hisdk5\nnet " id " ens" n "\n" \
	"ib " id " hrn5_" n " ll=Ethernet ndev=ens" n "\nuverbs " id " " n " hrn5_" n "\n"
#define NO_ENTITY(id, n)                                                                           \
	"remove sys/class/infiniband/hrn5_" n "\nremove sys/class/infiniband_verbs/uverbs" n "\n"  \
	"remove sys/class/net/ens" n "\nremove sys/bus/ub/devices/" id "\n"                        \
	"remove sys/devices/ub0/" id "\n"
#define GUID_A "cc08-8200-0-1-000000-000000000000000a"
#define GUID_B "cc08-8200-0-1-000000-000000000000000b"

/* The bus is enumerated again without the first one: the second gets its number. */
static void an_entity_gets_the_number_of_another(void **state)
{
	(void)state;
	start("netns Y\nrdma_cm\n" ENTITY("0000f", GUID_A, "0") ENTITY("00010", GUID_B, "1"),
	      EXCLUSIVE("\"buses\":[\"ub\"]"));
	node_kubelet_says(node, LIST(2, 2));
	fixture_apply(node->root,
		      NO_ENTITY("0000f", "0") NO_ENTITY("00010", "1") ENTITY("0000f", GUID_B, "0"));
	node_await_allocatable(node, "rdma/r", 1);
	allocate("{\"event\":\"allocated\",\"envs\":{\"PCIDEVICE_RDMA_R\":\"" GUID_B "\"},"
		 "\"devices\":[" FILE("rdma_cm") "," FILE("uverbs0") "]}");
	stop();
}

#define TEST(function) cmocka_unit_test_teardown(function, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_renamed_rdma_device_is_given_at_once),
		TEST(virtual_functions_are_made_anew_in_another_number),
		TEST(a_bond_is_made_and_broken),
		TEST(a_subfunction_comes_back_under_another_name),
		TEST(an_entity_gets_the_number_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
