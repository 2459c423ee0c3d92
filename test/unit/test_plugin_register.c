/* SPDX-License-Identifier: Apache-2.0 */
/* One resource and what a kubelet makes of its Register. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_kubelet.h"
#include "kubelet/plugin.h"
#include "plugin_fixture.h"

/* A kubelet dials back within Register, for up to ten seconds. */
#define KUBELETS_PATIENCE_MS 12000

static void start(struct plugin_fixture *fixture)
{
	fixture_start(fixture, REGISTRATION_REGISTER, &shared_ops);
	publish(fixture, 3, 0);
}

static gboolean set_flag(gpointer flag)
{
	*(gboolean *)flag = TRUE;
	return G_SOURCE_REMOVE;
}

static void a_refusal_is_told_and_tried_again(void **state)
{
	struct plugin_fixture *fixture = *state;

	fixture->fake->refusal = "the ResourceName \"rdma/a\" is invalid";
	fake_start(fixture->fake);
	start(fixture);
	WAIT_FOR(fixture->fake->registers == 5);
	assert_true(error_contains(fixture, "the ResourceName \"rdma/a\" is invalid"));
	fixture->fake->refusal = NULL;
	WAIT_FOR(fake_sees(fixture->fake, 3));
	assert_null(status_of(fixture).last_error);
}

static void a_file_that_is_no_kubelet_is_not_dialled(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = g_build_filename(fixture->dir, "kubelet.sock", NULL);

	assert_true(g_file_set_contents(path, "x", -1, NULL));
	start(fixture);
	WAIT_FOR(error_contains(fixture, "not the kubelet's"));
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3));
}

static void a_kubelet_that_never_answers_gives_way_to_the_next(void **state)
{
	struct plugin_fixture *fixture = *state;

	fixture->fake->ignores = TRUE;
	fake_start(fixture->fake);
	start(fixture);
	WAIT_FOR(fixture->fake->registers == 1);
	assert_int_equal(status_of(fixture).state, PLUGIN_REGISTERING);
	fixture->fake->ignores = FALSE;
	fake_stop(fixture->fake);
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3));
}

static void a_kubelet_that_takes_its_time_is_not_asked_twice(void **state)
{
	struct plugin_fixture *fixture = *state;
	gboolean over = FALSE;

	fixture->fake->ignores = TRUE;
	fake_start(fixture->fake);
	start(fixture);
	g_timeout_add(KUBELETS_PATIENCE_MS, set_flag, &over);
	WAIT_FOR(over || fixture->fake->registers > 1);
	assert_int_equal(fixture->fake->registers, 1);
	/* But not for ever. */
	WAIT_FOR(fixture->fake->registers == 2);
	assert_true(error_contains(fixture, "status 4"));
}

/* Its stream says that it has registered us, whatever becomes of the call. */
static void a_stream_counts_more_than_the_answer_to_register(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection;

	fixture->fake->ignores = TRUE;
	fake_start(fixture->fake);
	start(fixture);
	WAIT_FOR(fixture->fake->registers == 1);
	connection = fake_last(fixture->fake);
	connection_subscribe(connection);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	connection_answer(connection, RPC_UNKNOWN, "too late");
	WAIT_FOR(fixture->plugin->request == NULL);
	assert_null(status_of(fixture).last_error);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
	publish(fixture, 4, 0);
	WAIT_FOR(fake_sees(fixture->fake, 4));
	assert_int_equal(fixture->fake->registers, 1);
}

static void no_stream_after_a_while_is_registered_again(void **state)
{
	struct plugin_fixture *fixture = *state;

	fixture->fake->opens_no_stream = TRUE;
	fake_start(fixture->fake);
	start(fixture);
	WAIT_FOR(status_of(fixture).registrations == 1);
	fixture->fake->opens_no_stream = FALSE;
	WAIT_FOR(fake_sees(fixture->fake, 3)); /* ten seconds later */
	assert_int_equal(fixture->fake->registers, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_refusal_is_told_and_tried_again),
		FIXTURE_TEST(a_file_that_is_no_kubelet_is_not_dialled),
		FIXTURE_TEST(a_kubelet_that_never_answers_gives_way_to_the_next),
		FIXTURE_TEST(a_kubelet_that_takes_its_time_is_not_asked_twice),
		FIXTURE_TEST(a_stream_counts_more_than_the_answer_to_register),
		FIXTURE_TEST(no_stream_after_a_while_is_registered_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
