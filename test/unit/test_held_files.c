/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "edge/held_files.h"
#include "support/fixture.h"

struct tree {
	char *root;
	int fd;
	HeldFiles *files;
};

static int setup(void **state)
{
	struct tree *tree = g_new0(struct tree, 1);

	tree->root = fixture_new("file sys/a/dev = 1:2\nlink sys/class -> a\nfifo sys/fifo\n"
				 "fill sys/empty 0\nfile sys/newline =\n");
	tree->fd = open(tree->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	tree->files = held_files_new(tree->fd);
	*state = tree;
	return tree->fd < 0;
}

static int teardown(void **state)
{
	struct tree *tree = *state;

	held_files_free(tree->files);
	close(tree->fd);
	fixture_remove(tree->root);
	g_free(tree->root);
	g_free(tree);
	return 0;
}

static void expect(const struct tree *tree, const char *path, const char *expected)
{
	char text[16];

	assert_true(held_files_read(tree->files, path, text, sizeof(text)));
	assert_string_equal(text, expected);
}

static void expect_error(const struct tree *tree, const char *path, int expected)
{
	char text[16];

	errno = 0;
	assert_false(held_files_read(tree->files, path, text, sizeof(text)));
	assert_int_equal(errno, expected);
}

static void what_the_path_names_now_is_read(void **state)
{
	static const struct {
		const char *change;
		const char *text; /* NULL: there is none any more */
	} steps[] = {
		{"", "1:2"},
		{"", "1:2"},
		{"file sys/a/dev = 3:4\n", "3:4"},
		{"file sys/b/dev = 5:6\nremove sys/class\nlink sys/class -> b\n", "5:6"},
		{"remove sys/b\n", NULL},
		{"file sys/b/dev = 7:8\n", "7:8"},
		{"remove sys/class\n", NULL},
		{"dir sys/class\nfifo sys/class/dev\n", NULL},
		{"remove sys/class/dev\nfile sys/class/dev = a text that is too long\n",
		 "a text that is "},
	};
	struct tree *tree = *state;

	for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
		char text[16] = "";

		if (steps[i].change[0])
			fixture_apply(tree->root, steps[i].change);
		gboolean is_there =
			held_files_read(tree->files, "sys/class/dev", text, sizeof(text));

		assert_string_equal(is_there ? text : "none",
				    steps[i].text ? steps[i].text : "none");
	}
}

/* As an attribute in sysfs that changes: the same file. */
static void a_file_that_is_written_to_is_read_anew(void **state)
{
	struct tree *tree = *state;
	g_autofree char *path = g_build_filename(tree->root, "sys/a/dev", NULL);

	expect(tree, "sys/a/dev", "1:2");
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(write(fd, "9", 1), 1);
	close(fd);
	expect(tree, "sys/a/dev", "9:2");
	held_files_forget(tree->files);
	expect(tree, "sys/a/dev", "9:2");
}

static void what_cannot_be_read_says_why(void **state)
{
	struct tree *tree = *state;
	HeldFiles *nowhere = held_files_new(-1);
	char text[16];

	expect_error(tree, "sys/none", ENOENT);
	expect_error(tree, "sys/empty", ENODATA);
	expect(tree, "sys/newline", "");
	expect_error(tree, "sys/fifo", ENODATA);
	expect_error(tree, "sys/a", ENODATA);
	assert_false(held_files_read(nowhere, "sys/a/dev", text, sizeof(text)));
	held_files_free(nowhere);
	held_files_free(NULL);
}

static guint count_descriptors(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	guint n = 0;

	while (g_dir_read_name(dir))
		n++;
	return n;
}

static void only_so_many_are_held(void **state)
{
	struct tree *tree = *state;
	guint before = count_descriptors();

	for (int i = 0; i < 300; i++) {
		g_autofree char *path = g_strdup_printf("sys/many/%d", i);
		g_autofree char *number = g_strdup_printf("%d", i);

		fixture_write(tree->root, path, number);
		expect(tree, path, number);
		expect(tree, path, number);
		assert_in_range(count_descriptors() - before, 1, 128);
	}
	held_files_forget(tree->files);
	assert_int_equal(count_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_the_path_names_now_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_that_is_written_to_is_read_anew, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_read_says_why, setup, teardown),
		cmocka_unit_test_setup_teardown(only_so_many_are_held, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
