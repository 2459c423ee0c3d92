/* SPDX-License-Identifier: Apache-2.0 */
#include "model/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/device_builder.h"

#define FULL                                                                                       \
	"0000:3b:00.0 identity=guid-1 parent=0000:3a:00.0 driver=mlx5_core numa=1 vf note=a_note " \
	"pcie=pci0000:3a,0000:3a:00.0/0000:3b:00.0 @vendor=15b3 @device=101d @device=101e "        \
	"rdma=mlx5_0,mlx5_ib port=1:ib:active port=2:eth:down rdma=smi1 management "               \
	"port=1:ib:active net=ib0:ib net=ib0.8001:ib:child "                                       \
	"uverbs=1 umad=0:1 issm=0:1 cm node=hns_0"

static void a_copy_has_everything_and_outlives_the_report(G_GNUC_UNUSED void **state)
{
	DeviceBuilder *builder = device_builder_new(FULL);
	g_autoptr(Device) device = device_copy(device_builder_abi(builder), NULL);
	const struct rdmadp_device *abi;

	device_builder_free(builder);
	assert_non_null(device);
	abi = device_abi(device);
	assert_int_equal(abi->size, sizeof(*abi));
	assert_string_equal(device_id(device), "0000:3b:00.0");
	assert_string_equal(device_identity(device), "guid-1");
	assert_string_equal(abi->parent_id, "0000:3a:00.0");
	assert_string_equal(abi->driver, "mlx5_core");
	assert_string_equal(abi->pcie_root, "pci0000:3a");
	assert_string_equal(abi->pcie_path, "0000:3a:00.0/0000:3b:00.0");
	assert_string_equal(abi->note, "a note");
	assert_int_equal(abi->numa_node, 1);
	assert_int_equal(abi->flags, RDMADP_DEVICE_VF);
	assert_int_equal(abi->n_attributes, 3);
	assert_string_equal(abi->attributes[2]->value, "101e");
	assert_int_equal(abi->n_rdma_devices, 2);
	assert_string_equal(abi->rdma_devices[0]->driver, "mlx5_ib");
	assert_int_equal(abi->rdma_devices[0]->n_ports, 2);
	assert_int_equal(abi->rdma_devices[0]->ports[1]->number, 2);
	assert_int_equal(abi->rdma_devices[0]->ports[1]->link_layer, RDMADP_LINK_ETHERNET);
	assert_int_equal(abi->rdma_devices[1]->flags, RDMADP_RDMA_MANAGEMENT_ONLY);
	assert_int_equal(abi->n_netdevs, 2);
	assert_string_equal(abi->netdevs[1]->name, "ib0.8001");
	assert_int_equal(abi->n_nodes, 5);
	assert_string_equal(abi->nodes[0]->sysfs_dir, "class/infiniband_verbs/uverbs1");
	assert_int_equal(abi->nodes[0]->dev_minor, 193);
	assert_null(abi->nodes[4]->rdma_device);
}

static void attributes_are_found_by_key(G_GNUC_UNUSED void **state)
{
	g_autoptr(Device) device = device_build(FULL);

	assert_string_equal(device_attribute(device, "device"), "101d");
	assert_null(device_attribute(device, "Device"));
}

static void references_keep_a_device(G_GNUC_UNUSED void **state)
{
	Device *device = device_build("a");

	assert_ptr_equal(device_ref(device), device);
	device_unref(device);
	assert_string_equal(device_id(device), "a");
	device_unref(device);
	device_unref(NULL);
}

/* A backend of another age: its structs are shorter or longer than ours. */
static void what_an_older_backend_did_not_fill_is_zero(G_GNUC_UNUSED void **state)
{
	g_autoptr(DeviceBuilder) builder = device_builder_new(FULL);
	struct rdmadp_device *reported = device_builder_abi(builder);
	g_autoptr(Device) device = NULL;

	reported->size = offsetof(struct rdmadp_device, n_rdma_devices);
	device = device_copy(reported, NULL);
	assert_non_null(device);
	assert_int_equal(device_abi(device)->size, sizeof(struct rdmadp_device));
	assert_int_equal(device_abi(device)->n_attributes, 3);
	assert_int_equal(device_abi(device)->n_nodes, 0);
	assert_null(device_abi(device)->nodes);
}

static void elements_of_an_older_backend_are_completed(G_GNUC_UNUSED void **state)
{
	g_autoptr(DeviceBuilder) builder = device_builder_new("a node=x rdma=r port=1:ib:active");
	g_autoptr(Device) device = NULL;
	const struct rdmadp_device *abi;

	device_builder_node(builder, 0)->size = offsetof(struct rdmadp_node, rdma_device);
	device_builder_rdma(builder, 0)->size = offsetof(struct rdmadp_rdma_device, driver);
	device = device_copy(device_builder_abi(builder), NULL);
	assert_non_null(device);
	abi = device_abi(device);
	assert_int_equal(abi->nodes[0]->size, sizeof(struct rdmadp_node));
	assert_int_equal(abi->nodes[0]->dev_major, 0);
	assert_int_equal(abi->rdma_devices[0]->n_ports, 0);
}

static void what_a_newer_backend_added_is_left_out(G_GNUC_UNUSED void **state)
{
	struct {
		struct rdmadp_device known;
		const char *added;
	} newer = {.known = {.size = sizeof(newer), .id = "a", .identity = "a"}, .added = "b"};
	g_autoptr(Device) device = device_copy(&newer.known, NULL);

	assert_non_null(device);
	assert_int_equal(device_abi(device)->size, sizeof(struct rdmadp_device));
}

/* The name of a node as the text says; an empty one as it is. */
static const struct {
	const char *words;
	const char *error; /* NULL: taken */
} reports[] = {
	{"0000:3b:00.0", NULL},
	{"10000:01:00.0", NULL},
	{"mlx5_core.sf.4", NULL},
	{" driver=x", "id '' is empty"},
	{"b\303\266se", "id 'b\\303\\266se' is not printable ASCII without white space"},
	{"a\tb", "id 'a\\tb' is not printable ASCII without white space"},
	{"0123456789012345678901234567890123456789012345678901234567890123",
	 "id '0123456789012345678901234567890123456789012345678901234567890123' is longer than "
	 "63 bytes"},
	{"a identity=", "device 'a': identity '' is empty"},
	{"a parent=", "device 'a': parent_id '' is empty"},
	{"a driver=\377", "device 'a': driver '\\377' is not UTF-8"},
	{"a note=l1\nl2", "device 'a': note 'l1\\nl2' contains a control character"},
	{"a note=\302\205", "device 'a': note '\\302\\205' contains a control character"},
	{"a note=g\303\274ltig", NULL},
	{"a numa=-2", "device 'a': numa_node -2 is not in the range -1 to 65535"},
	{"a numa=65536", "device 'a': numa_node 65536 is not in the range -1 to 65535"},
	{"a @=x", "device 'a': attributes[0].key '' is empty"},
	{"a @k=", NULL},
	{"a @k=v @k2=\n", "device 'a': attributes[1].value '\\n' contains a control character"},
	{"a rdma=", "device 'a': rdma_devices[0].name '' is empty"},
	{"a rdma=x/y", "device 'a': rdma_devices[0].name 'x/y' contains '/' or ','"},
	{"a rdma=r port=0:ib:active",
	 "device 'a': rdma_devices[0].ports[0].number 0 is not in the range 1 to 4294967295"},
	{"a net=\001", "device 'a': netdevs[0].name '\\001' contains a control character"},
	{"a node=", "device 'a': nodes[0].name '' is empty"},
	{"a node=vendor/x0", NULL},
	{"a node=x node=y node=../x", "device 'a': nodes[2].name '../x' is not a path relative to "
				      "/dev, such as infiniband/uverbs0"},
	{"a node=/dev/x", "device 'a': nodes[0].name '/dev/x' is not a path relative to /dev, such "
			  "as infiniband/uverbs0"},
	{"a node=x/../../y", "device 'a': nodes[0].name 'x/../../y' is not a path relative to "
			     "/dev, such as infiniband/uverbs0"},
	{"a node=x//y", "device 'a': nodes[0].name 'x//y' is not a path relative to /dev, such as "
			"infiniband/uverbs0"},
	{"a node=x/", "device 'a': nodes[0].name 'x/' is not a path relative to /dev, such as "
		      "infiniband/uverbs0"},
	{"a node=./x", "device 'a': nodes[0].name './x' is not a path relative to /dev, such as "
		       "infiniband/uverbs0"},
	{"a node=x;y",
	 "device 'a': nodes[0].name 'x;y' contains other characters than letters, digits and "
	 "/._:+@-"},
	{"a node=infiniband/umad0",
	 "device 'a': nodes[0].name 'infiniband/umad0' belongs to a kind of its own, not to "
	 "'other'"},
	{"a node=infiniband/uverbs0",
	 "device 'a': nodes[0].name 'infiniband/uverbs0' belongs to a kind of its own, not to "
	 "'other'"},
	{"a node=infiniband/issm10",
	 "device 'a': nodes[0].name 'infiniband/issm10' belongs to a kind of its own, not to "
	 "'other'"},
	{"a node=infiniband/rdma_cm",
	 "device 'a': nodes[0].name 'infiniband/rdma_cm' belongs to a kind of its own, not to "
	 "'other'"},
	{"a node=infiniband/uverbsX", NULL},
	{"a rdma=r uverbs=", "device 'a': nodes[0].name 'infiniband/uverbs' is not "
			     "infiniband/uverbs<number>"},
	{"a rdma=r uverbs=0x", "device 'a': nodes[0].name 'infiniband/uverbs0x' is not "
			       "infiniband/uverbs<number>"},
	{"a rdma=r umad=1a", "device 'a': nodes[0].name 'infiniband/umad1a' is not "
			     "infiniband/umad<number>"},
	{"a rdma=r issm=1a", "device 'a': nodes[0].name 'infiniband/issm1a' is not "
			     "infiniband/issm<number>"},
};

static void bad_reports_are_refused_and_the_member_named(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(reports); i++) {
		g_autoptr(DeviceBuilder) builder = device_builder_new(reports[i].words);
		g_autoptr(GError) error = NULL;
		g_autoptr(Device) device = device_copy(device_builder_abi(builder), &error);

		assert_string_equal(error == NULL ? "taken" : error->message,
				    reports[i].error == NULL ? "taken" : reports[i].error);
		assert_int_equal(device != NULL, error == NULL);
		assert_true(error == NULL || error->domain == DEVICE_ERROR);
	}
}

static void refuse(DeviceBuilder *builder, const char *expected)
{
	g_autoptr(GError) error = NULL;

	assert_null(device_copy(device_builder_abi(builder), &error));
	assert_string_equal(error->message, expected);
}

static void missing_members_are_refused(G_GNUC_UNUSED void **state)
{
	g_autoptr(DeviceBuilder) builder = device_builder_new(FULL);
	struct rdmadp_device good = *device_builder_abi(builder);
	struct rdmadp_device *abi = device_builder_abi(builder);

	abi->id = NULL;
	refuse(builder, "id is missing");
	*abi = good;
	abi->identity = NULL;
	refuse(builder, "device '0000:3b:00.0': identity is missing");
	*abi = good;
	abi->size = 0;
	refuse(builder, "size 0 is too small: members that must be there are not; set it to "
			"sizeof of the struct");
	abi->size = offsetof(struct rdmadp_device, note) + 4;
	refuse(builder, "size 60 is no size that this struct ever had");
	*abi = good;
	abi->nodes = NULL;
	refuse(builder, "device '0000:3b:00.0': nodes is NULL, but its count is not 0");
	*abi = good;
	device_builder_node(builder, 1)->rdma_device = NULL;
	refuse(builder, "device '0000:3b:00.0': nodes[1].name 'infiniband/umad0' needs its "
			"rdma_device");
}

static void missing_elements_are_refused(G_GNUC_UNUSED void **state)
{
	static const struct rdmadp_attribute *const none[] = {NULL};
	static const struct rdmadp_port *const no_ports[] = {NULL};
	g_autoptr(DeviceBuilder) builder = device_builder_new("a @k=v rdma=r port=1:ib:down");
	struct rdmadp_device *abi = device_builder_abi(builder);
	const struct rdmadp_attribute *const *attributes = abi->attributes;

	abi->attributes = none;
	refuse(builder, "device 'a': attributes[0] is NULL");
	abi->attributes = attributes;
	device_builder_attribute(builder, 0)->value = NULL;
	refuse(builder, "device 'a': attributes[0].value is missing");
	device_builder_attribute(builder, 0)->value = "v";
	device_builder_rdma(builder, 0)->ports = no_ports;
	refuse(builder, "device 'a': rdma_devices[0].ports[0] is NULL");
	device_builder_rdma(builder, 0)->size = 4;
	refuse(builder, "device 'a': rdma_devices[0].size 4 is too small: members that must be "
			"there are not; set it to sizeof of the struct");
}

static void numbers_and_directories_of_nodes_are_checked(G_GNUC_UNUSED void **state)
{
	g_autoptr(DeviceBuilder) builder = device_builder_new("a node=x");
	struct rdmadp_node *node = device_builder_node(builder, 0);

	node->dev_major = 4096;
	refuse(builder, "device 'a': nodes[0].dev_major 4096 is not in the range 0 to 4095");
	node->dev_major = 1;
	node->dev_minor = 1 << 20;
	refuse(builder, "device 'a': nodes[0].dev_minor 1048576 is not in the range 0 to 1048575");
	node->dev_minor = 1;
	node->sysfs_dir = "class/../../etc";
	refuse(builder, "device 'a': nodes[0].sysfs_dir 'class/../../etc' leaves the sysfs root");
	node->sysfs_dir = "/class/x";
	refuse(builder, "device 'a': nodes[0].sysfs_dir '/class/x' leaves the sysfs root");
	node->sysfs_dir = "a b";
	refuse(builder, "device 'a': nodes[0].sysfs_dir 'a b' is not printable ASCII without white "
			"space");
}

static void a_node_of_a_newer_kind_is_kept(G_GNUC_UNUSED void **state)
{
	g_autoptr(DeviceBuilder) builder = device_builder_new("a node=infiniband/new0");
	g_autoptr(Device) device = NULL;

	device_builder_node(builder, 0)->kind = 77;
	device = device_copy(device_builder_abi(builder), NULL);
	assert_non_null(device);
	assert_int_equal(device_abi(device)->nodes[0]->kind, 77);
}

static void endless_lists_are_refused(G_GNUC_UNUSED void **state)
{
	static const struct {
		gsize count;
		guint32 value;
		const char *error;
	} limits[] = {
		{offsetof(struct rdmadp_device, n_attributes), 257,
		 "device 'a': attributes has 257 elements; the limit is 256"},
		{offsetof(struct rdmadp_device, n_rdma_devices), 65,
		 "device 'a': rdma_devices has 65 elements; the limit is 64"},
		{offsetof(struct rdmadp_device, n_netdevs), 1025,
		 "device 'a': netdevs has 1025 elements; the limit is 1024"},
		{offsetof(struct rdmadp_device, n_nodes), G_MAXUINT32,
		 "device 'a': nodes has 4294967295 elements; the limit is 4096"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
		g_autoptr(DeviceBuilder) builder = device_builder_new("a @k=v rdma=r net=n node=x");

		G_STRUCT_MEMBER(guint32, device_builder_abi(builder), limits[i].count) =
			limits[i].value;
		refuse(builder, limits[i].error);
	}
}

static void a_long_value_is_cut_in_the_message(G_GNUC_UNUSED void **state)
{
	g_autofree char *driver = g_strnfill(200, 'x');
	g_autofree char *shown = g_strnfill(80, 'x');
	g_autofree char *words = g_strconcat("a driver=", driver, NULL);
	g_autofree char *expected =
		g_strdup_printf("device 'a': driver '%s' is longer than 63 bytes", shown);
	g_autoptr(DeviceBuilder) builder = device_builder_new(words);

	refuse(builder, expected);
}

static void equality_sees_every_member(G_GNUC_UNUSED void **state)
{
	static const char *const others[] = {
		"b",
		"a identity=b",
		"a parent=b",
		"a driver=b",
		"a numa=0",
		"a vf",
		"a note=b",
		"a pcie=b",
		"a @k=v",
		"a @k=w",
		"a @l=v",
		"a @k=v @k=v",
		"a rdma=r",
		"a rdma=s",
		"a rdma=r,d",
		"a rdma=r management",
		"a rdma=r port=1:ib:active",
		"a rdma=r port=2:ib:active",
		"a rdma=r port=1:eth:active",
		"a rdma=r port=1:ib:down",
		"a net=n",
		"a net=n:ib",
		"a net=n:eth:upper",
		"a node=x",
		"a node=y",
		"a rdma=r uverbs=0",
		"a rdma=r uverbs=1",
		"a rdma=r umad=0",
		"a rdma=r umad=0:2",
		"a cm",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
		for (gsize j = 0; j < G_N_ELEMENTS(others); j++) {
			g_autoptr(Device) a = device_build(others[i]);
			g_autoptr(Device) b = device_build(others[j]);

			assert_int_equal(device_equal(a, b), i == j);
			assert_true(device_equal(a, a));
		}
	}
}

static void devices_are_ordered_by_id(G_GNUC_UNUSED void **state)
{
	static const char *const words[] = {"0000:3b:00.1 identity=a", "0000:3b:00.0 identity=b",
					    "0000:0a:00.0 identity=c", NULL};
	g_autoptr(GPtrArray) devices = device_build_all(words);

	assert_string_equal(device_identity(devices->pdata[0]), "c");
	assert_string_equal(device_identity(devices->pdata[1]), "b");
	assert_string_equal(device_identity(devices->pdata[2]), "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_has_everything_and_outlives_the_report),
		cmocka_unit_test(attributes_are_found_by_key),
		cmocka_unit_test(references_keep_a_device),
		cmocka_unit_test(what_an_older_backend_did_not_fill_is_zero),
		cmocka_unit_test(elements_of_an_older_backend_are_completed),
		cmocka_unit_test(what_a_newer_backend_added_is_left_out),
		cmocka_unit_test(bad_reports_are_refused_and_the_member_named),
		cmocka_unit_test(missing_members_are_refused),
		cmocka_unit_test(missing_elements_are_refused),
		cmocka_unit_test(numbers_and_directories_of_nodes_are_checked),
		cmocka_unit_test(a_node_of_a_newer_kind_is_kept),
		cmocka_unit_test(endless_lists_are_refused),
		cmocka_unit_test(a_long_value_is_cut_in_the_message),
		cmocka_unit_test(equality_sees_every_member),
		cmocka_unit_test(devices_are_ordered_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
