/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fixture.h"

static void files_are_read_and_nothing_else(void **state)
{
	static const struct {
		const char *name;
		const char *text; /* or the error */
	} cases[] = {
		{"sys/empty", ""},
		{"sys/text", "one\ntwo\n"},
		{"sys/link", "one\ntwo\n"},
		{"sys/full", NULL},
		{"sys/large", "it is larger than 1 MiB"},
		{"sys/none", "No such file or directory"},
		{"sys/fifo", "it is not a regular file"},
		{"sys", "it is a directory"},
	};
	g_autofree char *root =
		fixture_new("file sys/text = one\\ntwo\nlink sys/link -> text\n"
			    "fifo sys/fifo\nfill sys/empty 0\nfill sys/full 1048576\n"
			    "fill sys/large 1048577\n");

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_build_filename(root, cases[i].name, NULL);
		g_autoptr(GError) error = NULL;
		gsize length = 0;
		g_autofree char *text = small_file_read(path, SMALL_FILE_MIB, &length, &error);

		if (cases[i].text != NULL)
			assert_string_equal(text != NULL ? text : error->message, cases[i].text);
		else
			assert_int_equal(length, 1048576);
	}
	fixture_remove(root);
}

static void texts_are_written_whole(void **state)
{
	g_autofree char *text = g_strnfill((gsize)64 * 1024, 'x');
	g_autofree char *got = g_malloc(strlen(text));
	gsize n = 0;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 128 * 1024) > 0);
	assert_true(small_file_write(ends[1], text));
	assert_true(small_file_write(ends[1], ""));
	close(ends[1]);
	while (n < strlen(text)) {
		ssize_t part = read(ends[0], got + n, strlen(text) - n);

		assert_true(part > 0);
		n += (gsize)part;
	}
	assert_memory_equal(got, text, n);
	assert_false(small_file_write(ends[0], text));
	assert_int_equal(errno, EBADF);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_read_and_nothing_else),
		cmocka_unit_test(texts_are_written_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
