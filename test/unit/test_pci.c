/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "edge/module.h"
#include "support/big_tree.h"
#include "support/descriptors.h"
#include "support/dump.h"
#include "support/fixture.h"
#include "support/machine.h"
#include "support/opens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct rdmadp_backend *pci;

/* --- what is found --- */

static void machines_are_described_as_expected(void **state)
{
	static const char *const names[] = {
		"bond",
		"connectx3-scif",
		"f01-roce-no-issm",
		"f03-partial-boot",
		"f04-issm-subset",
		"f05-vf-netdev-in-pod",
		"f06-vf-in-pod-exclusive",
		"f08-switchdev",
		"f10-b200-mixed",
		"f14-ipoib-guid",
		"f15-e810",
		"f22-unreadable",
		"f30-zero-guid",
		"f34-vf-down-policy",
		"garbage",
		"in-pods",
		"qib",
		"subfunctions",
		"two-sockets",
		"unusable",
		"vendors",
		"vf-lag",
		"xdr-smi",
		"xdr-smi-no-umad",
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_strconcat(MACHINES, names[i], ".pci.expected", NULL);
		struct machine *machine = machine_scanned(pci, names[i]);
		g_autofree char *dump = machine_dump(machine);
		g_autoptr(GError) error = NULL;

		if (!dump_expect(dump, file, &error))
			fail_msg("%s", error->message);
		machine_free(machine);
	}
}

static void a_number_that_is_none_leaves_the_subfunction(void **state)
{
	static const char *const contents[] = {"", "-1", "rubbish", "88 89"};
	struct machine *machine = machine_scanned(pci, "subfunctions");

	(void)state;
	assert_string_equal(machine_device(machine, "mlx5_core.sf.2")->identity,
			    "0000:3b:00.0/sf88");
	for (gsize i = 0; i < G_N_ELEMENTS(contents); i++) {
		g_autofree char *log = NULL;

		fixture_write(machine->root, "sys/bus/auxiliary/devices/mlx5_core.sf.2/sfnum",
			      contents[i]);
		machine_scan(machine);
		assert_string_equal(machine_device(machine, "mlx5_core.sf.2")->identity,
				    "mlx5_core.sf.2");
		log = machine_take_log(machine);
		assert_int_equal(strstr(log, "'sfnum'") != NULL, i == 0);
	}
	machine_free(machine);
}

static void two_scans_say_the_same_and_complain_once(void **state)
{
	struct machine *machine = machine_scanned(pci, "garbage");
	g_autofree char *first = machine_dump(machine);
	g_autofree char *log = machine_take_log(machine);
	g_autofree char *second = NULL;
	g_autofree char *again = NULL;

	(void)state;
	machine_scan(machine);
	second = machine_dump(machine);
	again = machine_take_log(machine);
	assert_string_equal(first, second);
	assert_string_equal(again, "");
	assert_non_null(strstr(log, "warning: 'README' in bus/pci/devices is no PCI address"));
	assert_non_null(strstr(log, "'0000:43:00.0': attribute 'class' cannot be read "
				    "(File too large): skipped"));
	assert_non_null(strstr(log, "'0000:47:00.0': attribute 'class' is 'network', not "
				    "hexadecimal: skipped"));
	assert_non_null(strstr(log, "'0000:50:00.0': attribute 'vendor' cannot be read "
				    "(File too large): left out"));
	assert_null(strstr(log, "0000:40:00.0"));
	machine_free(machine);
}

static void a_machine_without_anything_has_no_devices(void **state)
{
	static const char *const machines[] = {"dir sys/bus/pci/devices\n", "remove sys\n"};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(machines); i++) {
		struct machine *machine = machine_new(pci, machines[i]);
		g_autofree char *log = NULL;

		machine_scan(machine);
		log = machine_take_log(machine);
		assert_int_equal(machine->devices->len, 0);
		assert_string_equal(log, "");
		machine_free(machine);
	}
}

static int refuse(void *sink, const struct rdmadp_device *device)
{
	(void)device;
	++*(int *)sink;
	return -ECANCELED;
}

/* F33 */
static void a_driver_with_an_abi_of_its_own_is_said_once(void **state)
{
	struct machine *machine = machine_scanned(pci, "vendors");
	g_autofree char *log = machine_take_log(machine);
	g_autofree char *again = NULL;

	(void)state;
	machine_scan(machine);
	again = machine_take_log(machine);
	assert_string_equal(log,
			    "info: '0000:21:00.0': bnxt_re0 has version 6 of the driver's ABI, "
			    "not 1 as in the kernel: containers need the rdma-core of this "
			    "driver\n");
	assert_string_equal(again, "");
	machine_free(machine);
}

static void a_refused_device_ends_the_scan(void **state)
{
	struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");
	int calls = 0;

	(void)state;
	assert_int_equal(pci->discover(machine->instance, refuse, &calls), -ECANCELED);
	assert_int_equal(calls, 1);
	machine_free(machine);
}

static void of_other_functions_only_the_class_is_read(void **state)
{
	struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");
	int disk = opens_watch(machine->sysfs_root, "bus/pci/devices/0000:01:00.0");
	int adapter = opens_watch(machine->sysfs_root, "bus/pci/devices/0000:3b:00.0");
	g_autoptr(GHashTable) of_disk = NULL;
	g_autoptr(GHashTable) of_adapter = NULL;

	(void)state;
	machine_scan(machine);
	of_disk = opens_end(disk);
	of_adapter = opens_end(adapter);
	assert_true(g_hash_table_contains(of_disk, "class"));
	assert_int_equal(g_hash_table_size(of_disk), 1);
	assert_true(g_hash_table_contains(of_adapter, "vendor"));
	machine_free(machine);
}

static void a_big_machine_is_scanned_whole(void **state)
{
	const struct big_tree tree = {.functions = 1000, .hcas = 8, .nics = 200};
	struct machine *machine = machine_new(pci, "dir sys\n");
	g_autoptr(GError) error = NULL;
	guint n_rdma = 0;

	(void)state;
	assert_true(big_tree_build(&tree, machine->root, &error));
	machine_scan(machine);
	for (guint i = 0; i < machine->devices->len; i++)
		n_rdma += device_abi(machine->devices->pdata[i])->n_rdma_devices;
	assert_int_equal(machine->devices->len, 208);
	assert_int_equal(n_rdma, 8);
	machine_free(machine);
}

static void a_booting_machine_becomes_complete(void **state)
{
	struct machine *machine = machine_scanned(pci, "f03-partial-boot");

	(void)state;
	assert_int_equal(machine_device(machine, "0000:3b:00.0")->n_nodes, 1);
	ASSERT_HEALTH(machine, "0000:3b:00.0", "files mlx5_0 has no uverbs device");
	fixture_apply(machine->root, "uverbs 0000:3b:00.0 0 mlx5_0\numad 0000:3b:00.0 0 mlx5_0 1\n"
				     "uverbs 0000:3b:00.1 1 mlx5_1\n");
	machine_scan(machine);
	assert_int_equal(machine_device(machine, "0000:3b:00.0")->n_nodes, 3);
	assert_int_equal(machine_device(machine, "0000:3b:00.1")->n_nodes, 3);
	ASSERT_HEALTH(machine, "0000:3b:00.0", "ok mlx5_0 port 1 is '4: ACTIVE'");
	machine_free(machine);
}

/* A pod gives the VF back: the kernel has made everything anew. */
static void a_vf_that_returns_from_a_pod_has_new_names(void **state)
{
	struct machine *machine = machine_scanned(pci, "f06-vf-in-pod-exclusive");
	const struct rdmadp_device *vf = machine_device(machine, "0000:12:00.2");

	(void)state;
	assert_string_equal(vf->rdma_devices[0]->name, "mlx5_2");
	assert_int_equal(vf->rdma_devices[0]->ports[0]->link_layer, RDMADP_LINK_INFINIBAND);
	assert_true(vf->flags & RDMADP_DEVICE_ELSEWHERE);
	fixture_apply(machine->root,
		      "remove sys/class/infiniband_verbs/uverbs2\n"
		      "remove sys/devices/pci0000:00/0000:12:00.2/infiniband_verbs/uverbs2\n"
		      "ib 0000:12:00.2 mlx5_9\n"
		      "uverbs 0000:12:00.2 7 mlx5_9\n"
		      "net 0000:12:00.2 ibs1v1 type=32\n");
	machine_scan(machine);
	vf = machine_device(machine, "0000:12:00.2");
	assert_int_equal(vf->n_rdma_devices, 1);
	assert_string_equal(vf->rdma_devices[0]->name, "mlx5_9");
	assert_string_equal(vf->nodes[0]->name, "infiniband/uverbs7");
	assert_int_equal(vf->flags, RDMADP_DEVICE_VF);
	machine_free(machine);
}

static void a_function_comes_and_goes(void **state)
{
	struct machine *machine = machine_scanned(pci, "f05-vf-netdev-in-pod");

	(void)state;
	assert_non_null(machine_device(machine, "0000:12:00.2"));
	fixture_delete(machine->root, "sys/bus/pci/devices/0000:12:00.2");
	ASSERT_HEALTH(machine, "0000:12:00.2", "gone '0000:12:00.2' is not on the bus");
	machine_scan(machine);
	assert_null(machine_device(machine, "0000:12:00.2"));
	assert_string_equal(machine_device(machine, "0000:12:00.3")->parent_id, "0000:12:00.0");
	machine_free(machine);
}

static void vfs_are_known_also_if_the_pf_does_not_count_them(void **state)
{
	static const char *const counts[] = {
		"remove sys/devices/pci0000:00/0000:12:00.0/sriov_numvfs\n",
		"file sys/devices/pci0000:00/0000:12:00.0/sriov_numvfs = 0\n",
		"file sys/devices/pci0000:00/0000:12:00.0/sriov_numvfs = 1\n",
		"file sys/devices/pci0000:00/0000:12:00.0/sriov_numvfs = ?\n",
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(counts); i++) {
		struct machine *machine = machine_new(pci, MACHINES "f05-vf-netdev-in-pod.txt");
		const struct rdmadp_device *vf;

		fixture_apply(machine->root, counts[i]);
		machine_scan(machine);
		vf = machine_device(machine, "0000:12:00.3");
		assert_int_equal(pci->match(vf, "pf_name", "ibs1"), 1);
		assert_int_equal(pci->match(vf, "vf_index", "2"), 1);
		assert_true(machine_device(machine, "0000:12:00.0")->flags & RDMADP_DEVICE_PF);
		machine_free(machine);
	}
}

static void numa_nodes_are_believed_only_if_they_exist(void **state)
{
	static const struct {
		const char *numa, *nodes; /* what the machine has */
		int expected;
	} cases[] = {
		{"0", "", 0},
		{"1", "", 1}, /* nobody says which there are */
		{"1", "dir sys/devices/system/node/node0\ndir sys/devices/system/node/node1\n", 1},
		{"1", "dir sys/devices/system/node/node0\n", -1},
		{"-1", "dir sys/devices/system/node/node0\n", -1},
		{"65536", "", -1},
		{"x", "", -1},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
			g_strdup_printf("pci 0000:3b:00.0 driver=mlx5_core numa=%s\n%s",
					cases[i].numa, cases[i].nodes);
		struct machine *machine = machine_new(pci, text);
		g_autofree char *log = NULL;

		machine_scan(machine);
		assert_int_equal(machine_device(machine, "0000:3b:00.0")->numa_node,
				 cases[i].expected);
		log = machine_take_log(machine);
		assert_int_equal(strstr(log, "NUMA node") != NULL, i == 3);
		machine_free(machine);
	}
}

/* --- match --- */

static void match_knows_the_spellings(void **state)
{
	static const struct {
		const char *id, *key, *value;
		int expected;
	} cases[] = {
		{"0000:22:00.0", "vendor", "19e5", 1},
		{"0000:22:00.0", "vendor", "0x19E5", 1},
		{"0000:22:00.0", "vendor", "15b3", 0},
		{"0000:22:00.0", "vendor", "huawei", -EINVAL},
		{"0000:22:00.0", "device", "a222", 1},
		{"0000:22:00.0", "driver", "hns3", 1},
		{"0000:22:00.0", "driver", "hns", 1},
		{"0000:22:00.0", "driver", "hns_roce_hw_v2", 1},
		{"0000:22:00.0", "driver", "mlx5_core", 0},
		{"0000:21:00.0", "driver", "bnxt_en", 1},
		{"0000:21:00.0", "driver", "bnxt_re", 1},
		{"0000:26:00.0", "driver", "mlx4_ib", 1},
		{"0000:26:00.0", "driver", "mlx5_ib", 0},
		{"0000:26:00.0", "driver", "", -EINVAL},
		{"0000:27:00.0", "driver", "irdma", 1},
		{"0000:27:00.0", "driver", "i40iw", 1},
		{"0000:28:00.0", "driver", "hiroce5", 1},
		{"0000:28:00.0", "driver", "hrn5", 1},
		{"0000:28:00.0", "driver", "hns", 0},
		{"0000:26:00.0", "class", "020000", 1},
		{"0000:26:00.0", "class", "0x20000", 1},
		{"0000:26:00.0", "colour", "red", -EINVAL},
		{"0000:26:00.0", "vf_index", "x", -EINVAL},
	};
	struct machine *machine = machine_scanned(pci, "vendors");

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		assert_int_equal(pci->match(machine_device(machine, cases[i].id), cases[i].key,
					    cases[i].value),
				 cases[i].expected);
	machine_free(machine);
}

static void match_knows_functions_of_functions(void **state)
{
	struct machine *machine = machine_scanned(pci, "f08-switchdev");
	const struct rdmadp_device *vf = machine_device(machine, "0000:81:00.3");

	(void)state;
	assert_int_equal(pci->match(vf, "pf_name", "pf0"), 1);
	assert_int_equal(pci->match(vf, "pf_name", "eth3"), 0);
	assert_int_equal(pci->match(vf, "physfn", "0000:81:00.0"), 1);
	assert_int_equal(pci->match(vf, "vf_index", "2"), 1);
	assert_int_equal(pci->match(vf, "vf_index", "02"), 1);
	assert_int_equal(pci->match(vf, "vf_index", "3"), 0);
	machine_free(machine);
}

static int load(void **state)
{
	g_autoptr(GError) error = NULL;

	(void)state;
	pci = module_load(BINARY_DIR "/lib/rdmadp/backends", "pci", &error);
	if (!pci)
		print_error("%s\n", error->message);
	return pci ? 0 : -1;
}

static int count(void *sink, const struct rdmadp_device *device)
{
	(void)device;
	++*(guint *)sink;
	return 0;
}

/* One descriptor is enough to list a directory, and not to look at what is in it: nobody
 * may take that for a machine without devices. */
static void too_few_descriptors_make_no_scan(void **state)
{
	struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");
	guint n = 0;

	(void)state;
	for (guint left = 0; left < 2; left++) {
		struct rlimit before = descriptors_leave(left);

		assert_int_equal(pci->discover(machine->instance, count, &n), -EMFILE);
		descriptors_give_back(&before);
	}
	n = 0;
	assert_int_equal(pci->discover(machine->instance, count, &n), 0);
	assert_int_equal(n, machine->devices->len);
	machine_free(machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_are_described_as_expected),
		cmocka_unit_test(a_number_that_is_none_leaves_the_subfunction),
		cmocka_unit_test(two_scans_say_the_same_and_complain_once),
		cmocka_unit_test(too_few_descriptors_make_no_scan),
		cmocka_unit_test(a_machine_without_anything_has_no_devices),
		cmocka_unit_test(a_driver_with_an_abi_of_its_own_is_said_once),
		cmocka_unit_test(a_refused_device_ends_the_scan),
		cmocka_unit_test(of_other_functions_only_the_class_is_read),
		cmocka_unit_test(a_big_machine_is_scanned_whole),
		cmocka_unit_test(a_booting_machine_becomes_complete),
		cmocka_unit_test(a_vf_that_returns_from_a_pod_has_new_names),
		cmocka_unit_test(a_function_comes_and_goes),
		cmocka_unit_test(vfs_are_known_also_if_the_pf_does_not_count_them),
		cmocka_unit_test(numa_nodes_are_believed_only_if_they_exist),
		cmocka_unit_test(match_knows_the_spellings),
		cmocka_unit_test(match_knows_functions_of_functions),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
