/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
/* cmocka.h needs the ones above */
#include <cmocka.h>

#include "edge/event_watch.h"

#define MS G_GINT64_CONSTANT(1000)
/* any time will do */
#define START (5000 * MS)

static void a_scan_is_due_once_events_pause(void **state)
{
	struct event_watch watch = {.fd = 1};

	(void)state;
	assert_false(event_watch_is_due(&watch, START));
	assert_true(event_watch_note(&watch, 1, POLLIN, START));
	assert_true(event_watch_note(&watch, 1, POLLIN, START + 60 * MS));
	assert_false(event_watch_is_due(&watch, START + 159 * MS));
	assert_true(event_watch_is_due(&watch, START + 160 * MS));
}

static void events_that_go_on_do_not_put_it_off_for_ever(void **state)
{
	struct event_watch watch = {.fd = 1};
	gint64 now = START;

	(void)state;
	for (; now <= START + 990 * MS; now += 10 * MS) {
		assert_true(event_watch_note(&watch, 1, POLLIN, now));
		assert_false(event_watch_is_due(&watch, now));
	}
	assert_true(event_watch_is_due(&watch, START + 1000 * MS));
}

static void an_event_that_is_not_worth_a_scan_makes_none_due(void **state)
{
	struct event_watch watch = {.fd = 1};

	(void)state;
	assert_true(event_watch_note(&watch, 0, POLLIN, START));
	assert_false(event_watch_is_due(&watch, START + 10000 * MS));
}

static void ten_failures_in_a_row_end_it(void **state)
{
	struct event_watch watch = {.fd = 1};

	(void)state;
	for (int i = 0; i < 9; i++)
		assert_true(event_watch_note(&watch, -EIO, POLLIN, START));
	assert_true(event_watch_note(&watch, 1, POLLIN, START));
	for (int i = 0; i < 9; i++)
		assert_true(event_watch_note(&watch, 1, POLLIN | POLLHUP, START));
	assert_false(event_watch_note(&watch, 1, POLLIN | POLLHUP, START));
	assert_int_equal(watch.fd, -1);
	/* what is known until then still leads to a scan */
	assert_true(event_watch_is_due(&watch, START + 100 * MS));
}

static void waiting_ends_for_each_reason(void **state)
{
	struct event_watch watch = {.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
	int wake_fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
	eventfd_t count;
	short revents = 0;
	gint64 now = g_get_monotonic_time();

	(void)state;
	/* woken; the counter is empty afterwards */
	assert_false(event_watch_wait(&watch, wake_fd, now, &revents));
	assert_int_equal(eventfd_read(wake_fd, &count), -1);
	/* an event */
	assert_int_equal(eventfd_write(watch.fd, 1), 0);
	assert_true(event_watch_wait(&watch, wake_fd, now, &revents));
	assert_int_equal(revents, POLLIN);
	/* it is still there, but first comes the pause, then a scan that is due */
	assert_true(event_watch_note(&watch, 1, revents, now));
	assert_false(event_watch_wait(&watch, wake_fd, now, &revents));
	assert_true(g_get_monotonic_time() >= now + 10 * MS);
	assert_int_equal(eventfd_read(watch.fd, &count), 0);
	assert_false(event_watch_wait(&watch, wake_fd, g_get_monotonic_time(), &revents));
	assert_true(event_watch_is_due(&watch, g_get_monotonic_time()));
	close(watch.fd);
	close(wake_fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scan_is_due_once_events_pause),
		cmocka_unit_test(events_that_go_on_do_not_put_it_off_for_ever),
		cmocka_unit_test(an_event_that_is_not_worth_a_scan_makes_none_due),
		cmocka_unit_test(ten_failures_in_a_row_end_it),
		cmocka_unit_test(waiting_ends_for_each_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
