/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "mock_fixture.h"

static int health(struct mock_fixture *f, const char *id, struct rdmadp_health *ret)
{
	struct rdmadp_device device = {.size = sizeof(device), .id = id, .identity = id};

	*ret = (struct rdmadp_health){.size = sizeof(*ret)};
	return f->mock->health(f->instance, &device, ret);
}

static void assert_health(struct mock_fixture *f, guint state, guint reason, const char *text)
{
	struct rdmadp_health seen;

	assert_int_equal(health(f, "a", &seen), 0);
	assert_int_equal(seen.state, state);
	assert_int_equal(seen.reason, reason);
	assert_string_equal(seen.text, text);
}

/* --- discovery --- */

static void test_no_file_is_no_device(void **state)
{
	struct mock_fixture *f = *state;

	assert_scan(f, "");
	fixture_delete(f->root, "sys/bus");
	assert_scan(f, "");
	assert_string_equal(f->log->str, "");
}

static void test_a_file_that_cannot_be_read_fails_the_scan(void **state)
{
	struct mock_fixture *f = *state;
	struct rdmadp_health seen;

	fixture_apply(f->root, "dir sys/bus/mock/devices\n");
	assert_int_equal(f->mock->discover(f->instance, dump_emit, NULL), -EISDIR);
	assert_int_equal(health(f, "a", &seen), -EISDIR);
}

static void test_a_scan_can_be_made_to_fail(void **state)
{
	struct mock_fixture *f = *state;
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	fixture_write(f->root, FILE_PATH, "discover fail 5\ndevice a\n");
	assert_int_equal(f->mock->discover(f->instance, dump_emit, texts), -EIO);
	assert_int_equal(texts->len, 1);
}

static int refuse(void *sink, const struct rdmadp_device *device)
{
	++*(int *)sink;
	assert_int_equal(device->size, sizeof(*device));
	return -E2BIG;
}

static void test_what_emit_returns_ends_the_scan(void **state)
{
	struct mock_fixture *f = *state;
	int calls = 0;

	fixture_write(f->root, FILE_PATH, "device a\ndevice b\n");
	assert_int_equal(f->mock->discover(f->instance, refuse, &calls), -E2BIG);
	assert_int_equal(calls, 1);
}

static void test_init_refuses_a_path_that_is_too_long(void **state)
{
	struct mock_fixture *f = *state;
	g_autofree char *path = g_strnfill(5000, 'x');
	struct rdmadp_host host = {.size = sizeof(host), .sysfs_root = path};
	void *untouched = f;

	assert_int_equal(f->mock->init(&host, &untouched), -ENAMETOOLONG);
	assert_ptr_equal(untouched, f);
}

/* --- health --- */

static const struct health_row {
	const char *line;
	guint state, reason;
	const char *text;
} health_rows[] = {
	{"", RDMADP_HEALTHY, RDMADP_REASON_NONE, ""},
	{"health ok", RDMADP_HEALTHY, RDMADP_REASON_NONE, ""},
	{"health ok fine", RDMADP_HEALTHY, RDMADP_REASON_NONE, "fine"},
	{"health unknown", RDMADP_HEALTH_UNKNOWN, RDMADP_REASON_NONE, ""},
	{"health down \"port 1 is DOWN\"", RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "port 1 is DOWN"},
	{"health files", RDMADP_UNHEALTHY, RDMADP_REASON_FILES, ""},
	{"health gone", RDMADP_UNHEALTHY, RDMADP_REASON_GONE, ""},
	{"health fatal \"firmware died\"", RDMADP_UNHEALTHY, RDMADP_REASON_FATAL, "firmware died"},
	{"health vendor hot", RDMADP_UNHEALTHY, RDMADP_REASON_VENDOR, "hot"},
	{"hang 0", RDMADP_HEALTHY, RDMADP_REASON_NONE, ""},
	{"nonsense", RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "it is not in the file"},
};

static void test_health_is_what_the_file_says_now(void **state)
{
	struct mock_fixture *f = *state;

	assert_health(f, RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "it is not in the file");
	for (gsize i = 0; i < G_N_ELEMENTS(health_rows); i++) {
		g_autofree char *file = g_strdup_printf("device a\n%s\n", health_rows[i].line);

		fixture_write(f->root, FILE_PATH, file);
		assert_health(f, health_rows[i].state, health_rows[i].reason, health_rows[i].text);
	}
	assert_string_equal(f->log->str, "");
}

static void test_a_long_text_is_cut(void **state)
{
	struct mock_fixture *f = *state;
	g_autofree char *text = g_strnfill(400, 'x');
	g_autofree char *file = g_strdup_printf("device a\nhealth fatal %s\n", text);
	struct rdmadp_health seen;

	fixture_write(f->root, FILE_PATH, file);
	assert_int_equal(health(f, "a", &seen), 0);
	assert_int_equal(strlen(seen.text), sizeof(seen.text) - 1);
}

/* The file's time is put back instead of waiting. */
static void set_age(struct mock_fixture *f, double seconds)
{
	g_autofree char *path = g_build_filename(f->root, FILE_PATH, NULL);
	gint64 then = g_get_real_time() - (gint64)(seconds * 1e6);
	struct timespec times[2] = {{.tv_sec = then / 1000000, .tv_nsec = then % 1000000 * 1000}};

	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_flapping_alternates(void **state)
{
	struct mock_fixture *f = *state;

	fixture_write(f->root, FILE_PATH, "device a\nflap 1000\nhealth ok\n");
	set_age(f, 500);
	assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
	set_age(f, 1500);
	assert_health(f, RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "the link flaps");
	set_age(f, 2500);
	assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
}

/* --- the copy in memory --- */

static gboolean has_event(int fd)
{
	struct pollfd event = {.fd = fd, .events = POLLIN};
	char buffer[4096];

	return poll(&event, 1, 0) == 1 && read(fd, buffer, sizeof(buffer)) > 0;
}

static void test_a_file_that_does_not_change_is_read_once(void **state)
{
	struct mock_fixture *f = *state;
	g_autofree char *path = g_build_filename(f->root, FILE_PATH, NULL);
	int opened = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	fixture_write(f->root, FILE_PATH, "device a\n");
	set_age(f, 10);
	assert_true(inotify_add_watch(opened, path, IN_OPEN) >= 0);
	assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
	assert_true(has_event(opened));
	for (int i = 0; i < 3; i++)
		assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
	assert_false(has_event(opened));
	set_age(f, 9);
	assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
	assert_true(has_event(opened));
	close(opened);
}

/* In place, and as long as before: all that tells is the clock of the file system. */
static void test_quick_changes_are_seen(void **state)
{
	struct mock_fixture *f = *state;
	g_autofree char *path = g_build_filename(f->root, FILE_PATH, NULL);

	for (int i = 0; i < 50; i++) {
		const char *text = i % 2 ? "device a\nhealth down\n" : "device a\nhealth gone\n";

		assert_true(g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0644,
						     NULL));
		assert_health(f, RDMADP_UNHEALTHY, i % 2 ? RDMADP_REASON_LINK : RDMADP_REASON_GONE,
			      "");
	}
}

/* --- what hangs --- */

struct reader {
	struct mock_fixture *f;
	pthread_t thread;
	gint started, ended;
	int result;
};

static void *read_health(void *data)
{
	struct reader *reader = data;
	struct rdmadp_health seen;

	g_atomic_int_set(&reader->started, 1);
	reader->result = health(reader->f, "a", &seen);
	g_atomic_int_set(&reader->ended, 1);
	return NULL;
}

static void *read_devices(void *data)
{
	struct reader *reader = data;
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	g_atomic_int_set(&reader->started, 1);
	reader->result = reader->f->mock->discover(reader->f->instance, dump_emit, texts);
	g_atomic_int_set(&reader->ended, 1);
	return NULL;
}

static void start(struct reader *reader, struct mock_fixture *f, void *(*body)(void *))
{
	*reader = (struct reader){.f = f, .result = 1};
	assert_int_equal(pthread_create(&reader->thread, NULL, body, reader), 0);
	while (!g_atomic_int_get(&reader->started))
		g_usleep(1000);
}

static void test_hanging_ends_when_the_file_changes(void **state)
{
	struct mock_fixture *f = *state;
	struct reader first, second;
	struct rdmadp_health seen;

	fixture_write(f->root, FILE_PATH, "discover hang forever\ndevice a\nhang forever\n");
	start(&first, f, read_health);
	start(&second, f, read_devices);
	assert_int_equal(health(f, "b", &seen), 0); /* another read is not held up */
	fixture_write(f->root, FILE_PATH, "device a\n");
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
	assert_int_equal(first.result, 0);
	assert_int_equal(second.result, 0);
}

static void test_hanging_ends_when_the_time_is_over(void **state)
{
	struct mock_fixture *f = *state;

	fixture_write(f->root, FILE_PATH, "device a\nhang 0.02\nhealth ok\n");
	assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
}

static void ignore_signal(int number)
{
	(void)number;
}

static void test_hanging_ends_with_a_signal(void **state)
{
	struct mock_fixture *f = *state;
	struct sigaction action = {.sa_handler = ignore_signal};
	struct reader reader;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	fixture_write(f->root, FILE_PATH, "device a\nhang forever\n");
	start(&reader, f, read_health);
	while (!g_atomic_int_get(&reader.ended)) {
		pthread_kill(reader.thread, SIGUSR1);
		g_usleep(1000);
	}
	pthread_join(reader.thread, NULL);
	assert_int_equal(reader.result, -EINTR);
}

static void *read_until_down(void *data)
{
	struct reader *reader = data;
	struct rdmadp_health seen = {0};

	g_atomic_int_set(&reader->started, 1);
	do
		reader->result = health(reader->f, "a", &seen);
	while (reader->result == 0 && seen.state != RDMADP_UNHEALTHY);
	return NULL;
}

static void test_many_may_read_while_it_changes(void **state)
{
	struct mock_fixture *f = *state;
	struct reader readers[4];

	fixture_write(f->root, FILE_PATH, "device a\n");
	for (gsize i = 0; i < G_N_ELEMENTS(readers); i++)
		start(&readers[i], f, read_until_down);
	for (int i = 0; i < 50; i++) {
		g_autofree char *text = g_strdup_printf("device a\ndevice b%d\n", i);

		fixture_write(f->root, FILE_PATH, text);
		g_free(scan(f));
	}
	fixture_write(f->root, FILE_PATH, "device a\nhealth down\n");
	for (gsize i = 0; i < G_N_ELEMENTS(readers); i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].result, 0);
	}
}

/* --- events --- */

static gboolean is_readable(struct mock_fixture *f, int wait_ms)
{
	struct pollfd event = {.fd = f->mock->event_fd(f->instance), .events = POLLIN};

	return poll(&event, 1, wait_ms) == 1;
}

static void assert_event(struct mock_fixture *f)
{
	assert_true(is_readable(f, 10000));
	assert_int_equal(f->mock->event_ack(f->instance), 1);
	assert_false(is_readable(f, 0));
	assert_int_equal(f->mock->event_ack(f->instance), 0);
}

static void test_each_way_of_changing_the_file_is_an_event(void **state)
{
	struct mock_fixture *f = *state;
	g_autofree char *from = g_build_filename(f->root, "sys/bus/mock/.devices.new", NULL);
	g_autofree char *to = g_build_filename(f->root, FILE_PATH, NULL);

	assert_scan(f, "");
	assert_false(is_readable(f, 0));
	fixture_write(f->root, FILE_PATH, "device a\n");
	assert_event(f);
	fixture_write(f->root, FILE_PATH, "device b\n");
	assert_event(f);
	fixture_write(f->root, "sys/bus/mock/.devices.new", "device c\n");
	assert_event(f);
	assert_int_equal(rename(from, to), 0);
	assert_event(f);
	assert_scan(f, "device c\n");
	fixture_delete(f->root, FILE_PATH);
	assert_event(f);
}

static void test_a_directory_that_comes_late_is_watched_from_the_next_scan(void **state)
{
	struct mock_fixture *f = *state;

	fixture_delete(f->root, "sys/bus");
	assert_scan(f, "");
	fixture_apply(f->root, "dir sys/bus/mock\n");
	assert_scan(f, "");
	fixture_write(f->root, FILE_PATH, "device a\n");
	assert_event(f);
	assert_scan(f, "device a\n");
}

static void test_two_instances_see_their_own_roots(void **state)
{
	struct mock_fixture *f = *state;
	void *other = NULL;
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *elsewhere =
		fixture_new("dir bus/mock\nfile bus/mock/devices = device b\n");
	struct rdmadp_host host = {sizeof(host), 0, elsewhere, "/dev", host_log};

	fixture_write(f->root, FILE_PATH, "device a\n");
	assert_int_equal(f->mock->init(&host, &other), 0);
	assert_int_equal(f->mock->discover(other, dump_emit, texts), 0);
	assert_string_equal(texts->pdata[0], "device b\n");
	assert_scan(f, "device a\n");
	f->mock->fini(other);
	assert_scan(f, "device a\n");
	fixture_remove(elsewhere);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, mock_setup, mock_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_no_file_is_no_device),
		TEST(test_a_file_that_cannot_be_read_fails_the_scan),
		TEST(test_a_scan_can_be_made_to_fail),
		TEST(test_what_emit_returns_ends_the_scan),
		TEST(test_init_refuses_a_path_that_is_too_long),
		TEST(test_health_is_what_the_file_says_now),
		TEST(test_a_long_text_is_cut),
		TEST(test_flapping_alternates),
		TEST(test_a_file_that_does_not_change_is_read_once),
		TEST(test_quick_changes_are_seen),
		TEST(test_hanging_ends_when_the_file_changes),
		TEST(test_hanging_ends_when_the_time_is_over),
		TEST(test_hanging_ends_with_a_signal),
		TEST(test_many_may_read_while_it_changes),
		TEST(test_each_way_of_changing_the_file_is_an_event),
		TEST(test_a_directory_that_comes_late_is_watched_from_the_next_scan),
		TEST(test_two_instances_see_their_own_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
