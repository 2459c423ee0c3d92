/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "edge/file_watch.h"
#include "support/fixture.h"

#define WAIT_S 10

struct seen {
	GMainLoop *loop;
	guint changes;
};

static void on_change(gpointer data)
{
	struct seen *seen = data;

	seen->changes++;
	g_main_loop_quit(seen->loop);
}

static gboolean give_up(gpointer data)
{
	g_main_loop_quit(data);
	return G_SOURCE_REMOVE;
}

/* Runs the loop until a change was told or the limit is over. */
static void wait_for_change(struct seen *seen, guint limit_ms)
{
	guint before = seen->changes;
	guint limit = g_timeout_add(limit_ms, give_up, seen->loop);

	g_main_loop_run(seen->loop);
	if (seen->changes > before)
		g_source_remove(limit);
}

static const char config_map[] = "file sys/..v1/config.json = one\nlink sys/..data -> ..v1\n"
				 "link sys/config.json -> ..data/config.json\n";

/* What the machine is at first, and changes that are each told once. */
static const struct {
	const char *name;
	const char *machine;
	const char *changes[3];
} rows[] = {
	{"written in place",
	 "file sys/config.json = one\n",
	 {"file sys/config.json = two!\n", "file sys/config.json = three\n"}},
	{"appears and vanishes",
	 "dir sys\n",
	 {"file sys/config.json = one\n", "remove sys/config.json\n",
	  "file sys/config.json = two\n"}},
	{"its directory appears", "dir dev\n", {"dir sys\n", "file sys/config.json = one\n"}},
	{"a ConfigMap is swapped",
	 config_map,
	 {"file sys/..v2/config.json = two!\nremove sys/..data\nlink sys/..data -> ..v2\n",
	  "file sys/..v3/config.json = three\nremove sys/..data\nlink sys/..data -> ..v3\n"}},
	{"the target of a link is written",
	 "file sys/conf/real = one\nlink sys/config.json -> conf/real\n",
	 {"file sys/conf/real = two!\n"}},
	{"a directory on the way is a link that is replaced",
	 "file sys/a/config.json = one\nfile sys/b/config.json = two\nlink sys/now -> a\n"
	 "link sys/config.json -> now/config.json\n",
	 {"remove sys/now\nlink sys/now -> b\n", "file sys/b/config.json = three\n",
	  "remove sys/now\nlink sys/now -> a\n"}},
	{"links in a chain",
	 "file dev/a/config.json = one\nfile dev/b/config.json = two\nlink sys/1 -> 2\n"
	 "link sys/2 -> ../dev/a\nlink sys/config.json -> 1/config.json\n",
	 {"remove sys/2\nlink sys/2 -> ../dev/b\n", "remove sys/1\nlink sys/1 -> ../dev/a\n"}},
	{"the file is a directory for a moment",
	 "file sys/config.json = one\n",
	 {"remove sys/config.json\ndir sys/config.json\n",
	  "remove sys/config.json\nfile sys/config.json = two\n"}},
};

static gboolean has_file(const char *root)
{
	g_autofree char *path = g_build_filename(root, "sys/config.json", NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void every_kind_of_change_is_told(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *root = fixture_new(rows[i].machine);
		g_autofree char *path = g_build_filename(root, "sys/config.json", NULL);
		struct seen seen = {g_main_loop_new(NULL, FALSE), 0};
		g_autoptr(GError) error = NULL;
		g_autoptr(FileWatch) watch G_GNUC_UNUSED =
			file_watch_new(path, on_change, &seen, &error);
		guint expected = 0;

		assert_non_null(watch);
		for (gsize j = 0; j < G_N_ELEMENTS(rows[i].changes) && rows[i].changes[j]; j++) {
			gboolean had = has_file(root);

			fixture_apply(root, rows[i].changes[j]);
			/* A directory that appears without the file is no change of the file. */
			expected += had || has_file(root);
			wait_for_change(&seen, had || has_file(root) ? WAIT_S * 1000 : 200);
			if (seen.changes != expected)
				print_error("row: %s, change %zu\n", rows[i].name, j);
			assert_int_equal(seen.changes, expected);
		}
		g_main_loop_unref(seen.loop);
		fixture_remove(root);
	}
}

static void other_files_are_nobodys_business(void **state)
{
	g_autofree char *root = fixture_new("file sys/config.json = one\n");
	g_autofree char *path = g_build_filename(root, "sys/config.json", NULL);
	struct seen seen = {g_main_loop_new(NULL, FALSE), 0};
	g_autoptr(FileWatch) watch G_GNUC_UNUSED = file_watch_new(path, on_change, &seen, NULL);

	(void)state;
	fixture_apply(root, "file sys/other = x\n");
	wait_for_change(&seen, 200);
	assert_int_equal(seen.changes, 0);
	fixture_apply(root, "file sys/config.json = changed\n");
	wait_for_change(&seen, WAIT_S * 1000);
	assert_int_equal(seen.changes, 1);
	g_main_loop_unref(seen.loop);
	fixture_remove(root);
}

/* Also where the text has the size and the times that it had. */
static void permissions_and_hidden_changes_are_told(void **state)
{
	g_autofree char *root = fixture_new("file sys/config.json = one\n");
	g_autofree char *path = g_build_filename(root, "sys/config.json", NULL);
	struct seen seen = {g_main_loop_new(NULL, FALSE), 0};
	g_autoptr(FileWatch) watch G_GNUC_UNUSED = file_watch_new(path, on_change, &seen, NULL);
	struct stat before;

	(void)state;
	assert_int_equal(g_chmod(path, 0), 0);
	wait_for_change(&seen, WAIT_S * 1000);
	assert_int_equal(seen.changes, 1);
	assert_int_equal(g_chmod(path, 0644), 0);
	wait_for_change(&seen, WAIT_S * 1000);
	assert_int_equal(seen.changes, 2);
	assert_int_equal(stat(path, &before), 0);
	fixture_apply(root, "file sys/config.json = two\n");
	const struct timespec times[2] = {before.st_atim, before.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	wait_for_change(&seen, WAIT_S * 1000);
	assert_int_equal(seen.changes, 3);
	g_main_loop_unref(seen.loop);
	fixture_remove(root);
}

/* An editor, a shell or a playbook that writes in several steps. */
static void who_has_not_finished_is_waited_for(void **state)
{
	static const char *const beginnings[] = {"", "{"};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(beginnings); i++) {
		g_autofree char *root = fixture_new("file sys/config.json = one\n");
		g_autofree char *path = g_build_filename(root, "sys/config.json", NULL);
		struct seen seen = {g_main_loop_new(NULL, FALSE), 0};
		g_autoptr(FileWatch) watch G_GNUC_UNUSED =
			file_watch_new(path, on_change, &seen, NULL);
		FILE *file;

		fixture_delete(root, "sys/config.json");
		file = fopen(path, "w");
		assert_non_null(file);
		assert_true(fputs(beginnings[i], file) >= 0);
		assert_int_equal(fflush(file), 0);
		wait_for_change(&seen, 200);
		assert_int_equal(seen.changes, 0);
		assert_true(fputs("}", file) >= 0);
		assert_int_equal(fclose(file), 0);
		wait_for_change(&seen, WAIT_S * 1000);
		assert_int_equal(seen.changes, 1);
		g_main_loop_unref(seen.loop);
		fixture_remove(root);
	}
}

/* But not for ever. */
static void one_that_stays_empty_is_told(void **state)
{
	g_autofree char *root = fixture_new("file sys/config.json = one\n");
	g_autofree char *path = g_build_filename(root, "sys/config.json", NULL);
	struct seen seen = {g_main_loop_new(NULL, FALSE), 0};
	g_autoptr(FileWatch) watch G_GNUC_UNUSED = file_watch_new(path, on_change, &seen, NULL);

	(void)state;
	fixture_delete(root, "sys/config.json");
	fixture_write(root, "sys/config.json", "");
	wait_for_change(&seen, WAIT_S * 1000);
	assert_int_equal(seen.changes, 1);
	g_main_loop_unref(seen.loop);
	fixture_remove(root);
}

/* Such as of a file system that another one writes: the daemon looks once a minute. */
static void what_is_not_heard_is_seen_by_a_look(void **state)
{
	g_autofree char *root = fixture_new("file sys/a = one\nlink sys/config.json -> a\n");
	g_autofree char *path = g_build_filename(root, "sys/config.json", NULL);
	g_autofree char *other = g_build_filename(root, "sys/a", NULL);
	struct seen seen = {g_main_loop_new(NULL, FALSE), 0};
	g_autoptr(FileWatch) watch G_GNUC_UNUSED = file_watch_new(path, on_change, &seen, NULL);

	(void)state;
	file_watch_look(watch);
	assert_int_equal(seen.changes, 0);
	/* nobody has run the loop, so nothing was heard */
	assert_int_equal(truncate(other, 1), 0);
	while (seen.changes == 0)
		file_watch_look(watch);
	file_watch_look(watch);
	assert_int_equal(seen.changes, 1);
	g_main_loop_unref(seen.loop);
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_change_is_told),
		cmocka_unit_test(permissions_and_hidden_changes_are_told),
		cmocka_unit_test(who_has_not_finished_is_waited_for),
		cmocka_unit_test(one_that_stays_empty_is_told),
		cmocka_unit_test(what_is_not_heard_is_seen_by_a_look),
		cmocka_unit_test(other_files_are_nobodys_business),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
