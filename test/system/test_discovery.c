/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that change while the daemon runs, and resources that do not fit the machine
 * or each other: what the kubelet sees, and what is said about it. */
#include "system/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/fixture.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"
#define F01 MACHINES "f01-roce-no-issm.txt"

/* Rescans are what finds changes of a machine of text: the kernel tells of none. */
#define RESCAN "\"periodicUpdateInterval\":1,"
#define ONE(members) "{" RESCAN "\"configList\":[{\"resourceName\":\"r\"," members "}]}"
#define ALL_OF_15B3 "\"rdmaHcaMax\":2,\"selectors\":{\"vendors\":[\"15b3\"]}"

#define LIST(name, devices, healthy)                                                               \
	"{\"event\":\"list\",\"resource\":\"rdma/" name "\",\"devices\":" #devices                 \
	",\"healthy\":" #healthy "}"
#define FILE(name)                                                                                 \
	"{\"host\":\"/dev/infiniband/" name "\",\"container\":\"/dev/infiniband/" name "\"}"
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

/* Lists of several resources come in any order. */
static void await_list(const char *list)
{
	while (process_count(node->kubelet, list) == 0)
		node_kubelet_says(node, list);
	assert_int_equal(process_count(node->kubelet, list), 1);
}

static void assert_said(guint times, const char *text)
{
	guint n = process_count(node->daemon, text);
	if (n != times) {
		g_autofree char *output = process_output(node->daemon);
		fail_msg("said %u times and not %u: %s\n%s", n, times, text, output);
	}
}

/* Until a scan has seen what is there now. What shows it is another adapter, which all
 * selectors here take and which cannot be used. */
static void await_scan(void)
{
	static guint n;
	g_autofree char *id = g_strdup_printf("0000:fe:%02x.0", n++);
	g_autofree char *path = g_strconcat("sys/bus/pci/devices/", id, NULL);
	g_autofree char *lines =
		g_strdup_printf("pci %s class=0x020000 vendor=0x15b3 device=0x1013 driver=-\n", id);
	fixture_apply(node->root, lines);
	node_daemon_says(node, id);
	fixture_delete(node->root, path);
}

/* --- modules and drivers that come late --- */

#define NO_CM "remove sys/class/misc/rdma_cm\nremove sys/devices/virtual/misc/rdma_cm\n"

static void f02_without_rdma_ucm_nothing_is_offered_until_it_is_loaded(void **state)
{
	(void)state;
	node = node_new(F01);
	fixture_apply(node->root, NO_CM);
	node_resources(node, ONE(ALL_OF_15B3));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST("r", 0, 0));
	node_daemon_says(node, "modprobe rdma_ucm");
	fixture_apply(node->root, "rdma_cm\n");
	node_kubelet_says(node, LIST("r", 2, 2));
	assert_said(1, "offers nothing: ");
	assert_said(1, "modprobe rdma_ucm");
	stop();
}

static void f02_who_can_do_without_rdma_cm_says_so(void **state)
{
	(void)state;
	node = node_new(F01);
	fixture_apply(node->root, NO_CM);
	node_resources(node, ONE("\"charDevices\":{\"rdma_cm\":\"optional\"}," ALL_OF_15B3));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST("r", 2, 2));
	node_command(node, "allocate rdma/r 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("uverbs0") "," FILE("uverbs1")));
	assert_said(0, "offers nothing");
	stop();
}

#define BIND                                                                                       \
	"link sys/devices/pci0000:00/0000:3b:00.0/driver -> ../../../bus/pci/drivers/mlx5_core\n"

/* A driver that is loaded minutes after the start, step by step. */
static void f31_a_late_driver_is_waited_for(void **state)
{
	static const char *const steps[] = {
		"pci 0000:3b:00.0 class=0x020000 device=0x101d driver=- numa=0\n",
		"dir sys/bus/pci/drivers/mlx5_core\n",
		BIND,
		"net 0000:3b:00.0 ens1np0\n",
		"ib 0000:3b:00.0 mlx5_0 ll=Ethernet ndev=ens1np0\n",
		"uverbs 0000:3b:00.0 0 mlx5_0\n",
		"umad 0000:3b:00.0 0 mlx5_0 1\n",
	};
	(void)state;
	/* With a delay, so that the moment without nodes below is not told. */
	start("dir sys\ndir dev\n", ONE("\"rdmaHcaMax\":2,\"health\":{\"downDelay\":10},"
					"\"selectors\":{\"drivers\":[\"mlx5_core\"]}"));
	node_kubelet_says(node, LIST("r", 0, 0));
	node_daemon_says(node, "no device that could do RDMA");
	for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
		fixture_apply(node->root, steps[i]);
	node_daemon_says(node, "modprobe rdma_ucm");
	fixture_apply(node->root, "rdma_cm\n");
	node_kubelet_says(node, LIST("r", 2, 2));
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"list\"}"), 2);
	/* The driver is loaded again: the directory of the nodes goes and comes back. */
	fixture_delete(node->root, "dev/infiniband");
	fixture_apply(node->root, "uverbs 0000:3b:00.0 0 mlx5_0\numad 0000:3b:00.0 0 mlx5_0 1\n"
				  "rdma_cm\n");
	node_command(node, "allocate rdma/r 2 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0")));
	stop();
}

/* --- selectors --- */

static void f15_selectors_that_match_nothing_are_said_with_what_is_there(void **state)
{
	(void)state;
	start(MACHINES "f15-e810.txt",
	      ONE("\"selectors\":{\"vendors\":[\"8086\"],\"deviceIDs\":[\"0d00\",\"b500\"],"
		  "\"drivers\":[\"irdma\"],\"linkTypes\":[\"ethernet\"]}"));
	node_kubelet_says(node, LIST("r", 0, 0));
	node_daemon_says(
		node,
		"warning: rdma/r: offers nothing: deviceIDs 0d00, b500 match no device; devices "
		"that pass the other lists have 159b");
	/* Said again when it is another story, and only then. */
	fixture_apply(node->root, "pci 0000:0e:00.0 class=0x020000 vendor=0x8086 device=0x1889 "
				  "driver=ice\nnet 0000:0e:00.0 ens9\n"
				  "ib 0000:0e:00.0 irdma9 ll=Ethernet ndev=ens9\n");
	node_daemon_says(node, "have 159b, 1889");
	fixture_apply(node->root, "pci 0000:0f:00.0 class=0x020000 vendor=0x8086 device=0x188a "
				  "driver=ice\nnet 0000:0f:00.0 ens10\n"
				  "ib 0000:0f:00.0 irdma10 ll=Ethernet ndev=ens10\n");
	node_daemon_says(node, "have 159b, 1889, 188a");
	assert_said(3, "deviceIDs 0d00, b500 match no device");
	stop();
}

static void f08_a_switchdev_function_is_told_from_its_functions(void **state)
{
	(void)state;
	start(MACHINES "f08-switchdev.txt",
	      "{\"configList\":[{\"resourceName\":\"pf\",\"selectors\":{\"ifNames\":[\"pf0\"]}},"
	      "{\"resourceName\":\"rep\",\"selectors\":{\"ifNames\":[\"eth3\"]}},"
	      "{\"resourceName\":\"vfs\",\"selectors\":{\"pfNames\":[\"pf0\"]}}]}");
	node_kubelet_says(node, LIST("vfs", 8, 8));
	assert_said(1, "warning: rdma/pf: offers nothing: its only HCA cannot be used: switchdev "
		       "representor device: mlx5_0 carries raw packets only, no RoCE; select its "
		       "virtual functions (pfNames)");
	assert_said(1, "switchdev representor device: ");
	assert_said(1, "eth3 is a switchdev representor of '0000:81:00.0'");
	await_list(LIST("pf", 0, 0));
	await_list(LIST("rep", 0, 0));
	stop();
}

static void f10_adapters_of_different_kinds_are_noticed(void **state)
{
	(void)state;
	start(MACHINES "f10-b200-mixed.txt",
	      "{\"configList\":[{\"resourceName\":\"efa\",\"selectors\":{\"drivers\":[\"efa\"]}},"
	      "{\"resourceName\":\"all\",\"selectors\":{\"vendors\":[\"1d0f\",\"15b3\"]}}]}");
	node_kubelet_says(node, LIST("all", 10, 10));
	await_list(LIST("efa", 8, 8));
	assert_said(1, "rdma/all: its devices are of different kinds (vendors 1d0f and 15b3, link "
		       "types unknown and infiniband)");
	assert_said(0, "rdma/efa: its devices");
	stop();
}

/* --- resources that want the same device --- */

#define TWO(first, second)                                                                         \
	"{" RESCAN "\"configList\":[{\"resourceName\":\"a\"," first                                \
	"},{\"resourceName\":\"b\"," second "}]}"
#define FIRST_PORT "\"selectors\":{\"ifNames\":[\"ens1f0np0\"]}"
#define SECOND_PORT "\"selectors\":{\"ifNames\":[\"ens1f1np1\"]}"
#define BOTH_PORTS "\"selectors\":{\"vendors\":[\"15b3\"]}"
#define EXCLUSIVE "\"mode\":\"exclusive\","

static void shared_resources_may_have_the_same_device(void **state)
{
	(void)state;
	start(F01, TWO(BOTH_PORTS, SECOND_PORT));
	await_list(LIST("a", 2, 2));
	await_list(LIST("b", 1, 1));
	node_command(node, "allocate rdma/a 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0") "," FILE("uverbs1")));
	node_command(node, "allocate rdma/b 1 pod-b");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs1")));
	await_scan();
	assert_said(1, "warning: backend pci: '0000:3b:00.1': selected by \"rdma/a\" and by");
	assert_said(0, "error:");
	stop();
}

static void the_first_in_the_file_keeps_what_an_exclusive_one_wants(void **state)
{
	(void)state;
	start(F01, TWO(BOTH_PORTS, EXCLUSIVE SECOND_PORT));
	node_kubelet_says(node, LIST("a", 2, 2));
	node_command(node, "wait registered rdma/b");
	node_kubelet_says(node, "{\"event\":\"waited\"}");
	await_list(LIST("b", 0, 0));
	await_scan();
	assert_said(1, "error: backend pci: '0000:3b:00.1': selected by \"rdma/a\" and by "
		       "\"rdma/b\", and one of the two is exclusive: \"rdma/a\" keeps it");
	stop();
}

static void an_exclusive_one_that_comes_first_keeps_it_from_others(void **state)
{
	(void)state;
	start(F01, TWO(EXCLUSIVE SECOND_PORT, BOTH_PORTS));
	node_kubelet_says(node, LIST("b", 1, 1));
	await_list(LIST("a", 1, 1));
	node_command(node, "allocate rdma/b 1 pod-b");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0")));
	stop();
}

/* --- RDMA network namespaces --- */

static void f24_a_shared_resource_needs_shared_namespaces(void **state)
{
	g_autofree char *mode = NULL;
	g_autofree char *path = NULL;
	(void)state;
	node = node_new(F01);
	fixture_apply(node->root, "netns N\n");
	node_resources(node, TWO("\"rdmaHcaMax\":4," FIRST_PORT, EXCLUSIVE SECOND_PORT));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST("b", 1, 1));
	await_list(LIST("a", 0, 0));
	assert_said(1, "error: rdma/a: the RDMA subsystem of this node is in exclusive network "
		       "namespace mode");
	assert_said(1, "options ib_core netns_mode=1");
	/* It is looked at again, and never changed. */
	path = g_build_filename(node->root, "sys/module/ib_core/parameters/netns_mode", NULL);
	assert_true(g_file_get_contents(path, &mode, NULL, NULL));
	assert_string_equal(mode, "N\n");
	fixture_apply(node->root, "netns Y\n");
	node_kubelet_says(node, LIST("a", 4, 4));
	node_daemon_says(node, "rdma/b: the RDMA subsystem of this node is in shared network "
			       "namespace mode");
	fixture_apply(node->root, "netns N\n");
	node_kubelet_says(node, LIST("a", 4, 0));
	assert_said(2, "error: rdma/a: the RDMA subsystem");
	stop();
}

static void f24b_an_exclusive_one_works_in_both(void **state)
{
	(void)state;
	start(F01, ONE(EXCLUSIVE BOTH_PORTS));
	node_kubelet_says(node, LIST("r", 2, 2));
	await_scan();
	assert_said(1, "warning: rdma/r: the RDMA subsystem of this node is in shared network "
		       "namespace mode");
	assert_said(0, "error:");
	stop();
}

static void f24_a_kernel_that_does_not_say_is_in_shared_mode(void **state)
{
	(void)state;
	node = node_new(F01);
	fixture_delete(node->root, "sys/module");
	node_resources(node, ONE(ALL_OF_15B3));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST("r", 2, 2));
	assert_said(0, "warning:");
	stop();
}

/* --- virtual functions in pods --- */

#define VFS                                                                                        \
	ONE(EXCLUSIVE "\"selectors\":[{\"pfNames\":[\"ibs1\"],\"linkTypes\":[\"infiniband\"],"     \
		      "\"exclude\":{\"ifNames\":[\"ibs1\"]}},{\"deviceIDs\":[\"1013\"]}]")
#define VF(n) "{\"id\":\"0000:12:00." #n "\",\"health\":\"Healthy\"}"
#define THREE_VFS                                                                                  \
	"{\"event\":\"list\",\"resource\":\"rdma/r\",\"list\":[" VF(1) "," VF(2) "," VF(3) "]}"

/* What sysfs has and /dev lacks: no pod is promised it. */
static void a_missing_device_file_makes_its_hca_unhealthy(void **state)
{
	(void)state;
	if (!fixture_can_mknod())
		skip();
	start(F01, "{" RESCAN "\"configList\":[{\"resourceName\":\"r\"," ALL_OF_15B3 "}]}");
	node_kubelet_says(node, LIST("r", 2, 2));
	fixture_delete(node->root, "dev/infiniband/uverbs1");
	node_daemon_says(node, "HCA '0000:3b:00.1' is Unhealthy: files: '/dev/infiniband/uverbs1' "
			       "cannot be used: No such file");
	node_kubelet_says(node, LIST("r", 2, 1));
	node_command(node, "allocate rdma/r 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0")));
	fixture_apply(node->root, "chr dev/infiniband/uverbs1 231:193\n");
	node_kubelet_says(node, LIST("r", 2, 2));
	stop();
}

/* An interface that a CNI plugin has renamed: the device is there, and not selected. */
static void a_device_that_is_no_longer_selected_says_why(void **state)
{
	static const char net[] = "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/net/ens1f1np1";

	(void)state;
	start(F01, ONE("\"rdmaHcaMax\":2,\"selectors\":{\"ifNames\":[\"ens1f0np0\","
		       "\"ens1f1np1\"]}"));
	node_kubelet_says(node, LIST("r", 2, 2));
	fixture_delete(node->root, net);
	fixture_delete(node->root, "sys/class/net/ens1f1np1");
	fixture_apply(node->root, "net 0000:3b:00.1 dev5 type=1\n");
	node_daemon_says(node, "warning: rdma/r: HCA '0000:3b:00.1' is Unhealthy: gone: no longer "
			       "selected: ifNames: has dev5, wanted ens1f0np0, ens1f1np1");
	node_kubelet_says(node, LIST("r", 2, 1));
	stop();
}

static void f05_vfs_whose_interfaces_are_in_pods_are_found_by_their_pf(void **state)
{
	(void)state;
	start(MACHINES "f05-vf-netdev-in-pod.txt", VFS);
	node_kubelet_says(node, THREE_VFS);
	node_stop_daemon(node);
	node_start_daemon(node);
	node_kubelet_says(node, THREE_VFS);
	stop();
}

/* The RDMA device of the second VF is in a pod, too; later it comes back with other
 * names and numbers. */
static void f06_a_vf_whose_rdma_device_is_in_a_pod_stays(void **state)
{
	(void)state;
	node = node_new(MACHINES "f05-vf-netdev-in-pod.txt");
	fixture_apply(node->root, "netns N\n");
	node_resources(node, VFS);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, THREE_VFS);
	fixture_apply(node->root, "remove sys/class/infiniband/mlx5_2\n"
				  "remove sys/devices/pci0000:00/0000:12:00.2/infiniband/mlx5_2\n");
	await_scan();
	node_command(node, "allocate rdma/r 3 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs1") "," FILE(
					"uverbs2") "," FILE("uverbs3")));
	node_command(node, "free pod-a");
	node_stop_daemon(node);
	node_start_daemon(node);
	node_kubelet_says(node, THREE_VFS);
	await_scan();
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"list\"}"), 2);
	fixture_apply(node->root, "remove sys/class/infiniband_verbs/uverbs2\n"
				  "remove sys/devices/pci0000:00/0000:12:00.2/infiniband_verbs\n"
				  "remove dev/infiniband/uverbs2\n"
				  "ib 0000:12:00.2 mlx5_9 guid=0000:0000:0000:0000\n"
				  "uverbs 0000:12:00.2 7 mlx5_9\n");
	node_daemon_says(node, "have other numbers");
	node_command(node, "wait allocatable rdma/r 3");
	node_kubelet_says(node, "{\"event\":\"waited\"}");
	node_command(node, "allocate rdma/r 3 pod-b");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs1") "," FILE(
					"uverbs3") "," FILE("uverbs7")));
	stop();
}

/* --- the host --- */

/* Everything about a tree that a write would change. */
static void describe_tree(const char *path, GString *text)
{
	GDir *dir = g_dir_open(path, 0, NULL);
	g_autofree char *target = g_file_read_link(path, NULL);
	struct stat status;
	assert_int_equal(lstat(path, &status), 0);
	g_string_append_printf(text, "%s %o %ld %ld.%09ld %s\n", path, status.st_mode,
			       (long)status.st_size, (long)status.st_mtim.tv_sec,
			       status.st_mtim.tv_nsec, target != NULL ? target : "");
	for (const char *name; dir != NULL && target == NULL && (name = g_dir_read_name(dir));) {
		g_autofree char *below = g_build_filename(path, name, NULL);
		describe_tree(below, text);
	}
	if (dir != NULL)
		g_dir_close(dir);
}

static char *machine_text(void)
{
	GString *text = g_string_new(NULL);
	static const char *const tops[] = {"sys", "dev"};
	for (gsize i = 0; i < G_N_ELEMENTS(tops); i++) {
		g_autofree char *path = g_build_filename(node->root, tops[i], NULL);
		describe_tree(path, text);
	}
	return g_string_free(text, FALSE);
}

/* No link is set up, no VF made, no mode switched: nothing is written but our own. */
static void nothing_of_the_machine_is_changed(void **state)
{
	g_autofree char *before = NULL;
	g_autofree char *after = NULL;
	(void)state;
	node = node_new(MACHINES "f05-vf-netdev-in-pod.txt");
	fixture_write(node->root, "sys/class/net/ibs1/flags", "0x1002");
	node_resources(node, TWO("\"rdmaHcaMax\":4,\"selectors\":{\"ifNames\":[\"ibs1\"]}",
				 EXCLUSIVE "\"selectors\":{\"pfNames\":[\"ibs1\"],\"exclude\":{"
					   "\"ifNames\":[\"ibs1\"]}}"));
	before = machine_text();
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST("b", 3, 3));
	await_list(LIST("a", 4, 4));
	node_command(node, "allocate rdma/a 1 pod-a");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	node_command(node, "allocate rdma/b 2 pod-b");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	stop();
	after = machine_text();
	assert_string_equal(before, after);
}

#define TEST(function) cmocka_unit_test_teardown(function, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(f02_without_rdma_ucm_nothing_is_offered_until_it_is_loaded),
		TEST(f02_who_can_do_without_rdma_cm_says_so),
		TEST(f31_a_late_driver_is_waited_for),
		TEST(f15_selectors_that_match_nothing_are_said_with_what_is_there),
		TEST(f08_a_switchdev_function_is_told_from_its_functions),
		TEST(f10_adapters_of_different_kinds_are_noticed),
		TEST(shared_resources_may_have_the_same_device),
		TEST(the_first_in_the_file_keeps_what_an_exclusive_one_wants),
		TEST(an_exclusive_one_that_comes_first_keeps_it_from_others),
		TEST(f24_a_shared_resource_needs_shared_namespaces),
		TEST(f24b_an_exclusive_one_works_in_both),
		TEST(f24_a_kernel_that_does_not_say_is_in_shared_mode),
		TEST(a_missing_device_file_makes_its_hca_unhealthy),
		TEST(a_device_that_is_no_longer_selected_says_why),
		TEST(f05_vfs_whose_interfaces_are_in_pods_are_found_by_their_pf),
		TEST(nothing_of_the_machine_is_changed),
		TEST(f06_a_vf_whose_rdma_device_is_in_a_pod_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
