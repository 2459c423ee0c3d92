/* SPDX-License-Identifier: Apache-2.0 */
/* What users of other plugins have complained of, in exclusive mode: their machines, and
 * what they wanted. test/README.md says which complaint is which. */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"
#define EXCLUSIVE(more)                                                                            \
	"{\"configList\":[{\"resourceName\":\"vf\",\"mode\":\"exclusive\"," more "}]}"
#define SELECTED(selectors) EXCLUSIVE("\"selectors\":{" selectors "}")

#define LONG_NAME "a-name-of-63-characters-is-the-longest-that-the-kernel-allows-x"

/* An RDMA function and its uverbs. */
#define RDMA(id, words, name, n)                                                                   \
	"pci " id " device=0x101e driver=mlx5_core " words "\nib " id " " name " ll=Ethernet\n"    \
	"uverbs " id " " n " " name "\n"

static const struct {
	const char *complaint;
	const char *machine; /* a file, or the text */
	const char *changes; /* to the machine, or NULL */
	const char *config;
	const char *ids; /* all of them Healthy; "" none */
	const char *files; /* of a pod that gets all of them; NULL: none is started */
	const char *envs;
	const char *said[2]; /* by the daemon */
} cases[] = {
	{"62: functions without a driver, or with one for virtual machines or user space",
	 MACHINES "f01-roce-no-issm.txt",
	 "pci 0000:a1:00.0 device=0x101d driver=vfio-pci\n"
	 "pci 0000:a2:00.0 device=0x101d driver=uio_pci_generic\n"
	 "pci 0000:a3:00.0 device=0x101d driver=pci-stub\n"
	 "pci 0000:a4:00.0 device=0x101d\n",
	 SELECTED("\"deviceIDs\":[\"101d\"]"),
	 "0000:3b:00.0 0000:3b:00.1",
	 "rdma_cm uverbs0 uverbs1",
	 "{\"PCIDEVICE_RDMA_VF\":\"0000:3b:00.0,0000:3b:00.1\"}",
	 {"'0000:a1:00.0' is selected and cannot be used: bound to vfio-pci",
	  "'0000:a4:00.0' is selected and cannot be used: no driver is bound"}},
	{"72: RDMA devices that udev has renamed",
	 "netns Y\nrdma_cm\n" RDMA("0000:3b:00.0", "", "rocep59s0f0", "0") RDMA(
		 "0000:5e:00.0", "", LONG_NAME, "1") RDMA("0000:af:00.0", "", "ibp175s0-b", "2"),
	 NULL,
	 EXCLUSIVE("\"env\":{\"hcaList\":\"NCCL_IB_HCA\"},\"selectors\":{\"vendors\":[\"15b3\"]}"),
	 "0000:3b:00.0 0000:5e:00.0 0000:af:00.0",
	 "rdma_cm uverbs0 uverbs1 uverbs2",
	 "{\"NCCL_IB_HCA\":\"" LONG_NAME ",ibp175s0-b,rocep59s0f0\"}",
	 {NULL}},
	{"76: sub-functions",
	 MACHINES "subfunctions.txt",
	 NULL,
	 SELECTED("\"pfNames\":[\"ens1f0np0#88\"]"),
	 "mlx5_core.sf.2",
	 "rdma_cm uverbs1",
	 "{\"PCIDEVICE_RDMA_VF\":\"mlx5_core.sf.2\"}",
	 {NULL}},
	{"77: VFs in a virtual machine have no PF",
	 MACHINES "f30-zero-guid.txt",
	 NULL,
	 SELECTED("\"addresses\":[\"0000:00:05.0\"]"),
	 "0000:00:05.0",
	 "rdma_cm uverbs1",
	 "{\"PCIDEVICE_RDMA_VF\":\"0000:00:05.0\"}",
	 {NULL}},
	{"81: neither umad nor issm are there",
	 "netns Y\nrdma_cm\n" RDMA("0000:3b:00.0", "", "mlx5_0", "0"),
	 NULL,
	 SELECTED("\"vendors\":[\"15b3\"]"),
	 "0000:3b:00.0",
	 "rdma_cm uverbs0",
	 "{\"PCIDEVICE_RDMA_VF\":\"0000:3b:00.0\"}",
	 {NULL}},
	{"80, 66, 100: files and names of the allocated devices only, umad of the same ones",
	 MACHINES "two-sockets.txt",
	 NULL,
	 EXCLUSIVE("\"charDevices\":{\"umad\":true},\"env\":{\"hcaList\":\"NCCL_IB_HCA\"},"
		   "\"selectors\":{\"pfNames\":[\"ens1f0np0\"]}"),
	 "0000:19:00.2 0000:19:00.3",
	 "rdma_cm umad1 umad2 uverbs1 uverbs2",
	 "{\"PCIDEVICE_RDMA_VF\":\"0000:19:00.2,0000:19:00.3\",\"NCCL_IB_HCA\":"
	 "\"mlx5_1,mlx5_2\"}",
	 {NULL}},
	{"34, ACK: PCI domains other than 0000, of four digits and of more",
	 "netns Y\nrdma_cm\n" RDMA("0101:00:02.0", "", "mlx5_1", "1")
		 RDMA("0001:08:00.0", "", "mlx5_0", "0") RDMA("10000:e1:00.0", "", "mlx5_2", "2"),
	 NULL,
	 SELECTED("\"vendors\":[\"15b3\"]"),
	 "0001:08:00.0 0101:00:02.0 10000:e1:00.0",
	 "rdma_cm uverbs0 uverbs1 uverbs2",
	 "{\"PCIDEVICE_RDMA_VF\":\"0001:08:00.0,0101:00:02.0,10000:e1:00.0\"}",
	 {"discovered RDMA device: mlx5_0 (PCI=0001:08:00.0, NUMA=", NULL}},
	{"35: InfiniBand without an interface",
	 "netns Y\nrdma_cm\npci 0000:3b:00.0 class=0x020700 device=0x101b driver=mlx5_core\n"
	 "ib 0000:3b:00.0 mlx5_0\nuverbs 0000:3b:00.0 0 mlx5_0\n",
	 NULL,
	 SELECTED("\"linkTypes\":[\"infiniband\"]"),
	 "0000:3b:00.0",
	 "rdma_cm uverbs0",
	 "{\"PCIDEVICE_RDMA_VF\":\"0000:3b:00.0\"}",
	 {NULL}},
	{"27: a PF's name is no prefix",
	 MACHINES "two-sockets.txt",
	 NULL,
	 SELECTED("\"pfNames\":[\"ens1f0\"]"),
	 "",
	 NULL,
	 NULL,
	 {"offers nothing: pfNames ens1f0 match no device", NULL}},
	{"77: pfNames finds nothing where there is no PF",
	 MACHINES "f30-zero-guid.txt",
	 NULL,
	 SELECTED("\"pfNames\":[\"ens3\"]"),
	 "",
	 NULL,
	 NULL,
	 {"offers nothing: pfNames ens3 match no device", NULL}},
	{"32: an interface without RDMA",
	 "netns Y\nrdma_cm\npci 0000:00:03.0 vendor=0x1af4 device=0x1041 driver=virtio-pci\n"
	 "net 0000:00:03.0 eth0\n",
	 NULL,
	 SELECTED("\"vendors\":[\"1af4\"]"),
	 "",
	 NULL,
	 NULL,
	 {"offers nothing: its only HCA cannot be used: no RDMA device", NULL}},
	{"28, 30: the id of the PF, and the name of the RDMA driver",
	 MACHINES "two-sockets.txt",
	 NULL,
	 SELECTED("\"deviceIDs\":[\"101c\"],\"drivers\":[\"mlx5_ib\"]"),
	 "",
	 NULL,
	 NULL,
	 {"101d, 101e", NULL}},
};

/* "id id" -> a list in which they are, Healthy. */
static char *list_pattern(const char *ids)
{
	g_auto(GStrv) words = g_strsplit(ids, " ", -1);
	GString *text = g_string_new("{\"event\":\"list\",\"resource\":\"rdma/vf\",\"list\":[");

	for (gsize i = 0; words[i] != NULL; i++)
		g_string_append_printf(text, "%s{\"id\":\"%s\",\"health\":\"Healthy\"}",
				       i > 0 ? "," : "", words[i]);
	g_string_append(text, "]}");
	return g_string_free(text, FALSE);
}

static char *allocated_pattern(const char *files, const char *envs)
{
	g_auto(GStrv) names = g_strsplit(files, " ", -1);
	GString *text = g_string_new("{\"event\":\"allocated\",\"devices\":[");

	for (gsize i = 0; names[i] != NULL; i++)
		g_string_append_printf(text, "%s{\"host\":\"/dev/infiniband/%s\"}",
				       i > 0 ? "," : "", names[i]);
	g_string_append_printf(text, "],\"envs\":%s}", envs);
	return g_string_free(text, FALSE);
}

static guint n_words(const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);

	return *text != '\0' ? g_strv_length(words) : 0;
}

static void end(struct node *node)
{
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

static struct node *begin(const char *machine, const char *changes, const char *config)
{
	struct node *node = node_new(machine);

	if (changes != NULL)
		fixture_apply(node->root, changes);
	node_resources(node, config);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	return node;
}

static void run(gsize i)
{
	struct node *node = begin(cases[i].machine, cases[i].changes, cases[i].config);
	guint n = n_words(cases[i].ids);
	g_autofree char *list = list_pattern(cases[i].ids);

	node_kubelet_says(node, n > 0 ? list : "{\"event\":\"list\",\"devices\":0,\"healthy\":0}");
	for (gsize j = 0; j < G_N_ELEMENTS(cases[i].said) && cases[i].said[j] != NULL; j++)
		if (!process_has_said(node->daemon, cases[i].said[j]))
			node_daemon_says(node, cases[i].said[j]);
	if (cases[i].files != NULL) {
		g_autofree char *pattern = allocated_pattern(cases[i].files, cases[i].envs);

		node_command(node, "allocate rdma/vf %u", n);
		node_kubelet_says(node, pattern);
	}
	end(node);
}

static void complaints_are_no_more(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		print_message("%s\n", cases[i].complaint);
		run(i);
	}
}

/* --- that take more than one step --- */

static void scan_again(const struct node *node)
{
	process_signal(node->daemon, SIGHUP);
	node_daemon_says(node, "SIGHUP");
}

/* 87: an interface that gets another hardware address, and an HCA another GUID. */
static void ids_outlive_hardware_addresses(void **state)
{
	struct node *node = begin(MACHINES "f30-zero-guid.txt", NULL,
				  SELECTED("\"deviceIDs\":[\"1018\",\"101e\"]"));
	g_autofree char *list = list_pattern("0000:00:04.0 0000:00:05.0");
	g_autofree char *more = list_pattern("0000:00:04.0 0000:00:05.0 0000:55:00.0");

	(void)state;
	node_kubelet_says(node, list);
	fixture_write(node->root, "sys/class/net/ens4/address", "02:00:00:00:00:01");
	fixture_write(node->root, "sys/class/infiniband/mlx5_0/node_guid", "1122:3344:5566:7788");
	/* something that the scan has to find, too */
	fixture_apply(node->root, RDMA("0000:55:00.0", "", "mlx5_20", "20"));
	scan_again(node);
	node_kubelet_says(node, more);
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"list\"}"), 2);
	node_stop_daemon(node);
	node_start_daemon(node);
	node_kubelet_says(node, more);
	end(node);
}

/* 34, 33: the driver of the RDMA device comes when the function has been there for long. */
static void rdma_devices_may_come_late(void **state)
{
	struct node *node = begin("netns Y\nrdma_cm\n"
				  "pci 0101:00:02.0 device=0x1016 driver=mlx5_core\n"
				  "net 0101:00:02.0 eth0\n",
				  NULL, SELECTED("\"deviceIDs\":[\"1016\"]"));
	g_autofree char *list = list_pattern("0101:00:02.0");

	(void)state;
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":0}");
	fixture_apply(node->root, "ib 0101:00:02.0 mlx5_0 ll=Ethernet ndev=eth0\n"
				  "uverbs 0101:00:02.0 0 mlx5_0\n");
	scan_again(node);
	node_kubelet_says(node, list);
	end(node);
}

/* 54: one does not know its NUMA node, and one says nonsense. */
static void numa_nodes_that_are_not_known_are_none(void **state)
{
	struct node *node =
		begin("netns Y\nrdma_cm\n" RDMA("0000:3b:00.0", "numa=-1", "mlx5_0", "0")
			      RDMA("0000:5e:00.0", "numa=1", "mlx5_1", "1"),
		      "file sys/devices/pci0000:00/0000:5e:00.0/numa_node = many\n",
		      SELECTED("\"vendors\":[\"15b3\"]"));
	g_autofree char *list = list_pattern("0000:3b:00.0 0000:5e:00.0");

	(void)state;
	node_kubelet_says(node, list);
	assert_false(process_has_said(node->kubelet, "\"nodes\""));
	end(node);
}

/* 56, 59: whatever the order in which the kubelet asks, it is that of the bus. */
static void variables_are_in_the_order_of_the_bus(void **state)
{
	static const char *const seeds[] = {"1", "2", "3", "4"};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(seeds); i++) {
		const char *const options[] = {"--seed", seeds[i], NULL};
		struct node *node = node_new(MACHINES "two-sockets.txt");
		const char *line, *second;

		node_resources(node, SELECTED("\"pfNames\":[\"ens1f0np0\",\"ens2f0np0\"]"));
		node_start_kubelet(node, options);
		node_start_daemon(node);
		node_await_allocatable(node, "rdma/vf", 4);
		line = node_allocate(node, "rdma/vf", 4, "pod");
		assert_non_null(line);
		assert_non_null(strstr(line, "\"PCIDEVICE_RDMA_VF\":\"0000:19:00.2,0000:19:00.3,"
					     "0000:1a:00.2,0000:1a:00.3\""));
		second = strstr(line, "{\\\"0000:19:00.2\\\":");
		assert_non_null(second);
		assert_non_null(strstr(second, "\\\"0000:1a:00.3\\\":"));
		assert_true(strstr(second, "\\\"0000:19:00.3\\\":") <
			    strstr(second, "\\\"0000:1a:00.2\\\":"));
		assert_true(strstr(second, "\\\"0000:1a:00.2\\\":") <
			    strstr(second, "\\\"0000:1a:00.3\\\":"));
		end(node);
	}
}

/* 92: an init container hands its device on, and nobody else gets it. */
static void init_containers_hand_their_device_on(void **state)
{
	struct node *node =
		begin(MACHINES "f30-zero-guid.txt", NULL, SELECTED("\"vendors\":[\"15b3\"]"));

	(void)state;
	node_await_allocatable(node, "rdma/vf", 2);
	node_command(node, "allocate rdma/vf 2 pod/init-a\nallocate rdma/vf 2 pod/main");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"container\":\"init-a\"}");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"container\":\"main\",\"envs\":"
				"{\"PCIDEVICE_RDMA_VF\":\"0000:00:04.0,0000:00:05.0\"}}");
	assert_null(node_allocate(node, "rdma/vf", 1, "other"));
	end(node);
}

/* 69: what network plugins read about an allocated device, and no longer than that. */
static void network_plugins_find_device_files(void **state)
{
	static const char file[] = "devinfo/dp/rdma-vf-0000:19:00.2-device.json";
	struct node *node = node_new(MACHINES "two-sockets.txt");
	g_autofree char *settings =
		g_strdup_printf("devinfo_dir = \"%s/devinfo/dp\";\n", node->root);

	(void)state;
	node_settings(node, settings);
	node_resources(node, SELECTED("\"pfNames\":[\"ens1f0np0#0\"]"));
	/* what a former process has left */
	fixture_write(node->root, file, "{}");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_await_allocatable(node, "rdma/vf", 1);
	assert_false(node_has_file(node, file));
	assert_non_null(node_allocate(node, "rdma/vf", 1, "pod"));
	assert_true(node_has_file(node, file));
	node_stop_daemon(node);
	assert_false(node_has_file(node, file));
	node_start_daemon(node);
	end(node);
}

/* A PF is refused only while one of its VFs is given away as a whole. */
static void a_pf_is_refused_only_beside_its_own_exclusive_vfs(void **state)
{
#define PF                                                                                         \
	"{\"resourceName\":\"vf\",\"mode\":\"exclusive\",\"selectors\":{\"deviceIDs\":[\"101d\"]}" \
	"}"
#define OTHER(mode, vfs)                                                                           \
	",{\"resourceName\":\"other\"," mode "\"selectors\":{\"rootDevices\":[\"" vfs "\"]}}"
	static const struct {
		const char *config, *ids;
	} rules[] = {
		{"{\"configList\":[" PF "]}",
		 "0000:19:00.0 0000:1a:00.0 0000:99:00.0 0000:b9:00.0"},
		{"{\"configList\":[" PF OTHER("\"rdmaHcaMax\":2,", "0000:19:00.0") "]}",
		 "0000:19:00.0 0000:1a:00.0 0000:99:00.0 0000:b9:00.0"},
		{"{\"configList\":[" PF OTHER("\"mode\":\"exclusive\",", "0000:19:00.0#1") "]}",
		 "0000:1a:00.0 0000:99:00.0 0000:b9:00.0"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rules); i++) {
		struct node *node = begin(MACHINES "two-sockets.txt", NULL, rules[i].config);
		g_autofree char *list = list_pattern(rules[i].ids);

		if (!process_has_said(node->kubelet, list))
			node_kubelet_says(node, list);
		assert_int_equal(process_count(node->daemon, "gives away virtual functions of it"),
				 i == 2);
		end(node);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complaints_are_no_more),
		cmocka_unit_test(ids_outlive_hardware_addresses),
		cmocka_unit_test(rdma_devices_may_come_late),
		cmocka_unit_test(numa_nodes_that_are_not_known_are_none),
		cmocka_unit_test(variables_are_in_the_order_of_the_bus),
		cmocka_unit_test(init_containers_hand_their_device_on),
		cmocka_unit_test(network_plugins_find_device_files),
		cmocka_unit_test(a_pf_is_refused_only_beside_its_own_exclusive_vfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
