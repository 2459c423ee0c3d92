/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "edge/node_check.h"
#include "support/descriptors.h"
#include "support/fixture.h"

static const char machine[] = "pci 0000:3b:00.0 class=0x020000 vendor=0x15b3 device=0x101d "
			      "driver=mlx5_core numa=0\n"
			      "ib 0000:3b:00.0 mlx5_0\n"
			      "uverbs 0000:3b:00.0 0 mlx5_0\n"
			      "umad 0000:3b:00.0 0 mlx5_0 1\n"
			      "rdma_cm 10:121\n";

static struct char_file uverbs0 = {
	.host_path = (char *)"/dev/infiniband/uverbs0",
	.dev_name = (char *)"infiniband/uverbs0",
	.rdma_device = (char *)"mlx5_0",
	.sysfs_dir = (char *)"class/infiniband_verbs/uverbs0",
	.dev_major = 231,
	.dev_minor = 192,
};
static struct char_file umad0 = {
	.host_path = (char *)"/dev/infiniband/umad0",
	.dev_name = (char *)"infiniband/umad0",
	.rdma_device = (char *)"mlx5_0",
	.sysfs_dir = (char *)"class/infiniband_mad/umad0",
	.dev_major = 231,
	.dev_minor = 0,
};
static struct char_file rdma_cm = {
	.host_path = (char *)"/dev/infiniband/rdma_cm",
	.dev_name = (char *)"infiniband/rdma_cm",
	.sysfs_dir = (char *)"class/misc/rdma_cm",
	.dev_major = 10,
	.dev_minor = 121,
};

/* After 'change', resolving 'file' gives 'path', or an error that has 'error'. */
static const struct row {
	const char *name;
	const char *change;
	struct char_file *file;
	const char *path;
	const char *error;
} rows[] = {
	{"nothing changed", "", &uverbs0, "/dev/infiniband/uverbs0", NULL},
	{"nothing changed, for all HCAs", "", &rdma_cm, "/dev/infiniband/rdma_cm", NULL},
	{"renumbered by a driver reload",
	 "remove sys/class/infiniband_verbs/uverbs0\nuverbs 0000:3b:00.0 7 mlx5_0\n", &uverbs0,
	 "/dev/infiniband/uverbs7", NULL},
	{"taken over by another HCA",
	 "file sys/devices/pci0000:00/0000:3b:00.0/infiniband_verbs/uverbs0/ibdev = mlx5_5\n",
	 &uverbs0, NULL, "no longer belongs to the RDMA device 'mlx5_0'"},
	{"umad is not looked for elsewhere",
	 "remove sys/class/infiniband_mad/umad0\numad 0000:3b:00.0 3 mlx5_0 1\n", &umad0, NULL,
	 "'/dev/infiniband/umad0' no longer belongs"},
	{"the number is a FIFO",
	 "remove sys/class/misc/rdma_cm\ndir sys/class/misc/rdma_cm\n"
	 "fifo sys/class/misc/rdma_cm/dev\n",
	 &rdma_cm, NULL, "has no number in sysfs any more"},
	{"the number is no number", "file sys/class/misc/rdma_cm/dev = ten\n", &rdma_cm, NULL,
	 "has no number in sysfs any more"},
	{"module removed", "remove sys/class/misc/rdma_cm\nremove dev/infiniband/rdma_cm\n",
	 &rdma_cm, NULL, "has no number in sysfs any more"},
	{"the node is gone", "remove dev/infiniband/uverbs0\n", &uverbs0, NULL,
	 "'/dev/infiniband/uverbs0' cannot be used: No such file or directory below dev_root '/"},
	{"a link in place of the node",
	 "remove dev/infiniband/uverbs0\nlink dev/infiniband/uverbs0 -> ../null\n", &uverbs0, NULL,
	 "is a symbolic link and not the character device 231:192"},
	{"a file in place of the node",
	 "remove dev/infiniband/uverbs0\nfile dev/infiniband/uverbs0 = x\n", &uverbs0, NULL,
	 "is a regular file and not the character device 231:192"},
	{"a directory in place of the node",
	 "remove dev/infiniband/uverbs0\ndir dev/infiniband/uverbs0\n", &uverbs0, NULL,
	 "is a directory and not the character device 231:192"},
	{"the node has another number",
	 "remove dev/infiniband/uverbs0\nchr dev/infiniband/uverbs0 231:199\n", &uverbs0, NULL,
	 "is the character device 231:199 and not the character device 231:192"},
	{"the directory is gone", "remove dev/infiniband\n", &uverbs0, NULL,
	 "'/dev/infiniband/uverbs0' cannot be used: No such file or directory below dev_root '/"},
	{"no /dev in sight", "remove dev\n", &uverbs0, "/dev/infiniband/uverbs0", NULL},
	{"no sysfs in sight", "remove sys\n", &uverbs0, "/dev/infiniband/uverbs0", NULL},
};

static void check_row(const struct row *row)
{
	g_autofree char *root = fixture_new(machine);
	g_autofree char *sysfs = g_build_filename(root, "sys", NULL);
	g_autofree char *dev = g_build_filename(root, "dev", NULL);
	g_autoptr(NodeCheck) check = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;

	if (row->change[0] != '\0')
		fixture_apply(root, row->change);
	check = node_check_new(sysfs, dev);
	path = node_check_resolve(check, row->file, &error);
	if (g_strcmp0(path, row->path) != 0)
		print_error("row: %s: %s\n", row->name, error != NULL ? error->message : path);
	if (row->path != NULL)
		assert_string_equal(path, row->path);
	else
		assert_null(path);
	if (row->error != NULL && error != NULL)
		assert_non_null(strstr(error->message, row->error));
	assert_int_equal(row->error != NULL, error != NULL);
	fixture_remove(root);
}

static void a_node_is_looked_at_again(void **state)
{
	(void)state;
	if (!fixture_can_mknod())
		skip();
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		check_row(&rows[i]);
}

/* It belongs to whom it did, as far as one can tell. */
static void a_lack_of_descriptors_says_nothing_about_the_node(void **state)
{
	g_autofree char *root = fixture_new(machine);
	g_autofree char *sysfs = g_build_filename(root, "sys", NULL);
	g_autofree char *dev = g_build_filename(root, "dev", NULL);
	g_autoptr(NodeCheck) check = node_check_new(sysfs, dev);
	g_autoptr(GError) error = NULL;
	struct rlimit before = descriptors_leave(0);
	g_autofree char *path = node_check_resolve(check, &uverbs0, &error);

	(void)state;
	descriptors_give_back(&before);
	assert_null(path);
	assert_string_equal(error->message, "whose '/dev/infiniband/uverbs0' is cannot be read: "
					    "Too many open files");
	fixture_remove(root);
}

static void assert_resolved(NodeCheck *check, const char *wanted)
{
	g_autofree char *path = node_check_resolve(check, &uverbs0, NULL);

	if (wanted == NULL)
		assert_null(path);
	else
		assert_string_equal(path, wanted);
}

/* What health says about the nodes: the number of the last scan may be old news. */
static void a_node_is_looked_at_where_pods_would_get_it(void **state)
{
	static const struct {
		const char *change, *wrong; /* NULL: nothing */
	} looks[] = {
		{"", NULL},
		{"remove dev/infiniband/uverbs0\n",
		 "'/dev/infiniband/uverbs0' cannot be used: No such"},
		{"remove dev/infiniband/uverbs0\nfile dev/infiniband/uverbs0 = x\n",
		 "and not the character device 231:192"},
		{"remove sys/class/infiniband_verbs/uverbs0\nremove dev/infiniband/uverbs0\n",
		 NULL},
		{"file sys/devices/pci0000:00/0000:3b:00.0/infiniband_verbs/uverbs0/ibdev = "
		 "mlx5_5\n"
		 "remove dev/infiniband/uverbs0\n",
		 NULL},
		{"remove dev/infiniband\n", NULL},
		{"remove dev\n", NULL},
	};
	const struct rdmadp_node node = {
		.size = sizeof(node),
		.kind = RDMADP_NODE_UVERBS,
		.name = "infiniband/uverbs0",
		.rdma_device = "mlx5_0",
		.sysfs_dir = uverbs0.sysfs_dir,
		.dev_major = 231,
		.dev_minor = 192,
	};

	(void)state;
	if (!fixture_can_mknod())
		skip();
	for (gsize i = 0; i < G_N_ELEMENTS(looks); i++) {
		g_autofree char *root = fixture_new(machine);
		g_autofree char *sysfs = g_build_filename(root, "sys", NULL);
		g_autofree char *dev = g_build_filename(root, "dev", NULL);
		g_autoptr(NodeCheck) check = NULL;
		g_autofree char *wrong = NULL;

		fixture_apply(root, looks[i].change);
		check = node_check_new(sysfs, dev);
		wrong = node_check_look(&node, check);
		if (looks[i].wrong == NULL)
			assert_null(wrong);
		else
			assert_non_null(strstr(wrong, looks[i].wrong));
		fixture_remove(root);
	}
}

static void roots_that_come_late_or_are_replaced_are_taken(void **state)
{
	g_autofree char *root = fixture_new(machine);
	g_autofree char *sysfs = g_build_filename(root, "sys", NULL);
	g_autofree char *away = g_build_filename(root, "away", NULL);
	g_autoptr(NodeCheck) check = NULL;

	(void)state;
	assert_int_equal(rename(sysfs, away), 0);
	check = node_check_new(sysfs, "/nonexistent");
	assert_resolved(check, "/dev/infiniband/uverbs0");
	assert_int_equal(rename(away, sysfs), 0);
	fixture_apply(root, "remove sys/class/infiniband_verbs/uverbs0\n");
	node_check_forget(check);
	assert_resolved(check, NULL);
	fixture_delete(root, "sys");
	fixture_apply(root, machine);
	assert_resolved(check, NULL);
	node_check_forget(check);
	assert_resolved(check, "/dev/infiniband/uverbs0");
	fixture_remove(root);
}

/* Where this machine has no RDMA, its /dev is what a container without the node's sees. */
static void a_dev_of_its_own_says_nothing(void **state)
{
	g_autofree char *root = NULL;
	g_autofree char *sysfs = NULL;
	g_autoptr(NodeCheck) check = NULL;

	(void)state;
	if (g_file_test("/dev/infiniband", G_FILE_TEST_EXISTS))
		skip();
	root = fixture_new(machine);
	sysfs = g_build_filename(root, "sys", NULL);
	check = node_check_new(sysfs, "/dev");
	assert_resolved(check, "/dev/infiniband/uverbs0");
	fixture_remove(root);
}

/* The name of its RDMA device is another one; the node is what it was. */
static void a_renamed_device_keeps_its_node(void **state)
{
	static const struct {
		const char *change, *path;
	} changes[] = {
		{"", "/dev/infiniband/uverbs0"},
		{"file sys/class/infiniband_verbs/uverbs0/ibdev = rocep59s0\n",
		 "/dev/infiniband/uverbs0"},
		/* two of one function could have changed places */
		{"uverbs 0000:3b:00.0 7 mlx5_7\n", NULL},
		{"remove sys/devices/pci0000:00/0000:3b:00.0/infiniband_verbs/uverbs7\n",
		 "/dev/infiniband/uverbs0"},
		{"remove sys/devices/pci0000:00/0000:3b:00.0/infiniband_verbs/uverbs0/dev\n", NULL},
	};
	g_autofree char *root = fixture_new(machine);
	g_autofree char *sysfs = g_build_filename(root, "sys", NULL);
	g_autoptr(NodeCheck) check = node_check_new(sysfs, "");
	struct char_file file = uverbs0;

	(void)state;
	file.sysfs_dir = (char *)"devices/pci0000:00/0000:3b:00.0/infiniband_verbs/uverbs0";
	for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
		g_autofree char *path = NULL;

		fixture_apply(root, changes[i].change);
		path = node_check_resolve_renamed(check, &file);
		if (changes[i].path == NULL)
			assert_null(path);
		else
			assert_string_equal(path, changes[i].path);
	}
	assert_null(node_check_resolve_renamed(check, &umad0));
	assert_null(node_check_resolve_renamed(check, &rdma_cm));
	fixture_remove(root);
}

static void extra_devices_are_character_devices_only(void **state)
{
	const char *const globs[] = {"/dev/hns_*", "/dev/hns_0", NULL};
	const char *const nothing[] = {"/dev/hns_*", "/dev/nvidia*", NULL};
	g_autofree char *root = NULL;
	g_autofree char *dev = NULL;
	g_autoptr(NodeCheck) check = NULL;
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) paths = NULL;

	(void)state;
	if (!fixture_can_mknod())
		skip();
	root = fixture_new("chr dev/hns_1 240:1\nchr dev/hns_0 240:0\nfile dev/hns_file = x\n"
			   "link dev/hns_link -> hns_0\n");
	dev = g_build_filename(root, "dev", NULL);
	check = node_check_new("/nonexistent", dev);
	paths = node_check_expand(check, globs, &error);
	assert_non_null(paths);
	assert_int_equal(g_strv_length(paths), 3);
	assert_string_equal(paths[0], "/dev/hns_0");
	assert_string_equal(paths[2], "/dev/hns_1");
	assert_null(node_check_expand(check, nothing, &error));
	assert_non_null(strstr(error->message, "'/dev/nvidia*' matches no character device"));
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_is_looked_at_again),
		cmocka_unit_test(a_lack_of_descriptors_says_nothing_about_the_node),
		cmocka_unit_test(a_node_is_looked_at_where_pods_would_get_it),
		cmocka_unit_test(roots_that_come_late_or_are_replaced_are_taken),
		cmocka_unit_test(a_dev_of_its_own_says_nothing),
		cmocka_unit_test(a_renamed_device_keeps_its_node),
		cmocka_unit_test(extra_devices_are_character_devices_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
