/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rpc tests share: a small service on a socket in a temp directory, and
 * a place for the answer of a request. Include after cmocka.h.
 */
#pragma once

#include <glib-unix.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "edge/rpc.h"

/* ctest's time limit ends a wait for what never comes. */
#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		while (!(condition))                                                               \
			g_main_context_iteration(NULL, TRUE);                                      \
	} while (0)

struct service {
	Rpc *rpc;
	RpcServer *server;
	char *dir, *path;
	int listener;
	guint watch;
	GPtrArray *streams; /* RpcCall, open */
	guint handled, sent, closed;
	RpcCall *held;
	gboolean stopped;
};

struct answer {
	gboolean is_over;
	enum rpc_status status;
	char *text;
	GBytes *reply;
	GPtrArray *messages; /* GBytes; of a stream */
};

static inline void answer_clear(struct answer *answer)
{
	g_free(answer->text);
	g_clear_pointer(&answer->reply, g_bytes_unref);
	g_clear_pointer(&answer->messages, g_ptr_array_unref);
	*answer = (struct answer){0};
}

static inline void on_answer(enum rpc_status status, const char *message, GBytes *reply,
			     gpointer data)
{
	struct answer *answer = data;

	assert_false(answer->is_over);
	answer->is_over = TRUE;
	answer->status = status;
	answer->text = g_strdup(message);
	answer->reply = reply ? g_bytes_ref(reply) : NULL;
}

static inline void on_stream_message(GBytes *message, gpointer data)
{
	struct answer *answer = data;

	if (!answer->messages)
		answer->messages = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
	g_ptr_array_add(answer->messages, g_bytes_ref(message));
}

static inline guint n_messages(const struct answer *answer)
{
	return answer->messages ? answer->messages->len : 0;
}

/* --- the service --- */

static inline void handle_echo(RpcCall *call, GBytes *request, gpointer data)
{
	((struct service *)data)->handled++;
	rpc_reply(call, request);
}

static inline void handle_fail(RpcCall *call, GBytes *request, gpointer data)
{
	(void)request;
	((struct service *)data)->handled++;
	rpc_fail(call, RPC_NOT_FOUND, "there is no 'x': 100 % sure");
}

static inline void handle_hold(RpcCall *call, GBytes *request, gpointer data)
{
	(void)request;
	((struct service *)data)->held = call;
}

static inline void on_stream_closed(RpcCall *call, gpointer data)
{
	struct service *service = data;

	service->closed++;
	assert_true(g_ptr_array_remove(service->streams, call));
}

static inline void on_stream_sent(RpcCall *call, gpointer data)
{
	(void)call;
	((struct service *)data)->sent++;
}

static inline void handle_watch(RpcCall *call, GBytes *request, gpointer data)
{
	static const struct rpc_stream_events events = {on_stream_closed, on_stream_sent};
	struct service *service = data;

	(void)request;
	g_ptr_array_add(service->streams, call);
	rpc_stream_open(call, &events, service);
}

static const struct rpc_method methods[] = {
	{"/test.Service/Echo", handle_echo, 1 << 20, 4},
	{"/test.Service/Small", handle_echo, 16, 1},
	{"/test.Service/Fail", handle_fail, 64, 1},
	{"/test.Service/Hold", handle_hold, 64, 1},
	{"/test.Service/Watch", handle_watch, 64, 1},
};

static inline gboolean on_connection(int fd, GIOCondition condition, gpointer data)
{
	struct service *service = data;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)condition;
	assert_true(client >= 0);
	rpc_server_adopt(service->server, client);
	return G_SOURCE_CONTINUE;
}

static inline void service_listen(struct service *service)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	assert_true(g_strlcpy(address.sun_path, service->path, sizeof(address.sun_path)) <
		    sizeof(address.sun_path));
	service->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(
		bind(service->listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(service->listener, 128), 0);
	service->watch = g_unix_fd_add(service->listener, G_IO_IN, on_connection, service);
}

/* A server that nobody can reach until service_listen. */
static inline struct service *service_new(Rpc *rpc)
{
	struct service *service = g_new0(struct service, 1);

	service->rpc = rpc;
	service->dir = g_dir_make_tmp("rdmadp-rpc-XXXXXX", NULL);
	assert_non_null(service->dir);
	service->path = g_build_filename(service->dir, "a %41?#.sock", NULL);
	service->listener = -1;
	service->streams = g_ptr_array_new();
	service->server = rpc_server_new(rpc, methods, G_N_ELEMENTS(methods), service);
	return service;
}

static inline void on_stopped(gpointer data)
{
	((struct service *)data)->stopped = TRUE;
}

static inline void service_stop(struct service *service, guint grace_ms)
{
	if (service->watch)
		g_source_remove(service->watch);
	service->watch = 0;
	rpc_server_stop(service->server, grace_ms, on_stopped, service);
}

static inline void service_free(struct service *service)
{
	if (service->server && !service->stopped)
		service_stop(service, 0);
	WAIT_FOR(service->stopped);
	assert_int_equal(service->streams->len, 0);
	g_ptr_array_unref(service->streams);
	if (service->listener >= 0)
		close(service->listener);
	g_unlink(service->path);
	assert_int_equal(g_rmdir(service->dir), 0);
	g_free(service->path);
	g_free(service->dir);
	g_free(service);
}

static inline int service_setup(void **state)
{
	struct service *service = service_new(rpc_new());

	service_listen(service);
	*state = service;
	return 0;
}

static inline int service_teardown(void **state)
{
	struct service *service = *state;
	Rpc *rpc = service->rpc;

	service_free(service);
	rpc_free(rpc);
	return 0;
}

/* --- requests --- */

static inline RpcRequest *ask(struct service *service, const char *method, GBytes *message,
			      guint deadline_ms, struct answer *answer)
{
	struct rpc_target target = {service->path, method, deadline_ms, 0};

	return rpc_request(service->rpc, &target, message, on_answer, answer);
}

/* Asks and waits for the answer. */
static inline void ask_now(struct service *service, const char *method, const char *message,
			   struct answer *answer)
{
	g_autoptr(GBytes) bytes = g_bytes_new(message, strlen(message));

	ask(service, method, bytes, 0, answer);
	WAIT_FOR(answer->is_over);
}

static inline void assert_bytes(GBytes *bytes, const char *expected)
{
	gsize size;
	const char *data = g_bytes_get_data(bytes, &size);

	assert_int_equal(size, strlen(expected));
	if (size > 0)
		assert_memory_equal(data, expected, size);
}
