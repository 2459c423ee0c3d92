/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server half of rpc.h. A call counts references: the one it is born with belongs
 * to gRPC until the call has arrived, to the handler until it has answered, and to the
 * batch of the answer (or of the stream's end) from then on. Every other batch has one
 * of its own.
 */
#include <fcntl.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <unistd.h>

#include "edge/rpc.h"
#include "edge/rpc_links.h"
#include "edge/rpc_private.h"

struct rpc_server {
	Rpc *rpc;
	grpc_server *server;
	const struct rpc_method *methods;
	gsize n_methods;
	void **registered; /* gRPC's handle of each method */
	gpointer data;
	guint n_calls; /* armed or open */
	RpcLinks *links;
	guint max_idle; /* connections without a call; 0: any number */
	gboolean stopping, down;
	GSource *grace;
	struct rpc_tag down_tag;
	void (*done)(gpointer data);
	gpointer done_data;
};

struct rpc_call {
	RpcServer *server;
	gsize method; /* index; n_methods for a method that we do not have */
	guint refs;
	grpc_call *call;
	struct rpc_link *link; /* that it came by; may be NULL */
	grpc_call_details details;
	grpc_metadata_array metadata;
	gpr_timespec deadline;
	grpc_byte_buffer *payload;
	grpc_byte_buffer *sending;
	int cancelled;
	const struct rpc_stream_events *events; /* NULL: no stream */
	gpointer data;
	gboolean ended;
	struct rpc_tag arrived_tag, closed_tag, sent_tag, ended_tag;
};

/* --- the server's end --- */

static void server_free(RpcServer *server)
{
	rpc_links_free(server->links);
	g_free(server->registered);
	g_free(server);
}

static void finish_if_empty(RpcServer *server)
{
	if (!server->down || server->n_calls > 0)
		return;
	if (server->done)
		server->done(server->done_data);
	server_free(server);
}

static void on_down(struct rpc_tag *tag, gboolean ok)
{
	RpcServer *server = RPC_TAG_OWNER(tag, rpc_server, down_tag);

	(void)ok;
	g_source_destroy(server->grace);
	g_source_unref(server->grace);
	grpc_server_destroy(server->server);
	server->down = TRUE;
	finish_if_empty(server);
}

static gboolean on_grace_over(gpointer data)
{
	RpcServer *server = data;

	grpc_server_cancel_all_calls(server->server);
	return G_SOURCE_REMOVE;
}

void rpc_server_stop(RpcServer *server, guint grace_ms, void (*done)(gpointer data), gpointer data)
{
	g_assert(!server->stopping);
	server->stopping = TRUE;
	server->done = done;
	server->done_data = data;
	server->down_tag.run = on_down;
	server->grace = g_timeout_source_new(grace_ms);
	g_source_set_callback(server->grace, on_grace_over, server, NULL);
	g_source_attach(server->grace, rpc_context(server->rpc));
	grpc_server_shutdown_and_notify(server->server, rpc_queue(server->rpc), &server->down_tag);
}

/* --- calls --- */

static void call_unref(RpcCall *call)
{
	RpcServer *server = call->server;

	if (--call->refs > 0)
		return;
	rpc_link_leave(call->link);
	if (call->call)
		grpc_call_unref(call->call);
	grpc_byte_buffer_destroy(call->payload);
	grpc_byte_buffer_destroy(call->sending);
	grpc_metadata_array_destroy(&call->metadata);
	grpc_call_details_destroy(&call->details);
	g_free(call);
	server->n_calls--;
	finish_if_empty(server);
}

static void on_answered(struct rpc_tag *tag, gboolean ok)
{
	(void)ok;
	call_unref(RPC_TAG_OWNER(tag, rpc_call, ended_tag));
}

static void on_closed(struct rpc_tag *tag, gboolean ok)
{
	RpcCall *call = RPC_TAG_OWNER(tag, rpc_call, closed_tag);

	(void)ok;
	call->ended = TRUE;
	call->events->closed(call, call->data);
	call_unref(call);
}

static void on_sent(struct rpc_tag *tag, gboolean ok)
{
	RpcCall *call = RPC_TAG_OWNER(tag, rpc_call, sent_tag);

	g_clear_pointer(&call->sending, grpc_byte_buffer_destroy);
	/* Not sent means that the call is over: 'closed' tells. */
	if (ok && !call->ended)
		call->events->sent(call, call->data);
	call_unref(call);
}

static grpc_op status_op(enum rpc_status status, grpc_slice *text)
{
	grpc_op op = {.op = GRPC_OP_SEND_STATUS_FROM_SERVER};

	op.data.send_status_from_server.status = (grpc_status_code)status;
	op.data.send_status_from_server.status_details = text;
	return op;
}

static grpc_op close_op(RpcCall *call)
{
	grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};

	op.data.recv_close_on_server.cancelled = &call->cancelled;
	return op;
}

static grpc_op message_op(RpcCall *call, GBytes *message)
{
	grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};

	call->sending = rpc_pack(message);
	op.data.send_message.send_message = call->sending;
	return op;
}

static void answer(RpcCall *call, GBytes *message, enum rpc_status status, const char *text)
{
	grpc_slice details = grpc_slice_from_copied_string(text);
	grpc_op ops[4] = {
		{.op = GRPC_OP_SEND_INITIAL_METADATA}, status_op(status, &details), close_op(call)};

	if (message)
		ops[3] = message_op(call, message);
	rpc_start(call->call, ops, message ? 4 : 3, &call->ended_tag);
	grpc_slice_unref(details);
}

void rpc_reply(RpcCall *call, GBytes *message)
{
	answer(call, message, RPC_OK, "");
}

void rpc_fail(RpcCall *call, enum rpc_status status, const char *message)
{
	answer(call, NULL, status, message);
}

void rpc_stream_open(RpcCall *call, const struct rpc_stream_events *events, gpointer data)
{
	grpc_op ops[] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}, close_op(call)};

	call->events = events;
	call->data = data;
	rpc_start(call->call, ops, G_N_ELEMENTS(ops), &call->closed_tag);
}

void rpc_stream_send(RpcCall *call, GBytes *message)
{
	g_assert(call->events && !call->sending && !call->ended);
	grpc_op op = message_op(call, message);

	call->refs++;
	rpc_start(call->call, &op, 1, &call->sent_tag);
}

void rpc_stream_end(RpcCall *call, enum rpc_status status, const char *message)
{
	g_assert(call->events && !call->ended);
	grpc_slice text = grpc_slice_from_copied_string(message);
	grpc_op op = status_op(status, &text);

	call->ended = TRUE;
	call->refs++;
	rpc_start(call->call, &op, 1, &call->ended_tag);
	grpc_slice_unref(text);
}

/* --- arrivals --- */

static void arm(RpcServer *server, gsize method);

static void refuse_unknown(RpcCall *call)
{
	g_autofree char *path = rpc_text(call->details.method);
	g_autofree char *text = g_strdup_printf("there is no method '%s'", path);

	rpc_fail(call, RPC_UNIMPLEMENTED, text);
}

static void refuse_large(RpcCall *call, gsize size, gsize max)
{
	g_autofree char *text = g_strdup_printf(
		"request of %" G_GSIZE_FORMAT " bytes: this method takes at most %" G_GSIZE_FORMAT,
		size, max);

	rpc_fail(call, RPC_RESOURCE_EXHAUSTED, text);
}

static void handle(RpcCall *call)
{
	RpcServer *server = call->server;
	const struct rpc_method *method = &server->methods[call->method];

	if (!call->payload) {
		rpc_fail(call, RPC_INTERNAL, "the call came without a request");
		return;
	}
	gsize size = grpc_byte_buffer_length(call->payload);

	if (size > method->max_request) {
		refuse_large(call, size, method->max_request);
		return;
	}
	g_autoptr(GBytes) request = rpc_unpack(call->payload);

	g_clear_pointer(&call->payload, grpc_byte_buffer_destroy);
	method->handle(call, request, server->data);
}

static void enter_link(RpcCall *call)
{
	char *peer = grpc_call_get_peer(call->call);

	call->link = rpc_links_enter(call->server->links, peer);
	gpr_free(peer);
}

static void on_arrived(struct rpc_tag *tag, gboolean ok)
{
	RpcCall *call = RPC_TAG_OWNER(tag, rpc_call, arrived_tag);
	RpcServer *server = call->server;

	if (!ok) {
		call_unref(call);
		return;
	}
	enter_link(call);
	if (server->stopping) {
		rpc_fail(call, RPC_UNAVAILABLE, "the server is stopping");
		return;
	}
	gsize method = call->method;

	if (method == server->n_methods)
		refuse_unknown(call);
	else
		handle(call);
	/* After the answer, which is what the client waits for. */
	if (!server->stopping)
		arm(server, method);
}

/* Asks gRPC for one more call of a method. */
static void arm(RpcServer *server, gsize method)
{
	RpcCall *call = g_new0(RpcCall, 1);
	grpc_completion_queue *queue = rpc_queue(server->rpc);
	grpc_call_error error;

	call->server = server;
	call->method = method;
	call->refs = 1;
	call->arrived_tag.run = on_arrived;
	call->closed_tag.run = on_closed;
	call->sent_tag.run = on_sent;
	call->ended_tag.run = on_answered;
	grpc_metadata_array_init(&call->metadata);
	grpc_call_details_init(&call->details);
	server->n_calls++;
	if (method < server->n_methods)
		error = grpc_server_request_registered_call(
			server->server, server->registered[method], &call->call, &call->deadline,
			&call->metadata, &call->payload, queue, queue, &call->arrived_tag);
	else
		error = grpc_server_request_call(server->server, &call->call, &call->details,
						 &call->metadata, queue, queue, &call->arrived_tag);
	if (error != GRPC_CALL_OK)
		g_error("rpc: gRPC refused to wait for calls: %s",
			grpc_call_error_to_string(error));
}

/* --- the server's start --- */

/* Calls that a connection may have open; a kubelet has two. */
#define MAX_CALLS 64
/* What all connections of a server may take for what they are sent: nothing else bounds
 * a header that never ends. Over it gRPC closes connections. */
#define MIN_MEMORY ((gsize)8 * 1024 * 1024)

static gsize largest_request(const struct rpc_method *methods, gsize n_methods)
{
	gsize max = 0;

	for (gsize i = 0; i < n_methods; i++)
		max = MAX(max, methods[i].max_request);
	return max;
}

static grpc_server *create(gsize max_request)
{
	grpc_resource_quota *quota = grpc_resource_quota_create("rdmadp");
	grpc_arg args[] = {
		rpc_int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)max_request),
		{.type = GRPC_ARG_POINTER,
		 .key = (char *)GRPC_ARG_RESOURCE_QUOTA,
		 .value.pointer = {quota, grpc_resource_quota_arg_vtable()}},
		rpc_int_arg(GRPC_ARG_MAX_CONCURRENT_STREAMS, MAX_CALLS),
		/* Else a client that pings every ten seconds loses its connection. */
		rpc_int_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000),
		rpc_int_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
		/* A compressed message could unpack to any size. */
		rpc_int_arg(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
			    1 << GRPC_COMPRESS_NONE),
		rpc_int_arg(GRPC_ARG_ENABLE_CHANNELZ, 0),
	};
	grpc_channel_args list = {.num_args = G_N_ELEMENTS(args), .args = args};

	/* Twice: the bytes as they come, and the message that they become. */
	grpc_resource_quota_resize(quota, MAX(2 * max_request, MIN_MEMORY));
	grpc_server *server = grpc_server_create(&list, NULL);

	grpc_resource_quota_unref(quota);
	return server;
}

RpcServer *rpc_server_new(Rpc *rpc, const struct rpc_method *methods, gsize n_methods,
			  gpointer data)
{
	RpcServer *server = g_new0(RpcServer, 1);

	server->rpc = rpc;
	server->methods = methods;
	server->n_methods = n_methods;
	server->data = data;
	server->links = rpc_links_new();
	server->server = create(largest_request(methods, n_methods));
	server->registered = g_new0(void *, n_methods);
	grpc_server_register_completion_queue(server->server, rpc_queue(rpc), NULL);
	for (gsize i = 0; i < n_methods; i++)
		server->registered[i] =
			grpc_server_register_method(server->server, methods[i].path, NULL,
						    GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
	grpc_server_start(server->server);
	for (gsize i = 0; i < n_methods; i++)
		for (guint n = 0; n < methods[i].armed; n++)
			arm(server, i);
	/* Without it a call of an unknown method hangs until the client gives up. */
	arm(server, n_methods);
	return server;
}

void rpc_server_limit_idle(RpcServer *server, guint max)
{
	server->max_idle = max;
}

void rpc_server_adopt(RpcServer *server, int fd)
{
	if (server->stopping || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		close(fd);
		return;
	}
	grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();

	rpc_links_add(server->links, fd);
	if (server->max_idle > 0)
		rpc_links_trim(server->links, server->max_idle);
	grpc_server_add_channel_from_fd(server->server, fd, credentials);
	grpc_server_credentials_release(credentials);
}
