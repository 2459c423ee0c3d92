/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/device_info.h"

#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/fixture.h"

static ResourceConfig *config_named(const char *prefix, const char *name)
{
	ResourceConfig *config = resource_config_new();

	config->prefix = g_strdup(prefix);
	config->name = g_strdup(name);
	config->full_name = g_strconcat(prefix, "/", name, NULL);
	return config;
}

/* Two devices, in the wrong order until allocation_finish. */
static Allocation *two_devices(void)
{
	Allocation *allocation = allocation_new();
	struct allocation_grant *second = allocation_add_grant(allocation, "0000:af:06.1");
	struct allocation_grant *first = allocation_add_grant(allocation, "0000:af:06.0");

	first->is_pci = second->is_pci = TRUE;
	first->parent = g_strdup("0000:af:00.0");
	first->rdma_devices = g_strdup("mlx5_4,mlx5_9");
	first->rdma_cm = g_strdup("/dev/infiniband/rdma_cm");
	first->uverbs = g_strdup("/dev/infiniband/uverbs4");
	first->umad = g_strdup("/dev/infiniband/umad4");
	first->issm = g_strdup("/dev/infiniband/issm4");
	second->rdma_devices = g_strdup("mlx5_5");
	second->uverbs = g_strdup("/dev/infiniband/uverbs5");
	allocation_finish(allocation);
	return allocation;
}

#define INFO                                                                                       \
	"{\"0000:af:06.0\":{\"generic\":{\"deviceID\":\"0000:af:06.0\"},\"rdma\":{"                \
	"\"issm\":\"/dev/infiniband/issm4\",\"rdma_cm\":\"/dev/infiniband/rdma_cm\","              \
	"\"rdma_dev\":\"mlx5_4\",\"umad\":\"/dev/infiniband/umad4\","                              \
	"\"uverbs\":\"/dev/infiniband/uverbs4\"}},"                                                \
	"\"0000:af:06.1\":{\"generic\":{\"deviceID\":\"0000:af:06.1\"},\"rdma\":{"                 \
	"\"rdma_dev\":\"mlx5_5\",\"uverbs\":\"/dev/infiniband/uverbs5\"}}}"

static void variables_are_those_of_the_sriov_plugin(void **state)
{
	static const struct {
		const char *prefix, *name;
		const char *variables[4];
	} cases[] = {
		{"rdma", "hca", {"PCIDEVICE_RDMA_HCA", NULL}},
		{"huawei.com", "rdma_x.1", {"PCIDEVICE_HUAWEI_COM_RDMA_X_1", NULL}},
		{"mellanox.com",
		 "mlnx-rdma",
		 {"PCIDEVICE_MELLANOX_COM_MLNX-RDMA", "PCIDEVICE_MELLANOX_COM_MLNX_RDMA", NULL}},
		{"my-org.io", "hca", {"PCIDEVICE_MY-ORG_IO_HCA", "PCIDEVICE_MY_ORG_IO_HCA", NULL}},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(ResourceConfig) config = config_named(cases[i].prefix, cases[i].name);
		g_autoptr(Allocation) allocation = two_devices();
		gsize n = g_strv_length((GStrv)cases[i].variables);

		device_info_add_env(allocation, config);
		assert_int_equal(allocation->envs->len, 2 * n);
		for (gsize j = 0; j < n; j++) {
			const struct allocation_pair *ids =
				g_ptr_array_index(allocation->envs, 2 * j);
			const struct allocation_pair *info =
				g_ptr_array_index(allocation->envs, 2 * j + 1);
			g_autofree char *info_key =
				g_strconcat(cases[i].variables[j], "_INFO", NULL);

			assert_string_equal(ids->key, cases[i].variables[j]);
			assert_string_equal(ids->value, "0000:af:06.0,0000:af:06.1");
			assert_string_equal(info->key, info_key);
			assert_string_equal(info->value, INFO);
		}
	}
}

/* --- files --- */

static char *content(const char *root, const char *name)
{
	g_autofree char *path = g_build_filename(root, "dp", name, NULL);
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("none");
}

#define EXPECT_FILE(name, expected)                                                                \
	do {                                                                                       \
		g_autofree char *expect_text = content(root, name);                                \
		assert_string_equal(expect_text, expected);                                        \
	} while (0)

static guint count_entries(const char *root)
{
	g_autofree char *path = g_build_filename(root, "dp", NULL);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	guint n = 0;

	while (dir != NULL && g_dir_read_name(dir) != NULL)
		n++;
	return n;
}

#define FIRST "rdma-hca-0000:af:06.0-device.json"
#define SECOND "rdma-hca-0000:af:06.1-device.json"
#define FIRST_TEXT                                                                                 \
	"{\"type\":\"pci\",\"version\":\"1.1.0\",\"pci\":{\"pci-address\":\"0000:af:06.0\","       \
	"\"rdma-device\":\"mlx5_4,mlx5_9\",\"pf-pci-address\":\"0000:af:00.0\"}}"
#define SECOND_TEXT                                                                                \
	"{\"type\":\"pci\",\"version\":\"1.1.0\",\"pci\":{\"pci-address\":\"0000:af:06.1\","       \
	"\"rdma-device\":\"mlx5_5\"}}"

static void files_are_written_and_removed_at_the_end(void **state)
{
	g_autofree char *root = g_dir_make_tmp("rdmadp-devinfo-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(root, "dp", NULL);
	g_autofree char *first = g_build_filename(path, FIRST, NULL);
	g_autoptr(Allocation) allocation = two_devices();
	DeviceInfoDir *dir = device_info_dir_new(path, "rdma/hca");
	struct stat status;

	(void)state;
	assert_int_equal(count_entries(root), 0);
	/* twice: the kubelet may ask for the same devices again */
	assert_true(device_info_dir_write(dir, allocation, NULL));
	assert_true(device_info_dir_write(dir, allocation, NULL));
	EXPECT_FILE(FIRST, FIRST_TEXT);
	EXPECT_FILE(SECOND, SECOND_TEXT);
	assert_int_equal(count_entries(root), 2);
	assert_int_equal(stat(first, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0444);
	device_info_dir_remove(dir, "0000:af:06.1");
	EXPECT_FILE(SECOND, "none");
	device_info_dir_free(dir);
	device_info_dir_free(NULL);
	assert_int_equal(count_entries(root), 0);
	fixture_remove(root);
}

static void what_others_have_written_stays(void **state)
{
	g_autofree char *root = g_dir_make_tmp("rdmadp-devinfo-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(root, "dp", NULL);
	g_autofree char *other =
		g_build_filename(path, "rdma-hca-x-0000:af:06.0-device.json", NULL);
	g_autofree char *left = g_build_filename(path, FIRST, NULL);
	DeviceInfoDir *dir = device_info_dir_new(path, "rdma/hca");

	(void)state;
	assert_int_equal(g_mkdir(path, 0755), 0);
	assert_true(g_file_set_contents(other, "{}", -1, NULL));
	assert_true(g_file_set_contents(left, "{}", -1, NULL));
	device_info_dir_remove(dir, "0000:af:06.0");
	EXPECT_FILE(FIRST, "none");
	device_info_dir_free(dir);
	assert_int_equal(count_entries(root), 1);
	fixture_remove(root);
}

/* The specification knows PCI addresses; what is none would mislead its readers. */
static void only_pci_devices_have_files(void **state)
{
	g_autofree char *root = g_dir_make_tmp("rdmadp-devinfo-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(root, "dp", NULL);
	g_autoptr(DeviceInfoDir) dir = device_info_dir_new(path, "rdma/hca");
	g_autoptr(Allocation) allocation = two_devices();

	(void)state;
	((struct allocation_grant *)allocation->grants->pdata[0])->is_pci = FALSE;
	assert_true(device_info_dir_write(dir, allocation, NULL));
	assert_int_equal(count_entries(root), 1);
	EXPECT_FILE(SECOND, SECOND_TEXT);
	fixture_remove(root);
}

static void a_failure_names_the_file_and_leaves_nothing(void **state)
{
	g_autofree char *root = g_dir_make_tmp("rdmadp-devinfo-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(root, "dp", NULL);
	g_autofree char *in_the_way = g_build_filename(path, FIRST, "x", NULL);
	g_autoptr(DeviceInfoDir) dir = device_info_dir_new(path, "rdma/hca");
	g_autoptr(DeviceInfoDir) below_a_file = NULL;
	g_autoptr(Allocation) allocation = two_devices();
	g_autofree char *file = g_build_filename(root, "file", NULL);
	g_autofree char *impossible = g_build_filename(file, "dp", NULL);
	g_autoptr(GError) error = NULL;

	(void)state;
	assert_int_equal(g_mkdir_with_parents(in_the_way, 0755), 0);
	assert_false(device_info_dir_write(dir, allocation, &error));
	assert_non_null(strstr(error->message, FIRST "' cannot be replaced"));
	assert_int_equal(count_entries(root), 1);
	g_clear_error(&error);
	assert_true(g_file_set_contents(file, "", -1, NULL));
	below_a_file = device_info_dir_new(impossible, "rdma/hca");
	assert_false(device_info_dir_write(below_a_file, allocation, &error));
	assert_non_null(strstr(error->message, "cannot be made"));
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_are_those_of_the_sriov_plugin),
		cmocka_unit_test(files_are_written_and_removed_at_the_end),
		cmocka_unit_test(what_others_have_written_stays),
		cmocka_unit_test(only_pci_devices_have_files),
		cmocka_unit_test(a_failure_names_the_file_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
