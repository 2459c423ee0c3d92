/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/looks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "support/device_builder.h"
#include "support/wait.h"

struct fixture {
	Looks *looks;
	GString *log; /* "a" a read of a was started, "A" it hangs, "." settled */
	Device *a, *b;
	Device *started; /* the last one that was read, borrowed */
};

static void on_start(Device *device, gpointer data)
{
	struct fixture *fixture = data;

	fixture->started = device;
	g_string_append(fixture->log, device_id(device));
}

static void on_stuck(Device *device, gpointer data)
{
	g_string_append_c(((struct fixture *)data)->log, g_ascii_toupper(*device_id(device)));
}

static void on_settled(gpointer data)
{
	g_string_append_c(((struct fixture *)data)->log, '.');
}

static const struct looks_ops ops = {on_start, on_stuck, on_settled};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->log = g_string_new(NULL);
	fixture->a = device_build("a");
	fixture->b = device_build("b");
	fixture->looks = looks_new(&ops, fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	looks_free(fixture->looks);
	device_unref(fixture->a);
	device_unref(fixture->b);
	g_string_free(fixture->log, TRUE);
	g_free(fixture);
	return 0;
}

/* Results of a moment are one occasion. */
static void it_settles_when_all_have_ended(void **state)
{
	struct fixture *fixture = *state;

	looks_at(fixture->looks, fixture->a, TRUE);
	looks_at(fixture->looks, fixture->b, TRUE);
	looks_settle(fixture->looks);
	assert_string_equal(fixture->log->str, "ab");
	looks_done(fixture->looks, fixture->a);
	assert_string_equal(fixture->log->str, "ab");
	looks_done(fixture->looks, fixture->b);
	assert_string_equal(fixture->log->str, "ab.");
	looks_settle(fixture->looks);
	assert_string_equal(fixture->log->str, "ab..");
	looks_done(fixture->looks, fixture->b);
	assert_string_equal(fixture->log->str, "ab..");
}

/* An event that comes while a read is under way may be newer than what it sees. */
static void news_are_looked_at_after_a_read(void **state)
{
	struct fixture *fixture = *state;

	looks_at(fixture->looks, fixture->a, TRUE);
	looks_at(fixture->looks, fixture->a, FALSE);
	looks_done(fixture->looks, fixture->a);
	assert_string_equal(fixture->log->str, "a.");
	looks_at(fixture->looks, fixture->a, FALSE);
	looks_at(fixture->looks, fixture->a, TRUE);
	looks_at(fixture->looks, fixture->a, TRUE);
	looks_done(fixture->looks, fixture->a);
	assert_string_equal(fixture->log->str, "a.aa");
	looks_done(fixture->looks, fixture->a);
	assert_string_equal(fixture->log->str, "a.aa.");
}

/* What a read says of the device as it was is not to be told, and not what is looked at
 * next. */
static void a_device_that_changes_meanwhile_is_looked_at_as_it_is(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(Device) same = device_build("a");
	g_autoptr(Device) changed = device_build("a rdma=mlx5_0 uverbs=7");

	looks_at(fixture->looks, fixture->a, TRUE);
	looks_at(fixture->looks, same, FALSE);
	assert_false(looks_is_outdated(fixture->looks, fixture->a));
	looks_at(fixture->looks, changed, FALSE);
	assert_true(looks_is_outdated(fixture->looks, fixture->a));
	looks_done(fixture->looks, fixture->a);
	assert_string_equal(fixture->log->str, "aa");
	assert_ptr_equal(fixture->started, changed);
	assert_false(looks_is_outdated(fixture->looks, changed));
	looks_done(fixture->looks, changed);
	assert_string_equal(fixture->log->str, "aa.");
	assert_false(looks_is_outdated(fixture->looks, changed));
}

static gboolean has_told_stuck(gpointer data)
{
	return strchr(((struct fixture *)data)->log->str, 'A') != NULL;
}

static gboolean has_settled(gpointer data)
{
	return strchr(((struct fixture *)data)->log->str, '.') != NULL;
}

/* One that hangs holds up the others only for a moment, and is told once. */
static void one_that_hangs_is_not_waited_for(void **state)
{
	struct fixture *fixture = *state;

	looks_at(fixture->looks, fixture->a, TRUE);
	looks_at(fixture->looks, fixture->b, TRUE);
	looks_done(fixture->looks, fixture->b);
	assert_string_equal(fixture->log->str, "ab");
	test_wait(has_settled, fixture);
	assert_string_equal(fixture->log->str, "ab.");
	looks_at(fixture->looks, fixture->b, TRUE);
	looks_done(fixture->looks, fixture->b);
	assert_string_equal(fixture->log->str, "ab.b.");
	test_wait(has_told_stuck, fixture);
	assert_string_equal(fixture->log->str, "ab.b.A.");
	looks_done(fixture->looks, fixture->a);
	assert_string_equal(fixture->log->str, "ab.b.A..");
}

/* What comes late is told together: with thousands of devices all of it comes late. */
static void late_ones_are_told_together(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(Device) c = device_build("c");

	looks_at(fixture->looks, fixture->a, TRUE);
	looks_at(fixture->looks, fixture->b, TRUE);
	looks_at(fixture->looks, c, TRUE);
	test_wait(has_settled, fixture);
	g_string_truncate(fixture->log, 0);
	looks_done(fixture->looks, fixture->a);
	looks_done(fixture->looks, fixture->b);
	assert_string_equal(fixture->log->str, "");
	test_wait(has_settled, fixture);
	assert_string_equal(fixture->log->str, ".");
	looks_done(fixture->looks, c);
	assert_string_equal(fixture->log->str, "..");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_settles_when_all_have_ended),
		TEST(news_are_looked_at_after_a_read),
		TEST(a_device_that_changes_meanwhile_is_looked_at_as_it_is),
		TEST(one_that_hangs_is_not_waited_for),
		TEST(late_ones_are_told_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
