/* SPDX-License-Identifier: Apache-2.0 */
#include "model/exclusive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/resource_builder.h"

#define HCA(id, node, more) id " numa=" node " rdma=mlx5_0 port=1:ib:active uverbs=0 cm " more

/* --- ids --- */

static void the_kubelet_and_cni_plugins_know_the_id(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *words, *id;
	} cases[] = {
		{"0000:3b:00.0", "0000:3b:00.0"},
		{"0001:08:00.0 pf", "0001:08:00.0"},
		{"0000:3b:00.1 vf parent=0000:3b:00.0", "0000:3b:00.1"},
		{"mlx5_core.sf.4 identity=0000:3b:00.0/sf88 parent=0000:3b:00.0", "mlx5_core.sf.4"},
		{"0000f identity=cc08-1-0000-0001", "cc08-1-0000-0001"},
		{"0000f identity=cc08-1-0000-0001/2", "cc08-1-0000-0001/2"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Device) device = device_build(cases[i].words);

		assert_string_equal(exclusive_id(device), cases[i].id);
	}
}

/* --- the list --- */

/* "a@0 b!@1": ids in order, '!' Unhealthy, '@' their NUMA node if it is said. */
static char *list_text(const Resource *resource)
{
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < snapshot->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(snapshot->slots, i);

		g_string_append_printf(text, "%s%s%s", i > 0 ? " " : "", slot->id,
				       slot->healthy ? "" : "!");
		if (slot->numa_node >= 0)
			g_string_append_printf(text, "@%d", slot->numa_node);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

#define EXPECT_LIST(resource, expected) EXPECT_TEXT(list_text(resource), expected)

static void the_list_has_one_device_for_each_hca(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *config;
		const char *devices[5];
		const char *list;
	} cases[] = {
		{"", {NULL}, ""},
		{"", {HCA("b", "1", ""), HCA("a", "0", "")}, "a@0 b@1"},
		/* all or nothing */
		{"", {HCA("a", "0", ""), HCA("b", "-1", "")}, "a b"},
		{"", {HCA("a", "0", ""), HCA("b", "64", "")}, "a b"},
		{"topology=0", {HCA("a", "0", ""), HCA("b", "1", "")}, "a b"},
		{"topology=1", {HCA("a", "0", ""), HCA("b", "1", "")}, "a@0 b@1"},
		/* what has no files does not count yet, nor does its lack of a node */
		{"", {HCA("a", "0", ""), "b rdma=mlx5_1 cm"}, "a@0"},
		{"", {HCA("a", "0", ""), "b note=no_driver_is_bound"}, "a@0"},
		{"", {HCA("a", "0", ""), "b rdma=smi0 management issm=0 cm"}, "a@0"},
		{"umad=required", {HCA("a", "0", "")}, ""},
		{"umad=required", {HCA("a", "0", "umad=0")}, "a@0"},
		/* the PF itself is one, too, where nobody takes its VFs */
		{"", {HCA("a", "0", "pf")}, "a@0"},
		{"", {HCA("a", "0", "elsewhere")}, "a@0"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *config = g_strconcat("mode=exclusive ", cases[i].config, NULL);
		g_autoptr(Resource) resource = resource_build(config);

		resource_found(resource, cases[i].devices);
		EXPECT_LIST(resource, cases[i].list);
	}
}

static void a_device_never_leaves_the_list(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("mode=exclusive");

	FOUND(resource, HCA("a", "0", ""), HCA("c", "1", ""));
	EXPECT_LIST(resource, "a@0 c@1");
	/* later ones are appended, so that the order stays */
	FOUND(resource, HCA("b", "0", ""));
	EXPECT_LIST(resource, "a@0 c@1 b@0");
	resource_set_health(resource, "a", FALSE, "gone");
	EXPECT_LIST(resource, "a!@0 c@1 b@0");
	FOUND(resource, "a note=vfio-pci", HCA("b", "0", ""), HCA("c", "1", ""));
	EXPECT_LIST(resource, "a! c b");
	FOUND(resource, HCA("a", "0", ""), HCA("b", "0", ""), HCA("c", "1", ""));
	resource_set_health(resource, "a", TRUE, NULL);
	EXPECT_LIST(resource, "a@0 c@1 b@0");
}

/* One whose files do not come is shown as what it is once nobody waits any longer. */
static void a_device_without_files_is_waited_for(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("mode=exclusive");

	FOUND(resource, HCA("a", "0", ""), "b numa=1 rdma=mlx5_1 cm");
	EXPECT_LIST(resource, "a@0");
	resource_set_health(resource, "b", FALSE, "files: uverbs for mlx5_1 missing");
	EXPECT_LIST(resource, "a@0 b!@1");
}

/* Its number is the same, its auxiliary device is not; another has the name now. */
static void a_sub_function_that_is_made_anew_has_one_id(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("mode=exclusive");

	FOUND(resource, HCA("sf.4 identity=a/sf1 parent=a", "0", ""),
	      HCA("sf.5 identity=a/sf2 parent=a", "0", ""));
	EXPECT_LIST(resource, "sf.4@0 sf.5@0");
	FOUND(resource, HCA("sf.4 identity=a/sf3 parent=a", "0", ""));
	EXPECT_LIST(resource, "sf.5@0 sf.4@0");
	FOUND(resource, HCA("sf.4 identity=a/sf3 parent=a", "0", ""),
	      HCA("sf.6 identity=a/sf1 parent=a", "0", ""));
	EXPECT_LIST(resource, "sf.6@0 sf.5@0 sf.4@0");
}

static void a_bad_device_means_what_the_policy_says(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *config, *one_bad, *all_bad;
	} cases[] = {
		{"", "a! b c", "a! b! c!"},
		{"policy=perDevice", "a! b c", "a! b! c!"},
		{"policy=allDevices", "a! b c", "a! b! c!"},
		{"policy=anyDevice", "a! b! c!", "a! b! c!"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *config =
			g_strconcat("mode=exclusive topology=0 ", cases[i].config, NULL);
		g_autoptr(Resource) resource = resource_build(config);

		FOUND(resource, HCA("a", "0", ""), HCA("b", "0", ""), HCA("c", "0", ""));
		EXPECT_LIST(resource, "a b c");
		resource_set_health(resource, "a", FALSE, "link");
		EXPECT_LIST(resource, cases[i].one_bad);
		resource_set_health(resource, "b", FALSE, "link");
		resource_set_health(resource, "c", FALSE, "link");
		EXPECT_LIST(resource, cases[i].all_bad);
	}
}

static void trouble_is_having_no_healthy_device(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("mode=exclusive");
	g_autoptr(Resource) any = resource_build("mode=exclusive policy=anyDevice");

	EXPECT_TROUBLE(resource,
		       "no device matches its selectors; 'rdmadp explain' tells what is there");
	FOUND(resource, "a rdma=mlx5_0 cm");
	EXPECT_TROUBLE(resource, "its only HCA cannot be used: uverbs for mlx5_0 missing ('a'), "
				 "load the module ib_uverbs (modprobe ib_uverbs)");
	FOUND(resource, HCA("a", "0", ""), HCA("b", "0", ""));
	EXPECT_TROUBLE(resource, "none");
	resource_set_health(resource, "a", FALSE, "link");
	EXPECT_TROUBLE(resource, "none");
	resource_set_health(resource, "b", FALSE, "link");
	EXPECT_TROUBLE(resource, "none of its 2 HCAs can be used: link ('a' and 1 more)");
	FOUND(any, HCA("a", "0", ""), HCA("b", "0", ""));
	resource_set_health(any, "a", FALSE, "link");
	EXPECT_TROUBLE(any, "1 of its 2 HCAs cannot be used and its healthPolicy is anyDevice: "
			    "link ('a')");
}

static void the_mode_can_change(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("mode=auto hcaMax=3");

	assert_false(resource_is_exclusive(resource));
	FOUND(resource, HCA("a", "0", ""), HCA("b", "1", ""));
	EXPECT_LIST(resource, "rdma/r-0 rdma/r-1 rdma/r-2");
	resource_set_exclusive(resource, TRUE);
	assert_true(resource_is_exclusive(resource));
	EXPECT_LIST(resource, "a@0 b@1");
	resource_set_exclusive(resource, FALSE);
	EXPECT_LIST(resource, "rdma/r-0 rdma/r-1 rdma/r-2");
}

/* --- Allocate --- */

/* A file that is not right any more: gone if it has not moved. */
struct look {
	const char *file, *moved_to;
	GString *left_out;
};

static char *look_again(const struct char_file *file, gpointer data, GError **error)
{
	const struct look *look = data;

	if (look->file == NULL || !g_str_has_suffix(file->host_path, look->file))
		return g_strdup(file->host_path);
	if (look->moved_to == NULL)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NXIO, "'%s' is another device now",
			    file->host_path);
	return g_strdup(look->moved_to);
}

static void hear(const char *text, gpointer data)
{
	g_string_append(((struct look *)data)->left_out, text);
}

static void append_grant(GString *text, const struct allocation_grant *grant)
{
	const char *const paths[] = {grant->rdma_cm, grant->uverbs, grant->umad, grant->issm};

	g_string_append_printf(text, "%s%s(%s", text->len > 0 ? " " : "", grant->id,
			       grant->rdma_devices);
	if (grant->parent != NULL)
		g_string_append_printf(text, "<%s", grant->parent);
	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++)
		if (paths[i] != NULL)
			g_string_append_printf(text, " %s", strrchr(paths[i], '/') + 1);
	g_string_append_c(text, ')');
}

/* The files without their directories, variables and grants; or the error. */
static char *compose_text(const Resource *resource, const char *ids, struct look *look)
{
	const struct file_checker checker = {look_again, hear, look};
	g_auto(GStrv) list = g_strsplit(ids, " ", -1);
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource);
	g_autoptr(GError) error = NULL;
	g_autoptr(Allocation) allocation =
		resource_compose(resource_config(resource), snapshot, (const char *const *)list,
				 g_strv_length(list), &checker, &error);
	g_autoptr(GString) grants = g_string_new(NULL);
	GString *text = g_string_new(NULL);

	if (allocation == NULL) {
		g_string_append(text, error->message);
		return g_string_free(text, FALSE);
	}
	for (guint i = 0; i < allocation->devices->len; i++) {
		const struct allocation_device *device = allocation->devices->pdata[i];

		assert_string_equal(device->permissions, "rw");
		assert_string_equal(device->container_path, device->host_path);
		g_string_append_printf(text, "%s%s", i > 0 ? " " : "",
				       strrchr(device->host_path, '/') + 1);
	}
	for (guint i = 0; i < allocation->envs->len; i++) {
		const struct allocation_pair *pair = allocation->envs->pdata[i];

		g_string_append_printf(text, " %s=%s", pair->key, pair->value);
	}
	for (guint i = 0; i < allocation->grants->len; i++)
		append_grant(grants, allocation->grants->pdata[i]);
	g_string_append_printf(text, " | %s", grants->str);
	return g_string_free(text, FALSE);
}

static const char *const three[] = {
	"a rdma=mlx5_0 port=1:ib:active uverbs=0 umad=0 issm=0 cm",
	"b vf parent=a rdma=mlx5_1 port=1:ib:active uverbs=10 umad=1 node=vendor0 cm",
	"c rdma=mlx5_2 port=1:eth:active uverbs=2 umad=2 rdma=mlx5_3 port=1:eth:active "
	"uverbs=3 umad=3 cm",
	NULL,
};

static const struct {
	const char *config, *ids;
	struct look look;
	const char *text, *left_out;
} composed[] = {
	{"", "a", {0}, "rdma_cm uverbs0 | a(mlx5_0 rdma_cm uverbs0)", ""},
	{"", "b", {0}, "rdma_cm uverbs10 vendor0 | b(mlx5_1<a rdma_cm uverbs10)", ""},
	/* sorted, rdma_cm once, in whatever order and however often it is asked */
	{"hcaList=NCCL_IB_HCA",
	 "c a c",
	 {0},
	 "rdma_cm uverbs0 uverbs2 uverbs3 NCCL_IB_HCA=mlx5_0,mlx5_2,mlx5_3 | "
	 "a(mlx5_0 rdma_cm uverbs0) c(mlx5_2,mlx5_3 rdma_cm uverbs2)",
	 ""},
	{"umad=optional issm=optional",
	 "a",
	 {0},
	 "issm0 rdma_cm umad0 uverbs0 | a(mlx5_0 rdma_cm uverbs0 umad0 issm0)",
	 ""},
	{"rdma_cm=off", "a", {0}, "uverbs0 | a(mlx5_0 uverbs0)", ""},
	/* re-checked at that moment */
	{"",
	 "a",
	 {"uverbs0", "/dev/infiniband/uverbs7", NULL},
	 "rdma_cm uverbs7 | a(mlx5_0 rdma_cm uverbs7)",
	 ""},
	{"",
	 "b a",
	 {"uverbs0", NULL, NULL},
	 "device 'a' of 'rdma/r': '/dev/infiniband/uverbs0' is another device now",
	 ""},
	/* of a device that was not asked for */
	{"",
	 "b",
	 {"uverbs0", NULL, NULL},
	 "rdma_cm uverbs10 vendor0 | b(mlx5_1<a rdma_cm uverbs10)",
	 ""},
	{"",
	 "b",
	 {"vendor0", NULL, NULL},
	 "device 'b' of 'rdma/r': '/dev/vendor0' is another device now",
	 ""},
	{"umad=optional",
	 "a",
	 {"umad0", NULL, NULL},
	 "rdma_cm uverbs0 | a(mlx5_0 rdma_cm uverbs0)",
	 "device 'a' of 'rdma/r': '/dev/infiniband/umad0' is another device now"},
	{"umad=required",
	 "a",
	 {"umad0", NULL, NULL},
	 "device 'a' of 'rdma/r': '/dev/infiniband/umad0' is another device now",
	 ""},
	{"rdma_cm=optional",
	 "a",
	 {"rdma_cm", NULL, NULL},
	 "uverbs0 | a(mlx5_0 uverbs0)",
	 "device 'a' of 'rdma/r': '/dev/infiniband/rdma_cm' is another device now"},
	{"", "a x", {0}, "'rdma/r' has no device 'x'", ""},
	{"", "rdma/r-0", {0}, "'rdma/r' has no device 'rdma/r-0'", ""},
};

static void a_container_gets_what_it_was_given(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(composed); i++) {
		g_autofree char *config = g_strconcat("mode=exclusive ", composed[i].config, NULL);
		g_autoptr(Resource) resource = resource_build(config);
		g_autoptr(GString) left_out = g_string_new(NULL);
		struct look look = composed[i].look;
		g_autofree char *text = NULL;

		look.left_out = left_out;
		resource_found(resource, three);
		text = compose_text(resource, composed[i].ids, &look);
		assert_string_equal(text, composed[i].text);
		assert_string_equal(left_out->str, composed[i].left_out);
	}
}

static void a_device_that_is_gone_or_incomplete_is_an_error(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("mode=exclusive");
	struct look look = {0};
	g_autofree char *gone = NULL, *incomplete = NULL, *fine = NULL;

	resource_found(resource, three);
	FOUND(resource, three[1], "c rdma=mlx5_2 port=1:eth:active cm");
	gone = compose_text(resource, "a", &look);
	assert_string_equal(gone,
			    "device 'a' of 'rdma/r' cannot be used now: the device is gone or "
			    "no longer selected");
	incomplete = compose_text(resource, "b c", &look);
	assert_string_equal(incomplete, "device 'c' of 'rdma/r' cannot be used now: uverbs for "
					"mlx5_2 missing");
	/* health is no reason to refuse: the kubelet does not choose what is Unhealthy */
	resource_set_health(resource, "b", FALSE, "link");
	fine = compose_text(resource, "b", &look);
	assert_string_equal(fine, "rdma_cm uverbs10 vendor0 | b(mlx5_1<a rdma_cm uverbs10)");
}

static void without_a_checker_the_paths_are_as_they_are(G_GNUC_UNUSED void **state)
{
	static const char *const ids[] = {"a"};
	g_autoptr(Resource) resource = resource_build("mode=exclusive");
	g_autoptr(Snapshot) snapshot = NULL;
	g_autoptr(Allocation) allocation = NULL;

	resource_found(resource, three);
	snapshot = resource_snapshot(resource);
	allocation = resource_compose(resource_config(resource), snapshot, ids, 1, NULL, NULL);
	assert_int_equal(allocation->devices->len, 2);
}

/* An id of before that only stays until no pod holds it. */
static void an_id_of_another_time_cannot_be_allocated(G_GNUC_UNUSED void **state)
{
	static const char *const ids[] = {"rdma/r-0"};
	g_autoptr(Resource) resource = resource_build("mode=exclusive");
	g_autoptr(Snapshot) snapshot = NULL;
	g_autoptr(GError) error = NULL;

	resource_found(resource, three);
	snapshot = resource_snapshot(resource);
	snapshot_add_slot(snapshot, g_strdup("rdma/r-0"), FALSE, -1);
	assert_null(resource_compose(resource_config(resource), snapshot, ids, 1, NULL, &error));
	assert_string_equal(error->message,
			    "'rdma/r' does not offer the device 'rdma/r-0' any more");
}

/* --- GetPreferredAllocation --- */

static void near_devices_are_preferred(G_GNUC_UNUSED void **state)
{
	static const char *const machine[] = {
		HCA("0", "0", "pcie=pci0,r0/s0/0"),
		HCA("1", "0", "pcie=pci0,r0/s0/1"),
		HCA("2", "0", "pcie=pci0,r0/s1/2"),
		HCA("3", "0", "pcie=pci0,r0/s1/3"),
		HCA("4", "1", "pcie=pci8,r8/s8/4"),
		HCA("5", "1", "pcie=pci8,r8/s8/5"),
		HCA("6", "1", "pcie=pci9,r9/s9/6"),
		HCA("7", "1", "pcie=pci9,r9/s9/7"),
		NULL,
	};
	static const struct {
		const char *available, *must;
		gsize size;
		const char *chosen;
	} cases[] = {
		{"0 1 2 3 4 5 6 7", "", 1, "0"},
		{"0 1 2 3 4 5 6 7", "", 2, "0 1"},
		{"1 2 3 4 6 7", "", 2, "2 3"},
		{"1 2 4 6 7", "", 2, "6 7"},
		{"0 1 2 3 4 5 6 7", "", 4, "0 1 2 3"},
		{"7 5 3 1", "", 2, "1 3"},
		{"0 1 2 3 4 5 6 7", "3", 2, "2 3"},
		/* what must be included need not be named as available */
		{"0 1 2 4 5 6 7", "3", 2, "2 3"},
		{"0 1 2 3 4 5 6 7", "0 6", 3, "0 1 6"},
		{"0 1", "", 5, "0 1"},
		{"x y 0", "", 2, "x y"},
	};
	g_autoptr(Resource) resource = resource_build("mode=exclusive");
	g_autoptr(Snapshot) snapshot = NULL;

	resource_found(resource, machine);
	snapshot = resource_snapshot(resource);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) available = g_strsplit(cases[i].available, " ", -1);
		g_auto(GStrv) must = g_strsplit(cases[i].must, " ", -1);
		g_autoptr(GPtrArray) chosen = exclusive_prefer(
			snapshot, (const char *const *)available, (const char *const *)must,
			cases[i].size, ALLOCATION_PACKED);
		g_autofree char *text = NULL;

		g_ptr_array_add(chosen, NULL);
		text = g_strjoinv(" ", (GStrv)chosen->pdata);
		assert_string_equal(text, cases[i].chosen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kubelet_and_cni_plugins_know_the_id),
		cmocka_unit_test(the_list_has_one_device_for_each_hca),
		cmocka_unit_test(a_device_never_leaves_the_list),
		cmocka_unit_test(a_device_without_files_is_waited_for),
		cmocka_unit_test(a_sub_function_that_is_made_anew_has_one_id),
		cmocka_unit_test(a_bad_device_means_what_the_policy_says),
		cmocka_unit_test(trouble_is_having_no_healthy_device),
		cmocka_unit_test(the_mode_can_change),
		cmocka_unit_test(a_container_gets_what_it_was_given),
		cmocka_unit_test(a_device_that_is_gone_or_incomplete_is_an_error),
		cmocka_unit_test(without_a_checker_the_paths_are_as_they_are),
		cmocka_unit_test(an_id_of_another_time_cannot_be_allocated),
		cmocka_unit_test(near_devices_are_preferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
