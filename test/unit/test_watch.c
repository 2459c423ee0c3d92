/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/watch.h"

#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/capture.h"
#include "support/descriptors.h"

struct fixture {
	char *parent;
	char *dir;
	char *file;
	int looks;
};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->parent = g_dir_make_tmp("rdmadp-watch-XXXXXX", NULL);
	fixture->dir = g_build_filename(fixture->parent, "device-plugins", NULL);
	fixture->file = g_build_filename(fixture->dir, "kubelet.sock", NULL);
	g_mkdir(fixture->dir, 0700);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	g_unlink(fixture->file);
	g_rmdir(fixture->dir);
	g_rmdir(fixture->parent);
	g_free(fixture->parent);
	g_free(fixture->dir);
	g_free(fixture->file);
	g_free(fixture);
	return 0;
}

static void on_look(gpointer data)
{
	struct fixture *fixture = data;

	fixture->looks++;
}

static void settle(void)
{
	while (g_main_context_iteration(NULL, FALSE))
		;
}

/* At least one look after the change; what came before it does not count. */
static void wait_for_look(struct fixture *fixture)
{
	int before = fixture->looks;

	while (fixture->looks == before)
		g_main_context_iteration(NULL, TRUE);
	settle();
}

static gboolean set_flag(gpointer flag)
{
	*(gboolean *)flag = TRUE;
	return G_SOURCE_CONTINUE;
}

/* Sooner than by the look of every five seconds. */
#define SOON_MS 3000

static void wait_for_event(struct fixture *fixture)
{
	int before = fixture->looks;
	gboolean over = FALSE;
	guint timer = g_timeout_add(SOON_MS, set_flag, &over);

	while (fixture->looks == before && !over)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(timer);
	assert_true(fixture->looks > before);
	settle();
}

static void touch(const char *path)
{
	assert_true(g_file_set_contents(path, "x", -1, NULL));
}

static void a_file_that_comes_and_goes_is_looked_at(void **state)
{
	struct fixture *fixture = *state;
	Watch *watch = watch_new(fixture->dir, on_look, fixture);

	settle();
	assert_int_equal(fixture->looks, 0);
	touch(fixture->file);
	wait_for_event(fixture);
	g_unlink(fixture->file);
	wait_for_event(fixture);
	watch_free(watch);
}

static void what_else_the_kubelet_writes_is_not_looked_at(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *other = g_build_filename(fixture->parent, "cpu_manager_state", NULL);
	g_autofree char *checkpoint = g_build_filename(fixture->dir, "kubelet_checkpoint", NULL);
	Watch *watch = watch_new(fixture->dir, on_look, fixture);

	touch(other);
	g_unlink(other);
	touch(checkpoint);
	g_unlink(checkpoint);
	while (g_main_context_iteration(NULL, FALSE))
		;
	assert_int_equal(fixture->looks, 0);
	/* What is of interest comes later than what is not: once it is here, that is, too. */
	touch(fixture->file);
	while (fixture->looks == 0)
		g_main_context_iteration(NULL, TRUE);
	assert_int_equal(fixture->looks, 1);
	watch_free(watch);
}

static void a_directory_that_is_made_again_is_watched(void **state)
{
	struct fixture *fixture = *state;
	Watch *watch = watch_new(fixture->dir, on_look, fixture);

	for (int i = 0; i < 3; i++) {
		g_unlink(fixture->file);
		assert_int_equal(g_rmdir(fixture->dir), 0);
		wait_for_event(fixture);
		assert_int_equal(g_mkdir(fixture->dir, 0700), 0);
		wait_for_event(fixture);
		touch(fixture->file);
		wait_for_event(fixture);
	}
	watch_free(watch);
}

static void a_directory_that_is_replaced_by_a_rename_is_watched(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *moved = g_build_filename(fixture->parent, "old", NULL);
	Watch *watch = watch_new(fixture->dir, on_look, fixture);

	assert_int_equal(g_rename(fixture->dir, moved), 0);
	assert_int_equal(g_mkdir(fixture->dir, 0700), 0);
	wait_for_event(fixture);
	touch(fixture->file);
	wait_for_event(fixture);
	assert_int_equal(g_rmdir(moved), 0);
	watch_free(watch);
}

static void a_directory_may_come_later(void **state)
{
	struct fixture *fixture = *state;
	Watch *watch;

	g_rmdir(fixture->dir);
	watch = watch_new(fixture->dir, on_look, fixture);
	assert_int_equal(g_mkdir(fixture->dir, 0700), 0);
	wait_for_event(fixture);
	touch(fixture->file);
	wait_for_event(fixture);
	watch_free(watch);
}

static void without_any_event_it_looks_after_a_while(void **state)
{
	struct fixture *fixture = *state;
	Watch *watch;

	g_rmdir(fixture->dir);
	g_rmdir(fixture->parent); /* nothing that could be watched */
	watch = watch_new(fixture->dir, on_look, fixture);
	wait_for_look(fixture);
	watch_free(watch);
	assert_int_equal(g_mkdir(fixture->parent, 0700), 0);
}

static void without_inotify_it_looks_all_the_same(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit before;
	Watch *watch;

	settle();
	capture_start();
	before = descriptors_leave(0);
	watch = watch_new(fixture->dir, on_look, fixture);
	descriptors_give_back(&before);
	/* And watches as soon as it can. */
	wait_for_look(fixture);
	g_autofree char *log = capture_stop();

	assert_non_null(strstr(log, "cannot watch '"));
	assert_non_null(strstr(log, "max_user_instances"));
	assert_non_null(strstr(log, "can be watched now"));
	settle();
	touch(fixture->file);
	wait_for_event(fixture);
	watch_free(watch);
	watch_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_file_that_comes_and_goes_is_looked_at),
		TEST(what_else_the_kubelet_writes_is_not_looked_at),
		TEST(a_directory_that_is_made_again_is_watched),
		TEST(a_directory_that_is_replaced_by_a_rename_is_watched),
		TEST(a_directory_may_come_later),
		TEST(without_any_event_it_looks_after_a_while),
		TEST(without_inotify_it_looks_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
