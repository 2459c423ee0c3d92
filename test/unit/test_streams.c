/* SPDX-License-Identifier: Apache-2.0 */
/* Several streams of one resource. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_kubelet.h"
#include "plugin_fixture.h"
#include "raw_http2.h"

static struct connection *streaming(struct plugin_fixture *fixture, guint n)
{
	fake_start(fixture->fake);
	fixture_start(fixture, REGISTRATION_REGISTER, &shared_ops);
	publish(fixture, n, 0);
	WAIT_FOR(fake_sees(fixture->fake, n));
	return fake_last(fixture->fake);
}

/* One more stream on a connection of its own, as after a second dial. */
static struct connection *another(struct plugin_fixture *fixture, gsize n)
{
	struct connection *connection =
		connection_new(fixture->fake, status_of(fixture).socket_path);

	connection_subscribe(connection);
	WAIT_FOR(connection->list && connection->list->n_devices == n);
	return connection;
}

static void every_stream_gets_the_whole_list_and_each_change(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *first = streaming(fixture, 3);
	struct connection *second = another(fixture, 3);

	assert_int_equal(status_of(fixture).streams, 2);
	publish(fixture, 3, 2);
	WAIT_FOR(first->n_lists == 2 && second->n_lists == 2);
	assert_string_equal(first->list->devices[0]->health, "Unhealthy");
	assert_string_equal(second->list->devices[0]->health, "Unhealthy");
	assert_int_equal(fixture->fake->registers, 1);
}

static void what_becomes_of_a_guest_changes_nothing(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *first = streaming(fixture, 3);

	connection_close(another(fixture, 3));
	WAIT_FOR(status_of(fixture).streams == 1);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
	assert_false(first->has_ended);
	publish(fixture, 4, 0);
	WAIT_FOR(first->list->n_devices == 4);
	assert_int_equal(fixture->fake->registers, 1);
}

static void with_the_kubelets_stream_all_end_and_the_resource_registers(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *first = streaming(fixture, 3);
	struct connection *guest = another(fixture, 3);

	connection_close(first);
	WAIT_FOR(guest->has_ended);
	WAIT_FOR(fixture->fake->registers == 2);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	assert_int_equal(status_of(fixture).streams, 1);
}

/* A kubelet that opens two streams for one Register means the second. */
static void of_those_that_a_register_brings_the_newest_counts(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *first, *second;

	fixture->fake->ignores = TRUE;
	fake_start(fixture->fake);
	fixture_start(fixture, REGISTRATION_REGISTER, &shared_ops);
	publish(fixture, 3, 0);
	WAIT_FOR(fixture->fake->registers == 1);
	first = another(fixture, 3);
	second = another(fixture, 3);
	connection_close(first);
	WAIT_FOR(status_of(fixture).streams == 1);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
	fixture->fake->ignores = FALSE;
	connection_close(second);
	WAIT_FOR(fixture->fake->registers == 2);
	WAIT_FOR(fake_sees(fixture->fake, 3));
}

/* Somebody who looks before there is a kubelet must not be taken for it. */
static void a_guest_does_not_keep_the_resource_from_registering(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *guest;

	fixture_start(fixture, REGISTRATION_REGISTER, &shared_ops);
	publish(fixture, 3, 0);
	WAIT_FOR(status_of(fixture).last_error);
	guest = another(fixture, 3);
	assert_int_equal(status_of(fixture).state, PLUGIN_LISTENING);
	fake_start(fixture->fake);
	WAIT_FOR(fixture->fake->registers == 1);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	connection_close(guest);
	WAIT_FOR(status_of(fixture).streams == 1);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
}

static void a_fifth_stream_ends_the_oldest_guest(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *first = streaming(fixture, 3);
	struct connection *guest = another(fixture, 3);

	for (int i = 0; i < 10; i++)
		another(fixture, 3);
	WAIT_FOR(guest->has_ended);
	WAIT_FOR(status_of(fixture).streams == 4);
	publish(fixture, 3, 1);
	WAIT_FOR(first->n_lists == 2);
	assert_false(first->has_ended);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
	assert_int_equal(fixture->fake->registers, 1);
}

/* 20,000 devices are far more than the 64 KiB that a reader has to take in unasked. */
static void a_reader_that_never_reads_holds_up_nobody(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *good = streaming(fixture, 20000);
	int frozen = raw_call(status_of(fixture).socket_path, METHOD_LIST_AND_WATCH, "localhost");
	struct answer answer;

	WAIT_FOR(status_of(fixture).streams == 2);
	for (guint i = 1; i <= 20; i++) {
		publish(fixture, 20000, i);
		WAIT_FOR(good->n_lists == i + 1);
	}
	assert_string_equal(good->list->devices[19]->health, "Unhealthy");
	answer = ask(good, METHOD_ALLOCATE, allocate_request("a-77"));
	assert_int_equal(answer.status, RPC_OK);
	answer_clear(&answer);
	/* The frozen one got one list under way, not twenty. */
	assert_int_equal(status_of(fixture).lists_sent, 22);
	close(frozen);
	WAIT_FOR(status_of(fixture).streams == 1);
	assert_int_equal(fixture->fake->registers, 1);
}

/* Many times what the end may take. */
#define LATE_S 20

static gboolean set_late(gpointer late)
{
	*(gboolean *)late = TRUE;
	return G_SOURCE_CONTINUE;
}

static void a_frozen_reader_does_not_hold_up_the_end(void **state)
{
	struct plugin_fixture *fixture = *state;
	gboolean late = FALSE;
	guint timer;
	int frozen;

	streaming(fixture, 20000);
	frozen = raw_call(status_of(fixture).socket_path, METHOD_LIST_AND_WATCH, "localhost");
	WAIT_FOR(status_of(fixture).streams == 2);
	timer = g_timeout_add_seconds(LATE_S, set_late, &late);
	kubelet_stop_and_wait(g_steal_pointer(&fixture->kubelet));
	g_source_remove(timer);
	assert_false(late);
	close(frozen);
}

static void a_thousand_guests_leave_the_kubelet_in_peace(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *first = streaming(fixture, 3);

	for (int i = 0; i < 1000; i++) {
		connection_close(another(fixture, 3));
		WAIT_FOR(status_of(fixture).streams == 1);
	}
	assert_int_equal(first->n_lists, 1);
	assert_false(first->has_ended);
	assert_int_equal(fixture->fake->registers, 1);
	assert_int_equal(status_of(fixture).lists_sent, 1001);
}

static void streams_of_the_kubelet_come_and_go(void **state)
{
	struct plugin_fixture *fixture = *state;

	streaming(fixture, 3);
	publish(fixture, 3, 1);
	for (guint i = 1; i <= 8; i++) {
		connection_close(fake_last(fixture->fake));
		WAIT_FOR(fixture->fake->registers == i + 1);
		WAIT_FOR(fake_sees(fixture->fake, 3));
		assert_string_equal(fake_last(fixture->fake)->list->devices[0]->health,
				    "Unhealthy");
	}
	assert_int_equal(status_of(fixture).streams, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(every_stream_gets_the_whole_list_and_each_change),
		FIXTURE_TEST(what_becomes_of_a_guest_changes_nothing),
		FIXTURE_TEST(with_the_kubelets_stream_all_end_and_the_resource_registers),
		FIXTURE_TEST(of_those_that_a_register_brings_the_newest_counts),
		FIXTURE_TEST(a_guest_does_not_keep_the_resource_from_registering),
		FIXTURE_TEST(a_fifth_stream_ends_the_oldest_guest),
		FIXTURE_TEST(a_reader_that_never_reads_holds_up_nobody),
		FIXTURE_TEST(a_frozen_reader_does_not_hold_up_the_end),
		FIXTURE_TEST(a_thousand_guests_leave_the_kubelet_in_peace),
		FIXTURE_TEST(streams_of_the_kubelet_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
