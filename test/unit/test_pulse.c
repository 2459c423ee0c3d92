/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/pulse.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "kubelet/socket_file.h"

#define SECOND ((gint64)G_USEC_PER_SEC)
#define START (100 * SECOND)
#define LIMIT (START + 10 * SECOND)

struct fixture {
	char *dir, *path;
	int fd; /* listens */
	Pulse *pulse;
};

static void listen_here(struct fixture *fixture)
{
	struct sockaddr_un address;

	socket_file_address(&address, fixture->path);
	fixture->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fixture->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fixture->fd, 10), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->dir = g_dir_make_tmp("rdmadp-pulse-XXXXXX", NULL);
	fixture->path = g_build_filename(fixture->dir, "a.sock", NULL);
	fixture->pulse = pulse_new();
	listen_here(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	pulse_free(fixture->pulse);
	pulse_free(NULL);
	close(fixture->fd);
	g_unlink(fixture->path);
	assert_int_equal(g_rmdir(fixture->dir), 0);
	g_free(fixture->dir);
	g_free(fixture->path);
	g_free(fixture);
	return 0;
}

static gboolean has_stopped_at(const struct fixture *fixture, gint64 now_us)
{
	return pulse_has_stopped(fixture->pulse, fixture->path, now_us);
}

/* Looks twice a second, as the endpoint does, until then. */
static void stays_silent_until(const struct fixture *fixture, gint64 from, gint64 end)
{
	for (gint64 now = from; now < end; now += SECOND / 2)
		assert_false(has_stopped_at(fixture, now));
}

static void who_says_nothing_for_ten_seconds_has_stopped(void **state)
{
	struct fixture *fixture = *state;

	stays_silent_until(fixture, START, LIMIT);
	assert_false(has_stopped_at(fixture, LIMIT - 1));
	assert_true(has_stopped_at(fixture, LIMIT));
	assert_true(pulse_bury(fixture->pulse, fixture->path));
	assert_false(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
	assert_false(has_stopped_at(fixture, LIMIT));
}

/* Takes the connection that waits, says hello if it is to, and hangs up. */
static void answer(const struct fixture *fixture, gboolean greets)
{
	int fd = accept4(fixture->fd, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	if (greets)
		assert_int_equal(write(fd, "hello", 5), 5);
	close(fd);
}

static void who_answers_lives(void **state)
{
	struct fixture *fixture = *state;

	for (gint64 i = 0; i < 10; i++) {
		assert_false(has_stopped_at(fixture, START + i * 20 * SECOND));
		answer(fixture, i % 2 == 0);
	}
}

/* It may greet and go on to keep the connection. */
static void one_greeting_is_not_for_ever(void **state)
{
	struct fixture *fixture = *state;

	assert_false(has_stopped_at(fixture, START));
	answer(fixture, TRUE);
	stays_silent_until(fixture, LIMIT, LIMIT + 10 * SECOND);
	assert_true(has_stopped_at(fixture, LIMIT + 10 * SECOND));
}

/* Both were stopped, or only this one: what it has not seen counts two seconds at most. */
static void who_has_slept_begins_almost_anew(void **state)
{
	struct fixture *fixture = *state;
	gint64 woken = START + 3600 * SECOND;

	assert_false(has_stopped_at(fixture, START));
	stays_silent_until(fixture, woken, woken + 8 * SECOND);
	assert_true(has_stopped_at(fixture, woken + 8 * SECOND));
}

static void another_file_begins_anew(void **state)
{
	struct fixture *fixture = *state;
	int before = fixture->fd;

	assert_false(has_stopped_at(fixture, START));
	assert_int_equal(g_unlink(fixture->path), 0);
	listen_here(fixture);
	stays_silent_until(fixture, LIMIT, LIMIT + 10 * SECOND);
	assert_true(has_stopped_at(fixture, LIMIT + 10 * SECOND));
	close(before);
}

static void only_the_dead_are_buried(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *aside = g_strconcat(fixture->path, ".old", NULL);
	int before = fixture->fd;

	stays_silent_until(fixture, START, LIMIT);
	assert_true(has_stopped_at(fixture, LIMIT));
	assert_int_equal(g_rename(fixture->path, aside), 0);
	listen_here(fixture);
	assert_false(pulse_bury(fixture->pulse, fixture->path));
	assert_true(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
	assert_int_equal(g_unlink(aside), 0);
	close(before);
}

/* Who has taken nothing for long has no room for one more, either. */
static void a_full_queue_is_silent(void **state)
{
	struct fixture *fixture = *state;
	int waiting[64];
	gsize n = 0;

	assert_int_equal(listen(fixture->fd, 1), 0);
	while ((waiting[n] = socket_file_connect(fixture->path)) >= 0)
		assert_true(++n < G_N_ELEMENTS(waiting));
	assert_int_equal(waiting[n], -EAGAIN);
	stays_silent_until(fixture, START, LIMIT);
	assert_true(has_stopped_at(fixture, LIMIT));
	/* It takes one, and so has room for ours, which it has ten seconds to answer. */
	answer(fixture, FALSE);
	stays_silent_until(fixture, LIMIT, LIMIT + 10 * SECOND);
	assert_true(has_stopped_at(fixture, LIMIT + 10 * SECOND));
	while (n > 0)
		close(waiting[--n]);
}

/* Whether that is stale is for others to find. */
static void who_does_not_listen_is_not_asked(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->fd);
	fixture->fd = -1;
	assert_false(has_stopped_at(fixture, START));
	assert_false(has_stopped_at(fixture, LIMIT));
	assert_int_equal(g_unlink(fixture->path), 0);
	assert_false(has_stopped_at(fixture, LIMIT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(who_says_nothing_for_ten_seconds_has_stopped),
		TEST(who_answers_lives),
		TEST(one_greeting_is_not_for_ever),
		TEST(who_has_slept_begins_almost_anew),
		TEST(another_file_begins_anew),
		TEST(only_the_dead_are_buried),
		TEST(a_full_queue_is_silent),
		TEST(who_does_not_listen_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
