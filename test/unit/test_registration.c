/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/registration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEEP REGISTRATION_TIMER_KEEP
#define OFF REGISTRATION_TIMER_OFF
#define SECOND ((gint64)G_USEC_PER_SEC)
/* With so many attempts behind it and no luck with the dice. */
#define MANY 1000
#define LONGEST 0.999999

struct expectation {
	enum plugin_state from;
	enum registration_event event;
	enum plugin_state to;
	guint actions;
	int timer_ms;
};

/* Every transition, after MANY attempts; pairs that are not here change nothing. */
static const struct expectation by_register[] = {
	{PLUGIN_IDLE, REGISTRATION_PUBLISH, PLUGIN_IDLE, REGISTRATION_LISTEN, OFF},
	{PLUGIN_IDLE, REGISTRATION_SERVED, PLUGIN_LISTENING, 0, 0},
	{PLUGIN_IDLE, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, OFF},
	{PLUGIN_LISTENING, REGISTRATION_TIMER, PLUGIN_REGISTERING, REGISTRATION_CALL, OFF},
	{PLUGIN_LISTENING, REGISTRATION_KUBELET, PLUGIN_LISTENING, 0, 0},
	{PLUGIN_LISTENING, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, OFF},
	{PLUGIN_LISTENING, REGISTRATION_UNSERVED, PLUGIN_IDLE, 0, OFF},
	{PLUGIN_REGISTERING, REGISTRATION_ACCEPTED, PLUGIN_REGISTERING, 0, 10000},
	{PLUGIN_REGISTERING, REGISTRATION_REFUSED, PLUGIN_LISTENING, 0, 999},
	{PLUGIN_REGISTERING, REGISTRATION_ABSENT, PLUGIN_LISTENING, 0, OFF},
	{PLUGIN_REGISTERING, REGISTRATION_TIMER, PLUGIN_LISTENING, REGISTRATION_NO_STREAM, 999},
	{PLUGIN_REGISTERING, REGISTRATION_KUBELET, PLUGIN_LISTENING, REGISTRATION_CANCEL, 0},
	{PLUGIN_REGISTERING, REGISTRATION_SERVED, PLUGIN_LISTENING, REGISTRATION_CANCEL, 999},
	{PLUGIN_REGISTERING, REGISTRATION_UNSERVED, PLUGIN_IDLE, REGISTRATION_CANCEL, OFF},
	{PLUGIN_REGISTERING, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, OFF},
	{PLUGIN_STREAMING, REGISTRATION_STREAM_LOST, PLUGIN_LISTENING, REGISTRATION_CANCEL, 999},
	{PLUGIN_STREAMING, REGISTRATION_KUBELET, PLUGIN_LISTENING,
	 REGISTRATION_CANCEL | REGISTRATION_END_STREAMS, 0},
	{PLUGIN_STREAMING, REGISTRATION_REPLACED, PLUGIN_LISTENING,
	 REGISTRATION_CANCEL | REGISTRATION_END_STREAMS, 999},
};

static const struct expectation by_watcher[] = {
	{PLUGIN_IDLE, REGISTRATION_PUBLISH, PLUGIN_IDLE, REGISTRATION_LISTEN, OFF},
	{PLUGIN_IDLE, REGISTRATION_SERVED, PLUGIN_LISTENING, 0, OFF},
	{PLUGIN_IDLE, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, OFF},
	{PLUGIN_LISTENING, REGISTRATION_ASKED, PLUGIN_REGISTERING, 0, 10000},
	{PLUGIN_LISTENING, REGISTRATION_REFUSED, PLUGIN_LISTENING, 0, 59999},
	{PLUGIN_LISTENING, REGISTRATION_TIMER, PLUGIN_LISTENING, REGISTRATION_RENEW, 59999},
	{PLUGIN_LISTENING, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, OFF},
	{PLUGIN_LISTENING, REGISTRATION_UNSERVED, PLUGIN_IDLE, 0, OFF},
	{PLUGIN_REGISTERING, REGISTRATION_ASKED, PLUGIN_REGISTERING, 0, 10000},
	{PLUGIN_REGISTERING, REGISTRATION_ACCEPTED, PLUGIN_REGISTERING, 0, 10000},
	{PLUGIN_REGISTERING, REGISTRATION_REFUSED, PLUGIN_LISTENING, 0, 59999},
	{PLUGIN_REGISTERING, REGISTRATION_TIMER, PLUGIN_LISTENING, REGISTRATION_NO_STREAM, 59999},
	{PLUGIN_REGISTERING, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, OFF},
	{PLUGIN_REGISTERING, REGISTRATION_UNSERVED, PLUGIN_IDLE, 0, OFF},
	{PLUGIN_STREAMING, REGISTRATION_STREAM_LOST, PLUGIN_LISTENING, 0, 59999},
	{PLUGIN_STREAMING, REGISTRATION_REPLACED, PLUGIN_LISTENING, REGISTRATION_END_STREAMS,
	 59999},
};

static struct expectation expected_of(enum registration_way way, enum plugin_state from,
				      enum registration_event event)
{
	gboolean registers = way == REGISTRATION_BY_REGISTER;
	const struct expectation *table = registers ? by_register : by_watcher;
	gsize n = registers ? G_N_ELEMENTS(by_register) : G_N_ELEMENTS(by_watcher);

	if (event == REGISTRATION_STOP && from != PLUGIN_STOPPING)
		return (struct expectation){
			from, event, PLUGIN_STOPPING,
			REGISTRATION_CANCEL | REGISTRATION_END_STREAMS | REGISTRATION_CLOSE, OFF};
	for (gsize i = 0; i < n; i++)
		if (table[i].from == from && table[i].event == event)
			return table[i];
	return (struct expectation){from, event, from, 0, KEEP};
}

static void check_pair(enum registration_way way, enum plugin_state from,
		       enum registration_event event)
{
	struct expectation expected = expected_of(way, from, event);
	struct registration machine = {.way = way,
				       .state = from,
				       .served = TRUE,
				       .attempts = MANY,
				       .stream_us = 10 * SECOND};
	struct registration_orders orders =
		registration_handle(&machine, event, 11 * SECOND, LONGEST);

	if (machine.state != expected.to || orders.actions != expected.actions ||
	    orders.timer_ms != expected.timer_ms)
		fail_msg("way %d, %s in %s: now %s, actions %#x, timer %d; expected %s, %#x, %d",
			 (int)way, registration_event_name(event), registration_state_name(from),
			 registration_state_name(machine.state), orders.actions, orders.timer_ms,
			 registration_state_name(expected.to), expected.actions, expected.timer_ms);
}

static void every_event_in_every_state_does_what_the_table_says(G_GNUC_UNUSED void **state)
{
	for (int way = REGISTRATION_BY_REGISTER; way <= REGISTRATION_BY_WATCHER; way++)
		for (int from = PLUGIN_IDLE; from <= PLUGIN_STOPPING; from++)
			for (int event = 0; event < REGISTRATION_N_EVENTS; event++)
				check_pair((enum registration_way)way, (enum plugin_state)from,
					   (enum registration_event)event);
}

static int refuse(struct registration *machine, double dice)
{
	machine->served = TRUE;
	machine->state = PLUGIN_REGISTERING;
	return registration_handle(machine, REGISTRATION_REFUSED, 0, dice).timer_ms;
}

static void attempts_are_quick_at_first_and_go_on_for_ever(G_GNUC_UNUSED void **state)
{
	static const int shortest[] = {1, 2, 5, 10, 20, 37, 75, 150, 300, 600, 750, 750, 750};
	static const int longest[] = {1, 2, 5, 10, 20, 49, 99, 199, 399, 799, 999, 999, 999};
	struct registration lucky = {.state = PLUGIN_IDLE}, unlucky = {.state = PLUGIN_IDLE};

	assert_int_equal(registration_handle(&lucky, REGISTRATION_SERVED, 0, 0).timer_ms, 0);
	assert_int_equal(registration_handle(&unlucky, REGISTRATION_SERVED, 0, 0).timer_ms, 0);
	for (gsize i = 0; i < G_N_ELEMENTS(shortest); i++) {
		assert_int_equal(refuse(&lucky, 0), shortest[i]);
		assert_int_equal(refuse(&unlucky, LONGEST), longest[i]);
	}
	for (int i = 0; i < 1000000; i++)
		assert_int_equal(refuse(&lucky, 0.5), 875);
}

static int lose_stream_after(struct registration *machine, gint64 life_us)
{
	registration_handle(machine, REGISTRATION_STREAM, SECOND, 0);
	return registration_handle(machine, REGISTRATION_STREAM_LOST, SECOND + life_us, 0).timer_ms;
}

static void a_stream_that_lasted_is_replaced_at_once(G_GNUC_UNUSED void **state)
{
	struct registration machine = {.state = PLUGIN_REGISTERING, .served = TRUE, .attempts = 9};

	assert_int_equal(lose_stream_after(&machine, 5 * SECOND), 0);
	assert_int_equal(lose_stream_after(&machine, 5 * SECOND), 0);
}

/* A late stream of the kubelet that is gone, while the next one is asked. */
static void a_call_outlives_a_stream_that_it_has_not_brought(G_GNUC_UNUSED void **state)
{
	struct registration machine = {.state = PLUGIN_LISTENING, .served = TRUE};
	struct registration_orders orders;

	registration_handle(&machine, REGISTRATION_TIMER, SECOND, 0);
	registration_handle(&machine, REGISTRATION_STREAM, SECOND, 0);
	orders = registration_handle(&machine, REGISTRATION_STREAM_LOST, SECOND, 0);
	assert_int_equal(machine.state, PLUGIN_REGISTERING);
	assert_int_equal(orders.actions, 0);
	assert_int_equal(orders.timer_ms, OFF);
	orders = registration_handle(&machine, REGISTRATION_ACCEPTED, SECOND, 0);
	assert_int_equal(orders.timer_ms, 500);
	registration_handle(&machine, REGISTRATION_STREAM, SECOND, 0);
	assert_int_equal(machine.state, PLUGIN_STREAMING);
	assert_false(registration_expects_stream(&machine));
}

/* It has brought it, after all: there is none now. */
static void a_call_that_brought_what_was_lost_is_repeated(G_GNUC_UNUSED void **state)
{
	struct registration machine = {.state = PLUGIN_LISTENING, .served = TRUE, .attempts = 3};
	struct registration_orders orders;

	registration_handle(&machine, REGISTRATION_TIMER, SECOND, 0);
	registration_handle(&machine, REGISTRATION_STREAM, SECOND, 0);
	registration_handle(&machine, REGISTRATION_STREAM_LOST, SECOND, 0);
	registration_handle(&machine, REGISTRATION_ACCEPTED, SECOND, 0);
	orders = registration_handle(&machine, REGISTRATION_TIMER, SECOND, 0);
	assert_int_equal(machine.state, PLUGIN_LISTENING);
	assert_int_equal(orders.actions, 0);
	assert_int_equal(orders.timer_ms, 5);
	/* The next one has the usual time. */
	registration_handle(&machine, REGISTRATION_TIMER, SECOND, 0);
	orders = registration_handle(&machine, REGISTRATION_ACCEPTED, SECOND, 0);
	assert_int_equal(orders.timer_ms, 10000);
}

static void two_that_take_the_stream_from_each_other_slow_down(G_GNUC_UNUSED void **state)
{
	struct registration machine = {.state = PLUGIN_REGISTERING, .served = TRUE, .attempts = 1};
	int last = 0;

	for (int i = 0; i < 12; i++) {
		int delay = lose_stream_after(&machine, SECOND);

		assert_true(delay >= last);
		last = delay;
	}
	assert_int_equal(last, 750);
}

static void streams_that_end_soon_make_restless(G_GNUC_UNUSED void **state)
{
	struct registration machine = {.state = PLUGIN_REGISTERING, .served = TRUE};

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4; i++) {
			lose_stream_after(&machine, SECOND);
			assert_false(registration_is_restless(&machine));
		}
		lose_stream_after(&machine, SECOND);
		assert_true(registration_is_restless(&machine));
		if (round == 0)
			lose_stream_after(&machine, 5 * SECOND);
		else
			registration_handle(&machine, REGISTRATION_KUBELET, SECOND, 0);
		assert_false(registration_is_restless(&machine));
	}
}

static void a_new_kubelet_is_tried_at_once(G_GNUC_UNUSED void **state)
{
	struct registration machine = {.state = PLUGIN_LISTENING, .served = TRUE, .attempts = MANY};

	assert_int_equal(registration_handle(&machine, REGISTRATION_KUBELET, 0, 0).timer_ms, 0);
	assert_int_equal(machine.attempts, 1);
	registration_handle(&machine, REGISTRATION_TIMER, 0, 0);
	assert_int_equal(refuse(&machine, 0), 1);
}

/* A stream may outlive the file of the socket that it came by. */
static void a_stream_that_ends_without_a_socket_leads_to_idle(G_GNUC_UNUSED void **state)
{
	static const enum registration_event ends[] = {REGISTRATION_STREAM_LOST,
						       REGISTRATION_KUBELET};

	for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
		struct registration machine = {.state = PLUGIN_STREAMING, .served = TRUE};

		registration_handle(&machine, REGISTRATION_UNSERVED, 0, 0);
		assert_int_equal(machine.state, PLUGIN_STREAMING);
		assert_int_equal(registration_handle(&machine, ends[i], 0, 0).timer_ms, OFF);
		assert_int_equal(machine.state, PLUGIN_IDLE);
		assert_int_equal(registration_handle(&machine, REGISTRATION_SERVED, 0, 0).timer_ms,
				 0);
		assert_int_equal(machine.state, PLUGIN_LISTENING);
	}
}

/* Beginning with a socket that is served. Only what has been asked for is the kubelet's. */
static const struct {
	enum registration_way way;
	enum registration_event events[6]; /* PUBLISH, which changes nothing, fills up */
	gboolean expects;
} expecting[] = {
	{REGISTRATION_BY_REGISTER, {REGISTRATION_PUBLISH}, FALSE},
	{REGISTRATION_BY_REGISTER, {REGISTRATION_TIMER}, TRUE},
	{REGISTRATION_BY_REGISTER, {REGISTRATION_TIMER, REGISTRATION_ABSENT}, FALSE},
	/* Until 1.24 the answer comes first, since then mostly the stream. */
	{REGISTRATION_BY_REGISTER, {REGISTRATION_TIMER, REGISTRATION_ACCEPTED}, TRUE},
	{REGISTRATION_BY_REGISTER, {REGISTRATION_TIMER, REGISTRATION_STREAM}, TRUE},
	{REGISTRATION_BY_REGISTER,
	 {REGISTRATION_TIMER, REGISTRATION_ACCEPTED, REGISTRATION_STREAM},
	 FALSE},
	{REGISTRATION_BY_REGISTER,
	 {REGISTRATION_TIMER, REGISTRATION_STREAM, REGISTRATION_ACCEPTED},
	 FALSE},
	/* A kubelet that takes longer than we wait still opens its stream. */
	{REGISTRATION_BY_REGISTER, {REGISTRATION_TIMER, REGISTRATION_REFUSED}, TRUE},
	{REGISTRATION_BY_REGISTER,
	 {REGISTRATION_TIMER, REGISTRATION_STREAM, REGISTRATION_REFUSED},
	 FALSE},
	{REGISTRATION_BY_REGISTER, {REGISTRATION_TIMER, REGISTRATION_KUBELET}, FALSE},
	{REGISTRATION_BY_REGISTER,
	 {REGISTRATION_TIMER, REGISTRATION_STREAM, REGISTRATION_STREAM_LOST, REGISTRATION_TIMER},
	 TRUE},
	/* The stream was not what the call was for. */
	{REGISTRATION_BY_REGISTER,
	 {REGISTRATION_TIMER, REGISTRATION_STREAM, REGISTRATION_STREAM_LOST, REGISTRATION_STREAM},
	 TRUE},
	{REGISTRATION_BY_REGISTER,
	 {REGISTRATION_TIMER, REGISTRATION_SERVED, REGISTRATION_STREAM},
	 FALSE},
	{REGISTRATION_BY_WATCHER, {REGISTRATION_TIMER}, FALSE},
	{REGISTRATION_BY_WATCHER, {REGISTRATION_ASKED}, TRUE},
	{REGISTRATION_BY_WATCHER, {REGISTRATION_ASKED, REGISTRATION_STREAM}, FALSE},
	{REGISTRATION_BY_WATCHER,
	 {REGISTRATION_ASKED, REGISTRATION_STREAM, REGISTRATION_ASKED},
	 TRUE},
};

static void a_stream_is_the_kubelets_if_it_was_asked_for(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(expecting); i++) {
		struct registration machine = {
			.way = expecting[i].way, .state = PLUGIN_LISTENING, .served = TRUE};

		for (gsize j = 0; j < G_N_ELEMENTS(expecting[i].events); j++)
			registration_handle(&machine, expecting[i].events[j], SECOND, 0);
		if (registration_expects_stream(&machine) != expecting[i].expects)
			fail_msg("row %zu", i);
	}
}

static void any_walk_keeps_the_promises(G_GNUC_UNUSED void **state)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(20260101);
	struct registration machine = {0};
	gint64 now = 0;

	for (int i = 0; i < 200000; i++) {
		enum plugin_state before = machine.state;
		enum registration_event event =
			(enum registration_event)g_rand_int_range(random, 0, REGISTRATION_STOP);
		struct registration_orders orders =
			registration_handle(&machine, event, now += 1000, g_rand_double(random));

		/* Never a second Register while there is a stream, or without a socket. */
		if (orders.actions & REGISTRATION_CALL)
			assert_true(before == PLUGIN_LISTENING && machine.served);
		if (machine.state == PLUGIN_LISTENING)
			assert_true(machine.served);
		if (machine.state == PLUGIN_STREAMING)
			assert_int_equal(orders.actions & ~(guint)REGISTRATION_NO_STREAM, 0);
		assert_true(machine.state < PLUGIN_STOPPING);
		/* Whoever waits for no event of the kubelet has a timer. */
		if (before == PLUGIN_REGISTERING && machine.state == PLUGIN_LISTENING &&
		    event != REGISTRATION_ABSENT)
			assert_true(orders.timer_ms >= 0);
	}
}

static void after_a_stop_nothing_moves(G_GNUC_UNUSED void **state)
{
	struct registration machine = {.state = PLUGIN_STREAMING};

	registration_handle(&machine, REGISTRATION_STOP, 0, 0);
	for (int event = 0; event < REGISTRATION_N_EVENTS; event++) {
		struct registration_orders orders =
			registration_handle(&machine, (enum registration_event)event, 0, 0);

		assert_int_equal(machine.state, PLUGIN_STOPPING);
		assert_int_equal(orders.actions, 0);
		assert_int_equal(orders.timer_ms, KEEP);
	}
}

static void a_switch_of_the_way_begins_anew(G_GNUC_UNUSED void **state)
{
	struct registration machine = {.state = PLUGIN_LISTENING,
				       .served = TRUE,
				       .attempts = MANY,
				       .expects = TRUE,
				       .stream_us = SECOND};

	registration_switch(&machine, REGISTRATION_BY_WATCHER);
	assert_int_equal(machine.way, REGISTRATION_BY_WATCHER);
	assert_int_equal(machine.state, PLUGIN_IDLE);
	assert_int_equal(machine.attempts, 0);
	assert_false(registration_expects_stream(&machine));
	assert_false(machine.served);
	registration_handle(&machine, REGISTRATION_SERVED, 0, 0);
	registration_handle(&machine, REGISTRATION_ASKED, 0, 0);
	assert_int_equal(machine.state, PLUGIN_REGISTERING);
	assert_int_equal(refuse(&machine, 0), 0);
	assert_int_equal(refuse(&machine, 0), 750);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_in_every_state_does_what_the_table_says),
		cmocka_unit_test(attempts_are_quick_at_first_and_go_on_for_ever),
		cmocka_unit_test(a_stream_that_lasted_is_replaced_at_once),
		cmocka_unit_test(a_call_outlives_a_stream_that_it_has_not_brought),
		cmocka_unit_test(a_call_that_brought_what_was_lost_is_repeated),
		cmocka_unit_test(two_that_take_the_stream_from_each_other_slow_down),
		cmocka_unit_test(streams_that_end_soon_make_restless),
		cmocka_unit_test(a_new_kubelet_is_tried_at_once),
		cmocka_unit_test(a_stream_that_ends_without_a_socket_leads_to_idle),
		cmocka_unit_test(a_stream_is_the_kubelets_if_it_was_asked_for),
		cmocka_unit_test(any_walk_keeps_the_promises),
		cmocka_unit_test(after_a_stop_nothing_moves),
		cmocka_unit_test(a_switch_of_the_way_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
