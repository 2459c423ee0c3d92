/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sticky.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/selector.h"
#include "support/config_builder.h"
#include "support/device_builder.h"

#define VF "a vf parent=p driver=mlx5_core @vendor=15b3 @device=101c "
#define ID "@vendor=15b3 @device=101c "

/* What was known, what is reported, what is known then. The order of lists counts. */
static const struct {
	const char *previous, *reported, *known;
} table[] = {
	/* all is there: as reported */
	{"a driver=d net=n1", "a driver=d net=n2", "a driver=d net=n2"},
	{"a driver=d rdma=r1 uverbs=1", "a driver=d rdma=r2 uverbs=2",
	 "a driver=d rdma=r2 uverbs=2"},
	{"a driver=d @k=v", "a driver=d @k=w", "a driver=d @k=w"},
	{"a driver=d", "a driver=d net=n rdma=r uverbs=0", "a driver=d net=n rdma=r uverbs=0"},
	/* the interface has moved */
	{"a driver=d net=n:ib rdma=r uverbs=0", "a driver=d elsewhere rdma=r uverbs=0",
	 "a driver=d elsewhere rdma=r uverbs=0 net=n:ib"},
	{"a driver=d net=n:ib rdma=r uverbs=0", "a driver=d rdma=r uverbs=0",
	 "a driver=d rdma=r uverbs=0 net=n:ib"},
	{"a driver=d net=n net=b:eth:upper", "a driver=d net=b:eth:upper",
	 "a driver=d net=b:eth:upper net=n"},
	{"a driver=d net=ib0:ib net=ib0.1:ib:child", "a driver=d net=ib0.1:ib:child",
	 "a driver=d net=ib0.1:ib:child net=ib0:ib"},
	{"a driver=d net=pf net=r0:eth:representor", "a driver=d net=r0:eth:representor",
	 "a driver=d net=r0:eth:representor net=pf"},
	/* one of two interfaces has: only the backend can tell that from a removal */
	{"a driver=d net=n1 net=n2", "a driver=d elsewhere net=n2",
	 "a driver=d elsewhere net=n2 net=n1"},
	{"a driver=d net=n1 net=n2", "a driver=d net=n2", "a driver=d net=n2"},
	{"a driver=d net=n1", "a driver=d elsewhere net=n9", "a driver=d elsewhere net=n9"},
	/* the RDMA device has: its verbs class entry stays */
	{"a driver=d rdma=r,drv port=1:ib:active uverbs=2", "a driver=d elsewhere rdma=r uverbs=2",
	 "a driver=d elsewhere rdma=r,drv port=1:ib:unknown uverbs=2"},
	{"a driver=d rdma=r,drv port=1:ib:active port=2:eth:down", "a driver=d elsewhere",
	 "a driver=d elsewhere rdma=r,drv port=1:ib:unknown port=2:eth:unknown"},
	{"a driver=d rdma=r port=1:ib:active rdma=smi1 management",
	 "a driver=d rdma=smi1 management",
	 "a driver=d rdma=r port=1:ib:unknown rdma=smi1 management"},
	/* it is back under another name */
	{"a driver=d elsewhere rdma=mlx5_2 uverbs=2", "a driver=d rdma=mlx5_9 uverbs=7",
	 "a driver=d rdma=mlx5_9 uverbs=7"},
	/* a value that could not be read */
	{"a driver=d rdma=r port=1:ib:active", "a driver=d rdma=r port=1:unknown:unknown",
	 "a driver=d rdma=r port=1:ib:unknown"},
	{"a driver=d rdma=r port=1:ib:active", "a driver=d rdma=r port=2:unknown:unknown",
	 "a driver=d rdma=r port=2:unknown:unknown"},
	{"a driver=d rdma=r port=1:unknown:active", "a driver=d rdma=r port=1:unknown:active",
	 "a driver=d rdma=r port=1:unknown:active"},
	{"a driver=d net=n:ib", "a driver=d net=n:unknown", "a driver=d net=n:ib"},
	{"a driver=d rdma=r,drv", "a driver=d rdma=r", "a driver=d rdma=r,drv"},
	{"a driver=d numa=1", "a driver=d", "a driver=d numa=1"},
	{"a driver=d numa=1", "a driver=d numa=0", "a driver=d numa=0"},
	{"a driver=d parent=p", "a driver=d", "a driver=d parent=p"},
	{"a driver=d @pf_name=x @k=1 @k=2", "a driver=d @l=3",
	 "a driver=d @l=3 @pf_name=x @k=1 @k=2"},
	{"a driver=d @k=1 @k=2", "a driver=d @k=3", "a driver=d @k=3"},
	/* what says that it cannot be used is never remembered, nor is a node */
	{"a driver=d note=x", "a driver=d", "a driver=d"},
	{"a driver=d rdma=r uverbs=0 cm", "a driver=d rdma=r", "a driver=d rdma=r"},
	/* another device, or none that a driver cares for */
	{"a driver=d net=n", "a driver=vfio-pci", "a driver=vfio-pci"},
	{"a driver=d net=n", "a", "a"},
	{"a net=n", "a", "a"},
	{"a driver=d net=n @vendor=1", "a driver=d @vendor=2", "a driver=d @vendor=2"},
	{"a driver=d net=n @device=1", "a driver=d @device=2", "a driver=d @device=2"},
	{"a driver=d net=n identity=x", "a driver=d identity=y", "a driver=d identity=y"},
	{"a driver=d net=n identity=x", "b driver=d identity=x", "b driver=d identity=x net=n"},
	{"rxe0 software net=n", "rxe0 software", "rxe0 software net=n"},
};

static void what_cannot_be_seen_is_as_it_was_seen_last(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(Device) previous = device_build(table[i].previous);
		g_autoptr(Device) reported = device_build(table[i].reported);
		g_autoptr(Device) known = device_build(table[i].known);
		g_autoptr(Device) merged = sticky_merge(previous, reported);

		assert_true(device_equal(merged, known));
		assert_int_equal(merged == reported, device_equal(reported, known));
	}
}

static void without_a_past_the_report_is_all(G_GNUC_UNUSED void **state)
{
	g_autoptr(Device) reported = device_build("a driver=d");
	g_autoptr(Device) merged = sticky_merge(NULL, reported);

	assert_ptr_equal(merged, reported);
}

static void too_much_memory_is_no_memory(G_GNUC_UNUSED void **state)
{
	g_autoptr(GString) before = g_string_new("a driver=d");
	g_autoptr(GString) now = g_string_new("a driver=d");
	g_autoptr(Device) previous = NULL;
	g_autoptr(Device) reported = NULL;
	g_autoptr(Device) merged = NULL;

	for (int i = 0; i < 200; i++) {
		g_string_append_printf(before, " @a%d=x", i);
		g_string_append_printf(now, " @b%d=x", i);
	}
	previous = device_build(before->str);
	reported = device_build(now->str);
	merged = sticky_merge(previous, reported);
	assert_ptr_equal(merged, reported);
}

/* A VF in a pod: selected before, in the pod, and after it came back. */
static void a_match_survives_the_way_through_a_pod(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *config;
		gboolean taken[5];
	} rows[] = {
		{"pfNames=ibs1 linkTypes=infiniband", {TRUE, TRUE, TRUE, TRUE, TRUE}},
		{"ifNames=ibs1v0", {TRUE, TRUE, TRUE, TRUE, FALSE}},
		{"rdmaDevices=mlx5_2", {TRUE, TRUE, TRUE, TRUE, FALSE}},
		{"vendors=15b3 deviceIDs=101c drivers=mlx5_core", {TRUE, TRUE, TRUE, TRUE, TRUE}},
	};
	static const char *const reports[] = {
		VF "@pf_name=ibs1 @vf_index=1 net=ibs1v0:ib rdma=mlx5_2 port=1:ib:active uverbs=2",
		/* shared mode: only the interface is gone */
		VF "@pf_name=ibs1 @vf_index=1 elsewhere rdma=mlx5_2 port=1:ib:active uverbs=2",
		/* exclusive mode: the RDMA device, too; the PF's interface as well */
		VF "@vf_index=1 elsewhere rdma=mlx5_2 uverbs=2",
		VF "@vf_index=1 elsewhere",
		/* back, under other names */
		VF "@pf_name=ibs1 @vf_index=1 net=dev5:ib rdma=mlx5_9 port=1:ib:active uverbs=7",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(ResourceConfig) config = config_build(rows[i].config);
		g_autoptr(Device) known = NULL;

		for (gsize j = 0; j < G_N_ELEMENTS(reports); j++) {
			g_autoptr(Device) reported = device_build(reports[j]);
			Device *merged = sticky_merge(known, reported);

			device_unref(known);
			known = merged;
			assert_int_equal(selector_judge(config, known, NULL, NULL, NULL),
					 rows[i].taken[j]);
		}
	}
}

static void a_driver_that_lets_go_ends_the_memory(G_GNUC_UNUSED void **state)
{
	g_autoptr(ResourceConfig) config = config_build("ifNames=n");
	g_autoptr(Device) first = device_build("a driver=d net=n " ID);
	g_autoptr(Device) unbound = device_build("a " ID);
	g_autoptr(Device) bound = device_build("a driver=d " ID);
	g_autoptr(Device) second = sticky_merge(first, unbound);
	g_autoptr(Device) third = sticky_merge(second, bound);

	assert_false(selector_judge(config, second, NULL, NULL, NULL));
	assert_false(selector_judge(config, third, NULL, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_seen_is_as_it_was_seen_last),
		cmocka_unit_test(without_a_past_the_report_is_all),
		cmocka_unit_test(too_much_memory_is_no_memory),
		cmocka_unit_test(a_match_survives_the_way_through_a_pod),
		cmocka_unit_test(a_driver_that_lets_go_ends_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
