/* SPDX-License-Identifier: Apache-2.0 */
/* One resource towards a kubelet that behaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_kubelet.h"
#include "plugin_fixture.h"
#include "support/capture.h"

/* A resource of three devices that the kubelet has been shown. */
static struct connection *streaming(struct plugin_fixture *fixture, const struct plugin_ops *ops)
{
	fake_start(fixture->fake);
	fixture_start(fixture, REGISTRATION_REGISTER, ops);
	publish(fixture, 3, 1);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	return fake_last(fixture->fake);
}

static void a_resource_registers_and_shows_its_list(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);
	struct plugin_status status = status_of(fixture);
	g_autofree char *path = g_build_filename(fixture->dir, "rdma_a.sock", NULL);

	assert_int_equal(fixture->fake->registers, 1);
	assert_string_equal(connection->endpoint, "rdma_a.sock");
	assert_string_equal(connection->resource, "rdma/a");
	assert_false(connection->prefers);
	assert_string_equal(connection->list->devices[0]->id, "a-0");
	assert_string_equal(connection->list->devices[0]->health, "Unhealthy");
	assert_string_equal(connection->list->devices[2]->health, "Healthy");
	assert_int_equal(status.state, PLUGIN_STREAMING);
	assert_int_equal(status.streams, 1);
	assert_int_equal(status.lists_sent, 1);
	assert_string_equal(status.socket_path, path);
	assert_null(status.last_error);
	WAIT_FOR(status_of(fixture).registrations == 1);
}

static void nothing_is_registered_before_there_is_a_list(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = g_build_filename(fixture->dir, "rdma_a.sock", NULL);

	fake_start(fixture->fake);
	fixture_start(fixture, REGISTRATION_REGISTER, &shared_ops);
	while (g_main_context_iteration(NULL, FALSE))
		;
	assert_int_equal(status_of(fixture).state, PLUGIN_IDLE);
	assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	publish(fixture, 1, 0);
	assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
	WAIT_FOR(fake_sees(fixture->fake, 1));
	assert_int_equal(fixture->fake->registers, 1);
}

static void an_empty_list_is_a_list(void **state)
{
	struct plugin_fixture *fixture = *state;

	fake_start(fixture->fake);
	fixture_start(fixture, REGISTRATION_REGISTER, &shared_ops);
	publish(fixture, 0, 0);
	WAIT_FOR(fake_sees(fixture->fake, 0));
}

static void only_real_changes_are_sent(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);

	publish(fixture, 3, 1);
	publish(fixture, 3, 1);
	publish(fixture, 4, 0);
	WAIT_FOR(fake_sees(fixture->fake, 4));
	assert_int_equal(connection->n_lists, 2);
	assert_int_equal(status_of(fixture).lists_sent, 2);
}

static void changes_that_come_quickly_are_one(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);

	/* The first goes out at once, if the one before it is on its way; until it has, the
	 * others are only remembered. */
	for (guint i = 10; i < 100; i++)
		publish(fixture, i, 0);
	WAIT_FOR(fake_sees(fixture->fake, 99));
	assert_in_range(connection->n_lists, 2, 3);
}

static void a_change_that_is_taken_back_in_time_is_none(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);

	publish(fixture, 10, 0);
	publish(fixture, 11, 0);
	publish(fixture, 10, 0);
	WAIT_FOR(fake_sees(fixture->fake, 10));
	publish(fixture, 12, 0);
	WAIT_FOR(fake_sees(fixture->fake, 12));
	assert_int_equal(connection->n_lists, 3);
}

/* gRPC empties the buffer that it has sent: the same bytes must survive a second use. */
static void the_same_list_can_be_sent_many_times(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *first = streaming(fixture, &shared_ops);

	for (int i = 0; i < 3; i++) {
		struct connection *again = connection_new(fixture->fake, first->path);

		connection_subscribe(again);
		WAIT_FOR(fake_sees(fixture->fake, 3));
		assert_string_equal(again->list->devices[1]->id, "a-1");
	}
}

/* --- Allocate --- */

static void a_container_gets_its_devices(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);

	/* Twice: an id may come again, for another container or a pod that starts anew. */
	for (int i = 0; i < 2; i++) {
		struct answer answer =
			ask(connection, METHOD_ALLOCATE, allocate_request("a-2 a-1"));
		V1beta1__AllocateResponse *response;

		assert_int_equal(answer.status, RPC_OK);
		response = v1beta1__allocate_response__unpack(NULL, g_bytes_get_size(answer.reply),
							      g_bytes_get_data(answer.reply, NULL));
		assert_int_equal(response->n_container_responses, 1);
		assert_int_equal(response->container_responses[0]->n_devices, 2);
		assert_string_equal(response->container_responses[0]->devices[0]->host_path,
				    "/dev/infiniband/a-1");
		v1beta1__allocate_response__free_unpacked(response, NULL);
		answer_clear(&answer);
	}
	assert_int_equal(status_of(fixture).allocations, 2);
	assert_int_equal(status_of(fixture).failed_allocations, 0);
}

static void each_container_has_its_own_answer(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);
	GBytes *two = g_bytes_new_static("\x0a\x05\x0a\x03"
					 "a-0\x0a\x05\x0a\x03"
					 "a-1",
					 14);
	log_setup(LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, NULL);
	capture_start();
	struct answer answer = ask(connection, METHOD_ALLOCATE, two);
	g_autofree char *said = capture_stop();
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, NULL);
	V1beta1__AllocateResponse *response = v1beta1__allocate_response__unpack(
		NULL, g_bytes_get_size(answer.reply), g_bytes_get_data(answer.reply, NULL));

	assert_non_null(strstr(said, "allocated devices to 2 containers\n"));
	assert_int_equal(response->n_container_responses, 2);
	assert_string_equal(response->container_responses[1]->devices[0]->host_path,
			    "/dev/infiniband/a-1");
	v1beta1__allocate_response__free_unpacked(response, NULL);
	answer_clear(&answer);
}

static void allocate_answers_from_the_newest_list(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);
	struct answer answer;

	publish(fixture, 2, 0);
	answer = ask(connection, METHOD_ALLOCATE, allocate_request("a-2"));
	assert_int_equal(answer.status, RPC_NOT_FOUND);
	answer_clear(&answer);
}

static const struct {
	const char *name;
	const char *request;
	gsize length;
	enum rpc_status status;
	const char *text;
} refused[] = {
	{"unknown",
	 "\x0a\x05\x0a\x03"
	 "b-0",
	 7, RPC_NOT_FOUND, "'rdma/a' has no device 'b-0'"},
	{"one of two",
	 "\x0a\x0a\x0a\x03"
	 "a-0\x0a\x03"
	 "b-1",
	 12, RPC_NOT_FOUND, "no device 'b-1'"},
	{"many",
	 "\x0a\x12\x0a\x01"
	 "1\x0a\x01"
	 "2\x0a\x01"
	 "3\x0a\x01"
	 "4\x0a\x01"
	 "5\x0a\x01"
	 "6",
	 20, RPC_NOT_FOUND, "'1', '2', '3', '4', '5', …"},
	{"no device", "\x0a\x00", 2, RPC_INVALID_ARGUMENT, "without naming a device"},
	{"empty id", "\x0a\x02\x0a\x00", 4, RPC_INVALID_ARGUMENT, "is empty"},
	{"NUL",
	 "\x0a\x05\x0a\x03"
	 "a-0"
	 "\x0a\x06\x0a\x04"
	 "a-0\0",
	 15, RPC_INVALID_ARGUMENT, "NUL"},
	{"no container", "", 0, RPC_INVALID_ARGUMENT, "names no container"},
	{"malformed", "\xff\xff", 2, RPC_INTERNAL, "no valid AllocateRequest"},
};

static void a_request_that_makes_no_sense_is_refused_with_a_reason(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);

	for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
		GBytes *request = g_bytes_new_static(refused[i].request, refused[i].length);
		struct answer answer = ask(connection, METHOD_ALLOCATE, request);

		if (answer.status != refused[i].status || !strstr(answer.text, refused[i].text))
			fail_msg("%s: %d %s", refused[i].name, (int)answer.status, answer.text);
		answer_clear(&answer);
	}
	assert_int_equal(status_of(fixture).failed_allocations, G_N_ELEMENTS(refused));
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
}

static void what_the_resource_says_reaches_the_pods_events(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);
	struct answer answer;

	fixture->allocate_problem = "no HCA of 'rdma/a' is complete: rdma_cm is missing";
	answer = ask(connection, METHOD_ALLOCATE, allocate_request("a-1"));
	assert_int_equal(answer.status, RPC_FAILED_PRECONDITION);
	assert_string_equal(answer.text, fixture->allocate_problem);
	answer_clear(&answer);
}

static const struct {
	const char *method;
	gsize largest;
} limits[] = {
	{METHOD_ALLOCATE, 65536},
	{METHOD_OPTIONS, 65536},
	{METHOD_PRE_START, 65536},
	{METHOD_PREFERRED, 8388608},
};

static void requests_have_a_limit(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);

	for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
		for (gsize more = 0; more <= 1; more++) {
			gsize size = limits[i].largest + more;
			struct answer answer = ask(connection, limits[i].method,
						   g_bytes_new_take(g_malloc0(size), size));

			if (more == 1)
				assert_int_equal(answer.status, RPC_RESOURCE_EXHAUSTED);
			else
				assert_int_not_equal(answer.status, RPC_RESOURCE_EXHAUSTED);
			answer_clear(&answer);
		}
	}
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
}

/* --- the other calls --- */

static GBytes *preferred_request(const char *available, const char *must, int size)
{
	g_auto(GStrv) from = g_strsplit_set(available, " ", -1);
	g_auto(GStrv) with = g_strsplit_set(must, " ", -1);
	V1beta1__PreferredAllocationRequest request = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest container =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest *containers[] = {&container};

	container.available_deviceids = from;
	container.n_available_deviceids = g_strv_length(from);
	container.must_include_deviceids = with;
	container.n_must_include_deviceids = g_strv_length(with);
	container.allocation_size = size;
	request.container_requests = containers;
	request.n_container_requests = 1;
	return pack_message(&request);
}

static const struct {
	const char *available, *must;
	int size;
	const char *chosen;
} preferences[] = {
	{"a-0 a-1 a-2", "a-2", 2, "a-2 a-1 "},
	{"a-0 a-1 a-2", "", 3, "a-2 a-1 a-0 "},
	{"a-0 a-1", "", 3, ""}, /* more than there are */
	{"a-0 a-1", "", 0, ""},
	{"a-0 a-1", "", -1, ""},
	{"a-0 a-1", "a-0 a-1", 1, ""}, /* more must be than may be */
	{"a-0 b-1", "", 1, ""}, /* not ours */
	{"a-0 a-1", "b-0", 1, ""},
};

static void assert_preferred(const struct answer *answer, const char *expected)
{
	V1beta1__PreferredAllocationResponse *response;
	g_autoptr(GString) chosen = g_string_new(NULL);

	assert_int_equal(answer->status, RPC_OK);
	response = v1beta1__preferred_allocation_response__unpack(
		NULL, g_bytes_get_size(answer->reply), g_bytes_get_data(answer->reply, NULL));
	assert_int_equal(response->n_container_responses, 1);
	for (gsize i = 0; i < response->container_responses[0]->n_deviceids; i++)
		g_string_append_printf(chosen, "%s ",
				       response->container_responses[0]->deviceids[i]);
	assert_string_equal(chosen->str, expected);
	v1beta1__preferred_allocation_response__free_unpacked(response, NULL);
}

static void a_preference_is_a_choice_or_none_but_no_error(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &exclusive_ops);
	struct answer answer;

	assert_true(connection->prefers);
	for (gsize i = 0; i < G_N_ELEMENTS(preferences); i++) {
		answer = ask(connection, METHOD_PREFERRED,
			     preferred_request(preferences[i].available, preferences[i].must,
					       preferences[i].size));
		assert_preferred(&answer, preferences[i].chosen);
		answer_clear(&answer);
	}
	fixture->prefers_more = 1;
	answer = ask(connection, METHOD_PREFERRED, preferred_request("a-0 a-1", "", 1));
	assert_preferred(&answer, "");
	answer_clear(&answer);
	answer = ask(connection, METHOD_PREFERRED, g_bytes_new_static("\xff", 1));
	assert_int_equal(answer.status, RPC_OK);
	assert_int_equal(g_bytes_get_size(answer.reply), 0);
	answer_clear(&answer);
}

static void who_offers_no_preference_has_none(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);
	struct answer answer =
		ask(connection, METHOD_PREFERRED, preferred_request("a-0 a-1", "a-0", 1));

	assert_preferred(&answer, "");
	answer_clear(&answer);
}

static void pre_start_does_nothing_and_what_we_do_not_know_is_said(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture, &shared_ops);
	struct answer known = ask(connection, METHOD_PRE_START,
				  g_bytes_new_static("\x0a\x03"
						     "a-0",
						     5));
	struct answer unknown =
		ask(connection, "/v1beta1.DevicePlugin/Deallocate", g_bytes_new_static("", 0));

	assert_int_equal(known.status, RPC_OK);
	assert_int_equal(g_bytes_get_size(known.reply), 0);
	assert_int_equal(unknown.status, RPC_UNIMPLEMENTED);
	answer_clear(&known);
	answer_clear(&unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_resource_registers_and_shows_its_list),
		FIXTURE_TEST(nothing_is_registered_before_there_is_a_list),
		FIXTURE_TEST(an_empty_list_is_a_list),
		FIXTURE_TEST(only_real_changes_are_sent),
		FIXTURE_TEST(changes_that_come_quickly_are_one),
		FIXTURE_TEST(a_change_that_is_taken_back_in_time_is_none),
		FIXTURE_TEST(the_same_list_can_be_sent_many_times),
		FIXTURE_TEST(a_container_gets_its_devices),
		FIXTURE_TEST(each_container_has_its_own_answer),
		FIXTURE_TEST(allocate_answers_from_the_newest_list),
		FIXTURE_TEST(a_request_that_makes_no_sense_is_refused_with_a_reason),
		FIXTURE_TEST(what_the_resource_says_reaches_the_pods_events),
		FIXTURE_TEST(requests_have_a_limit),
		FIXTURE_TEST(a_preference_is_a_choice_or_none_but_no_error),
		FIXTURE_TEST(who_offers_no_preference_has_none),
		FIXTURE_TEST(pre_start_does_nothing_and_what_we_do_not_know_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
