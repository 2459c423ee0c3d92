/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_content(const char *root, const char *path, const char *bytes, gsize length)
{
	g_autofree char *full = g_build_filename(root, path, NULL);
	g_autofree char *found = NULL;
	gsize n = 0;

	assert_true(g_file_get_contents(full, &found, &n, NULL));
	assert_int_equal(n, length);
	assert_memory_equal(found, bytes, length);
}

static void assert_text(const char *root, const char *path, const char *text)
{
	assert_content(root, path, text, strlen(text));
}

static gboolean exists(const char *root, const char *path)
{
	g_autofree char *full = g_build_filename(root, path, NULL);

	return g_file_test(full, G_FILE_TEST_EXISTS);
}

static void plain_lines_make_files(void **state)
{
	char *root = fixture_new("# comment\n"
				 "dir sys/a/b\n"
				 "file sys/a/b/c = one = \\\\two\\x00\\n\n"
				 "file sys/a/empty =\n"
				 "fill sys/a/big 5000\n"
				 "link sys/a/up -> b/c\n"
				 "fifo sys/a/pipe\n"
				 "file sys/gone = 1\n"
				 "remove sys/gone\n");
	g_autofree char *pipe = g_build_filename(root, "sys/a/pipe", NULL);
	struct stat st;

	(void)state;
	assert_content(root, "sys/a/b/c", "one = \\two\0\n\n", 13);
	assert_text(root, "sys/a/empty", "\n");
	assert_content(root, "sys/a/up", "one = \\two\0\n\n", 13);
	assert_false(exists(root, "sys/gone"));
	assert_int_equal(stat(pipe, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	fixture_remove(root);
	assert_false(g_file_test(root, G_FILE_TEST_EXISTS));
	g_free(root);
}

static void macros_make_what_the_kernel_shows(void **state)
{
	char *root = fixture_new(SOURCE_DIR "/test/fixtures/machines/f01-roce-no-issm.txt");

	(void)state;
	assert_text(root, "sys/bus/pci/devices/0000:3b:00.0/vendor", "0x15b3\n");
	assert_text(root, "sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
	assert_text(root, "sys/class/infiniband/mlx5_1/device/numa_node", "0\n");
	assert_text(root, "sys/class/net/eno1/device/device", "0x1563\n");
	assert_text(root, "sys/class/infiniband_verbs/uverbs1/dev", "231:193\n");
	assert_text(root, "sys/class/infiniband_mad/umad1/port", "1\n");
	assert_true(exists(root, "sys/bus/pci/devices/0000:3b:00.1/driver"));
	assert_true(exists(root, "dev/infiniband/uverbs1"));
	fixture_remove(root);
	g_free(root);
}

static void lines_change_a_machine_that_is_there(void **state)
{
	char *root = fixture_new(SOURCE_DIR "/test/fixtures/machines/f01-roce-no-issm.txt");

	(void)state;
	fixture_write(root, "sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
	fixture_delete(root, "sys/class/infiniband_verbs/uverbs1");
	fixture_apply(root, "issm 0000:3b:00.0 3 mlx5_0 1");
	assert_text(root,
		    "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/infiniband/mlx5_0/"
		    "ports/1/state",
		    "1: DOWN\n");
	assert_false(exists(root, "sys/class/infiniband_verbs/uverbs1"));
	assert_text(root, "sys/class/infiniband_mad/issm3/dev", "231:67\n");
	fixture_remove(root);
	g_free(root);
}

static void wrong_lines_are_named(void **state)
{
	static const char *const cases[][2] = {
		{"dir sys/x\nnonsense a b\n", "line 2: no such line: 'nonsense'"},
		{"file sys/x\n", "line 1: assignment expected: 'sys/x'"},
		{"chr dev/x 231\n", "line 1: not MAJOR:MINOR: '231'"},
		{"net 0000:00:00.0\n", "line 1: words are missing: 'net'"},
		{"net 0000:00:00.0 eth0\n", "line 1: fixture has no device '0000:00:00.0'"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *root = g_dir_make_tmp("rdmadp-fixture-XXXXXX", NULL);
		g_autoptr(GError) error = NULL;

		assert_false(fixture_build(cases[i][0], root, &error));
		assert_string_equal(error->message, cases[i][1]);
		fixture_remove(root);
	}
}

static void nodes_are_character_devices_where_that_is_possible(void **state)
{
	g_autofree char *path = NULL;
	char *root = NULL;
	struct stat st;

	(void)state;
	if (!fixture_can_mknod())
		skip();
	root = fixture_new("chr dev/infiniband/uverbs0 231:192\n");
	path = g_build_filename(root, "dev/infiniband/uverbs0", NULL);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(major(st.st_rdev), 231);
	assert_int_equal(minor(st.st_rdev), 192);
	fixture_remove(root);
	g_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_lines_make_files),
		cmocka_unit_test(macros_make_what_the_kernel_shows),
		cmocka_unit_test(lines_change_a_machine_that_is_there),
		cmocka_unit_test(wrong_lines_are_named),
		cmocka_unit_test(nodes_are_character_devices_where_that_is_possible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
