/* SPDX-License-Identifier: Apache-2.0 */
/* The server half of rpc.h, and the life of an Rpc. */
#include <dirent.h>
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc_service.h"

static void echoes_a_message(void **state)
{
	struct answer answer = {0};

	ask_now(*state, "/test.Service/Echo", "hello", &answer);
	assert_int_equal(answer.status, RPC_OK);
	assert_string_equal(answer.text, "");
	assert_bytes(answer.reply, "hello");
	answer_clear(&answer);
}

static void an_empty_message_is_a_message(void **state)
{
	struct answer answer = {0};

	ask_now(*state, "/test.Service/Echo", "", &answer);
	assert_int_equal(answer.status, RPC_OK);
	assert_bytes(answer.reply, "");
	answer_clear(&answer);
}

static void a_failure_carries_status_and_text(void **state)
{
	struct answer answer = {0};

	ask_now(*state, "/test.Service/Fail", "x", &answer);
	assert_int_equal(answer.status, RPC_NOT_FOUND);
	assert_string_equal(answer.text, "there is no 'x': 100 % sure");
	assert_null(answer.reply);
	answer_clear(&answer);
}

static void unknown_methods_are_unimplemented(void **state)
{
	static const char *const paths[] = {"/test.Service/None", "/other.Service/Echo", "/x"};

	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
		struct answer answer = {0};

		ask_now(*state, paths[i], "", &answer);
		assert_int_equal(answer.status, RPC_UNIMPLEMENTED);
		assert_non_null(strstr(answer.text, paths[i]));
		answer_clear(&answer);
	}
}

static void large_requests_are_refused(void **state)
{
	static const struct {
		const char *method;
		gsize size;
		enum rpc_status status;
	} cases[] = {
		{"/test.Service/Small", 16, RPC_OK},
		{"/test.Service/Small", 17, RPC_RESOURCE_EXHAUSTED},
		{"/test.Service/Echo", 1 << 20, RPC_OK},
		{"/test.Service/Echo", (1 << 20) + 1, RPC_RESOURCE_EXHAUSTED},
	};
	struct service *service = *state;

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct answer answer = {0};
		g_autoptr(GBytes) bytes = g_bytes_new_take(g_malloc0(cases[i].size), cases[i].size);

		ask(service, cases[i].method, bytes, 0, &answer);
		WAIT_FOR(answer.is_over);
		assert_int_equal(answer.status, cases[i].status);
		if (answer.status == RPC_OK)
			assert_true(g_bytes_equal(answer.reply, bytes));
		answer_clear(&answer);
	}
	assert_int_equal(service->handled, 2);
}

static void a_handler_may_answer_later(void **state)
{
	struct service *service = *state;
	struct answer answer = {0};
	g_autoptr(GBytes) bytes = g_bytes_new_static("late", 4);

	ask(service, "/test.Service/Hold", bytes, 0, &answer);
	WAIT_FOR(service->held);
	assert_false(answer.is_over);
	rpc_reply(service->held, bytes);
	WAIT_FOR(answer.is_over);
	assert_bytes(answer.reply, "late");
	answer_clear(&answer);
}

/* --- streams --- */

static void send_to_all(struct service *service, GBytes *message)
{
	guint before = service->sent;

	for (guint i = 0; i < service->streams->len; i++)
		rpc_stream_send(g_ptr_array_index(service->streams, i), message);
	WAIT_FOR(service->sent == before + service->streams->len);
}

/* A byte buffer that is sent twice arrives empty the second time. */
static void one_list_goes_to_many_streams_many_times(void **state)
{
	struct service *service = *state;
	struct answer answers[2] = {{0}, {0}};
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);
	g_autoptr(GBytes) list = g_bytes_new_static("two devices", 11);

	for (int i = 0; i < 2; i++)
		rpc_subscribe(channel, "/test.Service/Watch", empty, on_stream_message, on_answer,
			      &answers[i]);
	WAIT_FOR(service->streams->len == 2);
	send_to_all(service, list);
	send_to_all(service, list);
	send_to_all(service, empty);
	for (int i = 0; i < 2; i++) {
		WAIT_FOR(n_messages(&answers[i]) == 3);
		assert_bytes(g_ptr_array_index(answers[i].messages, 0), "two devices");
		assert_bytes(g_ptr_array_index(answers[i].messages, 1), "two devices");
		assert_bytes(g_ptr_array_index(answers[i].messages, 2), "");
		assert_false(answers[i].is_over);
		answer_clear(&answers[i]);
	}
	rpc_channel_free(channel);
	WAIT_FOR(service->closed == 2);
}

static void the_end_of_a_stream_follows_its_messages(void **state)
{
	struct service *service = *state;
	struct answer answer = {0};
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	g_autoptr(GBytes) list = g_bytes_new_take(g_malloc0(1 << 20), 1 << 20);

	rpc_subscribe(channel, "/test.Service/Watch", list, on_stream_message, on_answer, &answer);
	/* The request is larger than the method takes. */
	WAIT_FOR(answer.is_over);
	assert_int_equal(answer.status, RPC_RESOURCE_EXHAUSTED);
	answer_clear(&answer);

	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

	rpc_subscribe(channel, "/test.Service/Watch", empty, on_stream_message, on_answer, &answer);
	WAIT_FOR(service->streams->len == 1);
	RpcCall *call = g_ptr_array_index(service->streams, 0);

	rpc_stream_send(call, list);
	rpc_stream_end(call, RPC_UNAVAILABLE, "retired");
	WAIT_FOR(answer.is_over);
	assert_int_equal(answer.status, RPC_UNAVAILABLE);
	assert_string_equal(answer.text, "retired");
	assert_int_equal(n_messages(&answer), 1);
	assert_true(g_bytes_equal(g_ptr_array_index(answer.messages, 0), list));
	WAIT_FOR(service->closed == 1);
	/* None after the end. */
	assert_int_equal(service->sent, 0);
	answer_clear(&answer);
	rpc_channel_free(channel);
}

/* --- clients that misbehave --- */

static void append_frame(GByteArray *out, guint8 type, guint8 flags, guint32 stream,
			 GByteArray *payload)
{
	guint8 head[9] = {(guint8)(payload->len >> 16),
			  (guint8)(payload->len >> 8),
			  (guint8)payload->len,
			  type,
			  flags,
			  0,
			  0,
			  0,
			  (guint8)stream};

	g_byte_array_append(out, head, sizeof(head));
	g_byte_array_append(out, payload->data, payload->len);
}

static void append_header(GByteArray *block, const char *name, const char *value)
{
	guint8 lengths[3] = {0, (guint8)strlen(name), (guint8)strlen(value)};

	g_byte_array_append(block, &lengths[0], 2);
	g_byte_array_append(block, (const guint8 *)name, lengths[1]);
	g_byte_array_append(block, &lengths[2], 1);
	g_byte_array_append(block, (const guint8 *)value, lengths[2]);
}

enum { HTTP2_DATA = 0, HTTP2_HEADERS = 1, HTTP2_SETTINGS = 4 };
enum { HTTP2_END_STREAM = 1, HTTP2_END_HEADERS = 4 };

static int raw_connect(const struct service *service)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, service->path, sizeof(address.sun_path));
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* A call as bytes on a socket, by a client that then does nothing any more. 'message' is
 * the gRPC frame with its 5 bytes of head; NULL ends the call without one. */
static int raw_call(const struct service *service, const char *method, const char *encoding,
		    GByteArray *message)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	g_autoptr(GByteArray) out = g_byte_array_new();
	g_autoptr(GByteArray) none = g_byte_array_new();
	g_autoptr(GByteArray) headers = g_byte_array_new();
	guint8 end = message ? 0 : HTTP2_END_STREAM;
	int fd = raw_connect(service);

	append_header(headers, ":method", "POST");
	append_header(headers, ":scheme", "http");
	append_header(headers, ":path", method);
	append_header(headers, ":authority", "localhost");
	append_header(headers, "content-type", "application/grpc");
	append_header(headers, "te", "trailers");
	append_header(headers, "grpc-encoding", encoding);
	g_byte_array_append(out, (const guint8 *)preface, sizeof(preface) - 1);
	append_frame(out, HTTP2_SETTINGS, 0, 0, none);
	append_frame(out, HTTP2_HEADERS, HTTP2_END_HEADERS | end, 1, headers);
	if (message)
		append_frame(out, HTTP2_DATA, HTTP2_END_STREAM, 1, message);
	assert_int_equal(write(fd, out->data, out->len), out->len);
	return fd;
}

static GByteArray *grpc_frame(gboolean is_compressed, const guint8 *data, gsize size)
{
	GByteArray *frame = g_byte_array_new();
	guint8 head[5] = {(guint8)is_compressed, 0, 0, 0, (guint8)size};

	g_byte_array_append(frame, head, sizeof(head));
	return g_byte_array_append(frame, data, (guint)size);
}

/* Reads until 'text' has come. */
static void expect_text(int fd, const char *text)
{
	g_autoptr(GByteArray) in = g_byte_array_new();
	guint8 bytes[4096];

	while (in->len == 0 || !memmem(in->data, in->len, text, strlen(text))) {
		gssize n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		assert_true(n != 0);
		if (n > 0)
			g_byte_array_append(in, bytes, (guint)n);
		else
			g_main_context_iteration(NULL, FALSE);
	}
}

static void a_call_without_a_request_is_refused(void **state)
{
	struct service *service = *state;
	int fd = raw_call(service, "/test.Service/Echo", "identity", NULL);

	expect_text(fd, "without a request");
	assert_int_equal(service->handled, 0);
	close(fd);
}

/* What a few bytes unpack to has no limit. */
static void compressed_requests_are_refused(void **state)
{
	static const guint8 gzip_of_nothing[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3,
						 3,    0,    0, 0, 0, 0, 0, 0, 0, 0};
	struct service *service = *state;
	g_autoptr(GByteArray) message = grpc_frame(TRUE, gzip_of_nothing, sizeof(gzip_of_nothing));
	int fd = raw_call(service, "/test.Service/Echo", "gzip", message);

	expect_text(fd, "grpc-status");
	assert_int_equal(service->handled, 0);
	close(fd);
}

static void a_client_that_vanishes_closes_its_stream(void **state)
{
	struct service *service = *state;
	g_autoptr(GByteArray) message = grpc_frame(FALSE, NULL, 0);
	int fd = raw_call(service, "/test.Service/Watch", "identity", message);

	WAIT_FOR(service->streams->len == 1);
	close(fd);
	WAIT_FOR(service->closed == 1);
}

static void a_client_that_is_no_grpc_client_is_dropped(void **state)
{
	struct service *service = *state;
	int fd = raw_connect(service);
	char byte;

	assert_int_equal(write(fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
	gssize n;

	do {
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		g_main_context_iteration(NULL, FALSE);
	} while (n > 0 || (n < 0 && errno == EAGAIN));
	close(fd);
	struct answer answer = {0};

	ask_now(service, "/test.Service/Echo", "still there", &answer);
	assert_int_equal(answer.status, RPC_OK);
	answer_clear(&answer);
}

/* --- stop --- */

static void stop_cancels_a_frozen_client_after_the_grace(void **state)
{
	struct service *service = *state;
	g_autoptr(GByteArray) message = grpc_frame(FALSE, NULL, 0);
	int fd = raw_call(service, "/test.Service/Watch", "identity", message);

	WAIT_FOR(service->streams->len == 1);
	g_autoptr(GBytes) list = g_bytes_new_take(g_malloc0(4 << 20), 4 << 20);

	/* More than the socket holds: the client does not read it. */
	rpc_stream_send(g_ptr_array_index(service->streams, 0), list);
	rpc_stream_end(g_ptr_array_index(service->streams, 0), RPC_UNAVAILABLE, "bye");
	service_stop(service, 20);
	assert_false(service->stopped);
	WAIT_FOR(service->stopped);
	assert_int_equal(service->closed, 1);
	close(fd);
}

static void stop_lets_a_call_end(void **state)
{
	struct service *service = *state;
	struct answer answer = {0};
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	ask(service, "/test.Service/Hold", bytes, 0, &answer);
	WAIT_FOR(service->held);
	service_stop(service, 60000);
	while (g_main_context_iteration(NULL, FALSE)) {
	}
	assert_false(service->stopped);
	rpc_reply(service->held, bytes);
	WAIT_FOR(answer.is_over && service->stopped);
	assert_int_equal(answer.status, RPC_OK);
	answer_clear(&answer);
}

static void stop_ends_streams_with_the_grace(void **state)
{
	struct service *service = *state;
	struct answer answer = {0};
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

	rpc_subscribe(channel, "/test.Service/Watch", empty, on_stream_message, on_answer, &answer);
	WAIT_FOR(service->streams->len == 1);
	service_stop(service, 0);
	WAIT_FOR(answer.is_over && service->stopped);
	assert_int_equal(answer.status, RPC_UNAVAILABLE);
	assert_int_equal(service->closed, 1);
	answer_clear(&answer);
	rpc_channel_free(channel);
}

static void a_stopping_server_adopts_nobody(void **state)
{
	struct service *service = *state;
	int pair[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	service_stop(service, 0);
	rpc_server_adopt(service->server, pair[0]);
	assert_int_equal(read(pair[1], &byte, 1), 0);
	close(pair[1]);
	WAIT_FOR(service->stopped);
}

/* --- an Rpc as a whole --- */

static void many_servers_share_an_rpc(void **state)
{
	enum { SERVERS = 16 };
	Rpc *rpc = rpc_new();
	struct service *services[SERVERS];
	struct answer answers[SERVERS] = {{0}};
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	(void)state;
	for (int i = 0; i < SERVERS; i++) {
		services[i] = service_new(rpc);
		service_listen(services[i]);
		ask(services[i], "/test.Service/Echo", bytes, 0, &answers[i]);
	}
	for (int i = 0; i < SERVERS; i++) {
		WAIT_FOR(answers[i].is_over);
		assert_int_equal(answers[i].status, RPC_OK);
		assert_int_equal(services[i]->handled, 1);
		answer_clear(&answers[i]);
	}
	for (int i = 0; i < SERVERS; i++)
		service_free(services[i]);
	rpc_free(rpc);
}

static int count_descriptors(void)
{
	int n = 0;
	DIR *dir = opendir("/proc/self/fd");

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void starting_and_stopping_leaves_nothing_open(void **state)
{
	/* The default main context makes its eventfd when it is first used. */
	g_main_context_iteration(NULL, FALSE);
	int before = count_descriptors();

	for (int i = 0; i < 10; i++) {
		struct answer answer = {0};
		g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

		assert_int_equal(service_setup(state), 0);
		struct service *service = *state;
		RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);

		ask_now(service, "/test.Service/Echo", "x", &answer);
		answer_clear(&answer);
		rpc_subscribe(channel, "/test.Service/Watch", empty, on_stream_message, on_answer,
			      &answer);
		WAIT_FOR(service->streams->len == 1);
		rpc_channel_free(channel);
		assert_int_equal(service_teardown(state), 0);
	}
	/* The library closes some of its own a little after its shutdown. */
	while (count_descriptors() > before)
		g_usleep(1000);
}

#define SERVICE_TEST(function)                                                                     \
	cmocka_unit_test_setup_teardown(function, service_setup, service_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVICE_TEST(echoes_a_message),
		SERVICE_TEST(an_empty_message_is_a_message),
		SERVICE_TEST(a_failure_carries_status_and_text),
		SERVICE_TEST(unknown_methods_are_unimplemented),
		SERVICE_TEST(large_requests_are_refused),
		SERVICE_TEST(a_handler_may_answer_later),
		SERVICE_TEST(one_list_goes_to_many_streams_many_times),
		SERVICE_TEST(the_end_of_a_stream_follows_its_messages),
		SERVICE_TEST(a_call_without_a_request_is_refused),
		SERVICE_TEST(compressed_requests_are_refused),
		SERVICE_TEST(a_client_that_vanishes_closes_its_stream),
		SERVICE_TEST(a_client_that_is_no_grpc_client_is_dropped),
		SERVICE_TEST(stop_cancels_a_frozen_client_after_the_grace),
		SERVICE_TEST(stop_lets_a_call_end),
		SERVICE_TEST(stop_ends_streams_with_the_grace),
		SERVICE_TEST(a_stopping_server_adopts_nobody),
		cmocka_unit_test(many_servers_share_an_rpc),
		cmocka_unit_test(starting_and_stopping_leaves_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
