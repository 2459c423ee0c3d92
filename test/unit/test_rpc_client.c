/* SPDX-License-Identifier: Apache-2.0 */
/* The client half of rpc.h. */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc_service.h"

static void never_called(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	(void)reply;
	(void)data;
	fail_msg("status %d: %s", status, message);
}

static void no_socket_is_unavailable(void **state)
{
	struct service *service = *state;
	struct rpc_target target = {"/nonexistent/kubelet.sock", "/x/Y", 0, 0};
	struct answer answer = {0};
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

	rpc_request(service->rpc, &target, empty, on_answer, &answer);
	WAIT_FOR(answer.is_over);
	assert_int_equal(answer.status, RPC_UNAVAILABLE);
	assert_non_null(strstr(answer.text, "No such file"));
	assert_null(answer.reply);
	answer_clear(&answer);
}

static void a_socket_without_listener_is_unavailable(void **state)
{
	struct service *service = *state;
	struct answer answer = {0};

	g_source_remove(service->watch);
	service->watch = 0;
	close(service->listener);
	service->listener = -1;
	ask_now(service, "/test.Service/Echo", "", &answer);
	assert_int_equal(answer.status, RPC_UNAVAILABLE);
	assert_non_null(strstr(answer.text, "refused"));
	answer_clear(&answer);
}

static void a_path_that_is_too_long_is_an_error(void **state)
{
	struct service *service = *state;
	g_autofree char *path = g_strnfill(200, 'x');
	struct rpc_target target = {path, "/x/Y", 0, 0};
	struct answer answer = {0};
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

	rpc_request(service->rpc, &target, empty, on_answer, &answer);
	WAIT_FOR(answer.is_over);
	assert_int_not_equal(answer.status, RPC_OK);
	answer_clear(&answer);
}

static void a_deadline_ends_a_request(void **state)
{
	struct service *service = *state;
	struct answer answer = {0};
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	ask(service, "/test.Service/Hold", bytes, 50, &answer);
	WAIT_FOR(answer.is_over);
	assert_int_equal(answer.status, RPC_DEADLINE_EXCEEDED);
	assert_null(answer.reply);
	answer_clear(&answer);
	/* The server may not have seen it at all. An answer to nobody is harmless. */
	if (service->held)
		rpc_reply(service->held, bytes);
}

static void a_cancelled_request_is_never_heard_of(void **state)
{
	struct service *service = *state;
	struct answer cancelled = {0}, next = {0};
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);
	RpcRequest *request = ask(service, "/test.Service/Hold", bytes, 0, &cancelled);

	WAIT_FOR(service->held);
	rpc_request_cancel(request);
	rpc_request_cancel(ask(service, "/test.Service/Echo", bytes, 0, &cancelled));
	rpc_request_cancel(NULL);
	rpc_reply(service->held, bytes);
	ask_now(service, "/test.Service/Echo", "next", &next);
	assert_bytes(next.reply, "next");
	assert_false(cancelled.is_over);
	answer_clear(&next);
}

static void large_replies_are_refused(void **state)
{
	struct service *service = *state;
	struct rpc_target target = {service->path, "/test.Service/Echo", 0, 1000};
	static const struct {
		gsize size;
		enum rpc_status status;
	} cases[] = {{1000, RPC_OK}, {1001, RPC_RESOURCE_EXHAUSTED}};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct answer answer = {0};
		g_autoptr(GBytes) bytes = g_bytes_new_take(g_malloc0(cases[i].size), cases[i].size);

		rpc_request(service->rpc, &target, bytes, on_answer, &answer);
		WAIT_FOR(answer.is_over);
		assert_int_equal(answer.status, cases[i].status);
		answer_clear(&answer);
	}
}

/* The kubelet says "localhost", others the path of the socket in some form. */
static void any_authority_is_served(void **state)
{
	static const char *const authorities[] = {
		NULL,	       "localhost",   "/path",	      "/a/b.sock",  "%2Fvar%2Flib%2Fx.sock",
		"unix:///a/b", "host:port:x", "user@example", "[::1]:1234", "a b"};
	struct service *service = *state;
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	for (gsize i = 0; i < G_N_ELEMENTS(authorities); i++) {
		struct answer answer = {0};
		RpcChannel *channel =
			rpc_channel_new(service->rpc, service->path, authorities[i], 0);

		rpc_channel_request(channel, "/test.Service/Echo", bytes, 0, on_answer, &answer);
		WAIT_FOR(answer.is_over);
		assert_int_equal(answer.status, RPC_OK);
		answer_clear(&answer);
		rpc_channel_free(channel);
	}
}

/* --- channels --- */

static void a_channel_carries_many_calls(void **state)
{
	enum { CALLS = 8 };
	struct service *service = *state;
	struct answer answers[CALLS] = {{0}};
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	for (int i = 0; i < CALLS; i++)
		rpc_channel_request(channel, "/test.Service/Echo", bytes, i % 2 ? 60000 : 0,
				    on_answer, &answers[i]);
	for (int i = 0; i < CALLS; i++) {
		WAIT_FOR(answers[i].is_over);
		assert_int_equal(answers[i].status, RPC_OK);
		assert_bytes(answers[i].reply, "x");
		answer_clear(&answers[i]);
	}
	rpc_channel_free(channel);
	rpc_channel_free(NULL);
}

static void a_channel_can_wait_for_its_connection(void **state)
{
	struct service *service = *state;
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);

	for (int i = 0; i < 2; i++) {
		struct answer answer = {0};

		rpc_channel_wait_connected(channel, 0, on_answer, &answer);
		assert_false(answer.is_over);
		WAIT_FOR(answer.is_over);
		assert_int_equal(answer.status, RPC_OK);
		assert_null(answer.reply);
		answer_clear(&answer);
	}
	rpc_channel_free(channel);
}

static void a_wait_dials_until_somebody_listens(void **state)
{
	struct service *service = service_new(((struct service *)*state)->rpc);
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	struct answer failed = {0}, answer = {0};
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

	rpc_channel_wait_connected(channel, 0, on_answer, &answer);
	/* The call fails once the first attempt has. */
	rpc_channel_request(channel, "/test.Service/Echo", empty, 0, on_answer, &failed);
	WAIT_FOR(failed.is_over);
	assert_int_equal(failed.status, RPC_UNAVAILABLE);
	assert_false(answer.is_over);
	service_listen(service);
	WAIT_FOR(answer.is_over);
	assert_int_equal(answer.status, RPC_OK);
	answer_clear(&answer);
	answer_clear(&failed);
	rpc_channel_free(channel);
	service_free(service);
}

static void a_wait_ends_with_its_deadline(void **state)
{
	struct service *service = *state;
	RpcChannel *channel = rpc_channel_new(service->rpc, "/nonexistent/x.sock", NULL, 0);
	struct answer answer = {0};

	rpc_channel_wait_connected(channel, 50, on_answer, &answer);
	WAIT_FOR(answer.is_over);
	assert_int_equal(answer.status, RPC_DEADLINE_EXCEEDED);
	answer_clear(&answer);
	rpc_channel_free(channel);
}

/* Everything at once, so that teardown finds what is left over. */
static void freeing_a_channel_silences_what_is_under_way(void **state)
{
	struct service *service = *state;
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	RpcChannel *nowhere = rpc_channel_new(service->rpc, "/nonexistent/x.sock", NULL, 0);
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	rpc_channel_request(channel, "/test.Service/Hold", bytes, 0, never_called, NULL);
	rpc_subscribe(channel, "/test.Service/Watch", bytes, on_stream_message, never_called, NULL);
	WAIT_FOR(service->held && service->streams->len == 1);
	rpc_channel_wait_connected(nowhere, 0, never_called, NULL);
	rpc_request_cancel(rpc_channel_wait_connected(nowhere, 0, never_called, NULL));
	while (g_main_context_iteration(NULL, FALSE)) {
	}
	rpc_channel_wait_connected(nowhere, 0, never_called, NULL);
	rpc_channel_wait_connected(channel, 0, never_called, NULL);
	rpc_channel_request(channel, "/test.Service/Echo", bytes, 0, never_called, NULL);
	rpc_channel_free(nowhere);
	rpc_channel_free(channel);
	WAIT_FOR(service->closed == 1);
	rpc_reply(service->held, bytes);
}

/* --- subscriptions --- */

struct subscriber {
	RpcRequest *request;
	guint messages;
};

static void cancel_on_first_message(GBytes *message, gpointer data)
{
	struct subscriber *subscriber = data;

	(void)message;
	subscriber->messages++;
	rpc_request_cancel(subscriber->request);
}

static void a_subscriber_may_cancel_in_its_callback(void **state)
{
	struct service *service = *state;
	struct subscriber subscriber = {0};
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	subscriber.request = rpc_subscribe(channel, "/test.Service/Watch", bytes,
					   cancel_on_first_message, never_called, &subscriber);
	WAIT_FOR(service->streams->len == 1);
	rpc_stream_send(g_ptr_array_index(service->streams, 0), bytes);
	WAIT_FOR(service->closed == 1);
	assert_int_equal(subscriber.messages, 1);
	rpc_channel_free(channel);
}

static void a_subscription_says_why_it_ended(void **state)
{
	static const struct {
		const char *method;
		enum rpc_status status;
		guint messages;
	} cases[] = {{"/test.Service/None", RPC_UNIMPLEMENTED, 0},
		     {"/test.Service/Fail", RPC_NOT_FOUND, 0},
		     {"/test.Service/Echo", RPC_OK, 1}};
	struct service *service = *state;
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct answer answer = {0};

		rpc_subscribe(channel, cases[i].method, bytes, on_stream_message, on_answer,
			      &answer);
		WAIT_FOR(answer.is_over);
		assert_int_equal(answer.status, cases[i].status);
		assert_int_equal(n_messages(&answer), cases[i].messages);
		assert_null(answer.reply);
		answer_clear(&answer);
	}
	rpc_channel_free(channel);
}

static void an_answer_without_a_message_is_an_error(void **state)
{
	struct service *service = *state;
	struct answer answer = {0};
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	ask(service, "/test.Service/Watch", bytes, 0, &answer);
	WAIT_FOR(service->streams->len == 1);
	rpc_stream_end(g_ptr_array_index(service->streams, 0), RPC_OK, "");
	WAIT_FOR(answer.is_over && service->closed == 1);
	assert_int_equal(answer.status, RPC_INTERNAL);
	assert_non_null(strstr(answer.text, "without a message"));
	answer_clear(&answer);
}

static void free_channel_on_end(enum rpc_status status, const char *message, GBytes *reply,
				gpointer data)
{
	RpcChannel **channel = data;

	(void)message;
	(void)reply;
	assert_int_equal(status, RPC_NOT_FOUND);
	rpc_channel_free(*channel);
	*channel = NULL;
}

static void a_channel_may_be_freed_in_a_callback(void **state)
{
	struct service *service = *state;
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	rpc_channel_request(channel, "/test.Service/Fail", bytes, 0, free_channel_on_end, &channel);
	WAIT_FOR(!channel);
}

/* Those of ours that are connected to it, whether it has accepted them or not. */
static guint n_sockets(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	const char *name;
	guint n = 0;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename("/proc/self/fd", name, NULL);
		g_autofree char *target = g_file_read_link(path, NULL);

		n += target && g_str_has_prefix(target, "socket:") ? 1 : 0;
	}
	return n;
}

/* A thread of gRPC closes them, perhaps after its last event: nothing wakes the loop. */
static void wait_for_sockets(guint n)
{
	while (n_sockets() != n) {
		g_main_context_iteration(NULL, FALSE);
		g_usleep(1000);
	}
}

static void a_channel_that_is_freed_while_it_connects_leaves_nothing(void **state)
{
	struct service *service = *state;
	RpcChannel *channels[10];
	guint before = n_sockets();

	/* Connections are made and nobody says a word. */
	g_source_remove(service->watch);
	service->watch = 0;
	for (guint i = 0; i < G_N_ELEMENTS(channels); i++) {
		channels[i] = rpc_channel_new(service->rpc, service->path, NULL, 0);
		rpc_channel_wait_connected(channels[i], 0, never_called, NULL);
	}
	wait_for_sockets(before + G_N_ELEMENTS(channels));
	for (guint i = 0; i < G_N_ELEMENTS(channels); i++)
		rpc_channel_free(channels[i]);
	close(service->listener);
	service->listener = -1;
	wait_for_sockets(before - 1);
}

#define SERVICE_TEST(function)                                                                     \
	cmocka_unit_test_setup_teardown(function, service_setup, service_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVICE_TEST(no_socket_is_unavailable),
		SERVICE_TEST(a_socket_without_listener_is_unavailable),
		SERVICE_TEST(a_path_that_is_too_long_is_an_error),
		SERVICE_TEST(a_deadline_ends_a_request),
		SERVICE_TEST(a_cancelled_request_is_never_heard_of),
		SERVICE_TEST(large_replies_are_refused),
		SERVICE_TEST(any_authority_is_served),
		SERVICE_TEST(a_channel_carries_many_calls),
		SERVICE_TEST(a_channel_can_wait_for_its_connection),
		SERVICE_TEST(a_wait_dials_until_somebody_listens),
		SERVICE_TEST(a_wait_ends_with_its_deadline),
		SERVICE_TEST(freeing_a_channel_silences_what_is_under_way),
		SERVICE_TEST(a_subscriber_may_cancel_in_its_callback),
		SERVICE_TEST(a_subscription_says_why_it_ended),
		SERVICE_TEST(an_answer_without_a_message_is_an_error),
		SERVICE_TEST(a_channel_may_be_freed_in_a_callback),
		SERVICE_TEST(a_channel_that_is_freed_while_it_connects_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
