/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that want too much of a server: it must not run out of anything. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "raw_http2.h"
#include "rpc_service.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define FEW 4
/* Many times what one server may take. */
#define ENDLESS ((gsize)1 << 30)

/* FALSE once the other side has closed. */
static gboolean send_some(int fd, const guint8 *data, gsize size)
{
	guint8 ignored[4096];

	for (gsize sent = 0; sent < size;) {
		gssize n = send(fd, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN)
			return FALSE;
		sent += n > 0 ? (gsize)n : 0;
		while (recv(fd, ignored, sizeof(ignored), MSG_DONTWAIT) > 0)
			;
		g_main_context_iteration(NULL, FALSE);
	}
	return TRUE;
}

static void expect_closed(int fd)
{
	guint8 ignored[4096];
	gssize n;

	do {
		n = recv(fd, ignored, sizeof(ignored), MSG_DONTWAIT);
		g_main_context_iteration(NULL, FALSE);
	} while (n > 0 || (n < 0 && errno == EAGAIN));
	close(fd);
}

static void expect_service(struct service *service)
{
	struct answer answer = {0};

	ask_now(service, "/test.Service/Echo", "still there", &answer);
	assert_int_equal(answer.status, RPC_OK);
	answer_clear(&answer);
}

/* As much of a header block as fits a frame, all names different. */
static GByteArray *fresh_headers(guint *n)
{
	g_autofree char *value = g_strnfill(64, 'v');
	GByteArray *block = g_byte_array_new();

	while (block->len < 16000) {
		g_autofree char *name = g_strdup_printf("x%07u", (*n)++);

		raw_header(block, name, value);
	}
	return block;
}

/* HEADERS, and then CONTINUATION after CONTINUATION: no message, so no limit of messages. */
static void a_header_without_end_costs_the_connection(void **state)
{
	struct service *service = *state;
	int fd = raw_connect(service->path);
	gsize sent = 0;
	guint n = 0;
	gboolean open = send_some(fd, (const guint8 *)PREFACE, strlen(PREFACE));

	while (open && sent < ENDLESS) {
		g_autoptr(GByteArray) block = fresh_headers(&n);
		g_autoptr(GByteArray) out = g_byte_array_new();

		if (sent == 0)
			raw_frame(out, RAW_SETTINGS, 0, 0, NULL, 0);
		raw_frame(out, sent == 0 ? RAW_HEADERS : RAW_CONTINUATION, 0, 1, block->data,
			  block->len);
		open = send_some(fd, out->data, out->len);
		sent += out->len;
	}
	assert_false(open);
	close(fd);
	expect_service(service);
}

/* Who says nothing, half a preface, or only hello, has to make room for others, the one
 * that came first before all; who has a stream open stays for as long as he likes. */
static void who_asks_for_nothing_makes_room(void **state)
{
	static const guint8 hello[] = PREFACE "\0\0\0\4\0\0\0\0";
	static const gsize sizes[] = {0, 5, sizeof(hello)};
	struct service *service = *state;
	struct answer answer = {0};
	RpcChannel *channel = rpc_channel_new(service->rpc, service->path, NULL, 0);
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);
	int fds[3 * G_N_ELEMENTS(sizes)];

	rpc_server_limit_idle(service->server, FEW);
	rpc_subscribe(channel, "/test.Service/Watch", empty, on_stream_message, on_answer, &answer);
	WAIT_FOR(service->streams->len == 1);
	for (gsize i = 0; i < G_N_ELEMENTS(fds); i++) {
		fds[i] = raw_connect(service->path);
		assert_true(send_some(fds[i], hello, sizes[i % G_N_ELEMENTS(sizes)]));
		if (i >= FEW)
			expect_closed(fds[i - FEW]);
	}
	assert_false(answer.is_over);
	rpc_stream_send(g_ptr_array_index(service->streams, 0), empty);
	WAIT_FOR(n_messages(&answer) == 1);
	expect_service(service);
	for (gsize i = G_N_ELEMENTS(fds) - FEW; i < G_N_ELEMENTS(fds); i++)
		close(fds[i]);
	rpc_channel_free(channel);
	WAIT_FOR(service->closed == 1);
	answer_clear(&answer);
}

/* gRPC counts a ping that follows another sooner than the server allows: after the third
 * of them the connection is closed. */
#define PING_MS 5500
#define PINGS 5

struct pinger {
	int fd;
	guint pings;
};

static gboolean send_ping(gpointer data)
{
	static const guint8 opaque[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct pinger *pinger = data;
	g_autoptr(GByteArray) out = g_byte_array_new();

	raw_frame(out, RAW_PING, 0, 0, opaque, sizeof(opaque));
	assert_int_equal(send(pinger->fd, out->data, out->len, MSG_NOSIGNAL), out->len);
	return ++pinger->pings < PINGS ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void who_asks_now_and_then_whether_we_live_is_answered(void **state)
{
	struct service *service = *state;
	struct pinger pinger = {raw_call(service->path, "/test.Service/Watch", "localhost"), 0};
	g_autoptr(GBytes) message = g_bytes_new_static("alive", 5);

	WAIT_FOR(service->streams->len == 1);
	g_timeout_add(PING_MS, send_ping, &pinger);
	WAIT_FOR(pinger.pings == PINGS || service->closed == 1);
	assert_int_equal(service->closed, 0);
	rpc_stream_send(g_ptr_array_index(service->streams, 0), message);
	assert_true(raw_is_served(pinger.fd));
	close(pinger.fd);
	WAIT_FOR(service->closed == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_header_without_end_costs_the_connection,
						service_setup, service_teardown),
		cmocka_unit_test_setup_teardown(who_asks_now_and_then_whether_we_live_is_answered,
						service_setup, service_teardown),
		cmocka_unit_test_setup_teardown(who_asks_for_nothing_makes_room, service_setup,
						service_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
