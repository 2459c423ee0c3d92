/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client half of rpc.h. A request is over when its last tag has run, so that the
 * status of a stream never overtakes its messages. A cancelled request leaves its
 * channel at once and waits, silent, for its tags.
 */
#include <grpc/grpc_security.h>

#include "edge/rpc.h"
#include "edge/rpc_private.h"

/* The longest that a connection is watched at a time: a watch cannot be cancelled, and
 * rpc_free has to wait for those that are under way. */
#define WATCH_MS 100

struct rpc_channel {
	Rpc *rpc;
	grpc_channel *channel;
	GQueue requests;
	struct rpc_tag settled_tag;
};

struct rpc_request {
	RpcChannel *channel; /* NULL once cancelled */
	GList link;
	gboolean owns_channel;
	rpc_done_fn done;
	rpc_message_fn on_message;
	gpointer data;
	guint tags; /* under way */
	gboolean silent;
	grpc_call *call; /* NULL: waits for a connection */
	gpr_timespec deadline;
	grpc_byte_buffer *sending, *received;
	grpc_metadata_array initial, trailing;
	grpc_status_code status;
	grpc_slice text;
	struct rpc_tag ended_tag, message_tag;
};

/* --- requests --- */

static RpcRequest *request_new(RpcChannel *channel, guint deadline_ms, rpc_done_fn done,
			       gpointer data)
{
	RpcRequest *request = g_new0(RpcRequest, 1);

	request->channel = channel;
	request->link.data = request;
	g_queue_push_tail_link(&channel->requests, &request->link);
	request->deadline = rpc_deadline(deadline_ms);
	request->done = done;
	request->data = data;
	request->text = grpc_empty_slice();
	grpc_metadata_array_init(&request->initial);
	grpc_metadata_array_init(&request->trailing);
	return request;
}

static void request_free(RpcRequest *request)
{
	if (request->call)
		grpc_call_unref(request->call);
	grpc_byte_buffer_destroy(request->sending);
	grpc_byte_buffer_destroy(request->received);
	grpc_metadata_array_destroy(&request->initial);
	grpc_metadata_array_destroy(&request->trailing);
	grpc_slice_unref(request->text);
	g_free(request);
}

static void leave_channel(RpcRequest *request)
{
	RpcChannel *channel = g_steal_pointer(&request->channel);

	g_queue_unlink(&channel->requests, &request->link);
	if (request->owns_channel)
		rpc_channel_free(channel);
}

/* A unary answer without a message is not an answer. */
static void require_reply(RpcRequest *request)
{
	gboolean is_unary = request->call && !request->on_message;

	if (!is_unary || request->status != GRPC_STATUS_OK || request->received)
		return;
	request->status = GRPC_STATUS_INTERNAL;
	grpc_slice_unref(request->text);
	request->text = grpc_slice_from_static_string("the answer came without a message");
}

static void finish(RpcRequest *request)
{
	if (request->silent) {
		request_free(request);
		return;
	}
	leave_channel(request);
	require_reply(request);
	enum rpc_status status = (enum rpc_status)request->status;
	g_autofree char *text = rpc_text(request->text);
	g_autoptr(GBytes) reply = NULL;
	rpc_done_fn done = request->done;
	gpointer data = request->data;

	if (status == RPC_OK && request->received)
		reply = rpc_unpack(request->received);
	request_free(request);
	done(status, text, reply, data);
}

static void tag_over(RpcRequest *request)
{
	if (--request->tags == 0)
		finish(request);
}

void rpc_request_cancel(RpcRequest *request)
{
	if (!request)
		return;
	request->silent = TRUE;
	if (request->call)
		grpc_call_cancel(request->call, NULL);
	leave_channel(request);
}

/* --- channels --- */

RpcChannel *rpc_channel_new(Rpc *rpc, const char *path, const char *authority, gsize max_reply)
{
	grpc_arg args[] = {
		rpc_int_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
		rpc_int_arg(GRPC_ARG_ENABLE_RETRIES, 0),
		/* Else the next channel to this path would share the old connection. */
		rpc_int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
		rpc_int_arg(GRPC_ARG_ENABLE_CHANNELZ, 0),
		rpc_int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
			    (int)(max_reply ? max_reply : RPC_MAX_REPLY)),
		{.type = GRPC_ARG_STRING,
		 .key = (char *)GRPC_ARG_DEFAULT_AUTHORITY,
		 .value.string = (char *)(authority ? authority : "localhost")},
	};
	grpc_channel_args list = {.num_args = G_N_ELEMENTS(args), .args = args};
	/* gRPC reads the target as a URI. */
	g_autofree char *escaped = g_uri_escape_string(path, "/", FALSE);
	g_autofree char *target = g_strconcat("unix:", escaped, NULL);
	grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
	RpcChannel *channel = g_new0(RpcChannel, 1);

	channel->rpc = rpc;
	channel->channel = grpc_channel_create(target, credentials, &list);
	g_queue_init(&channel->requests);
	grpc_channel_credentials_release(credentials);
	return channel;
}

static void destroy(RpcChannel *channel)
{
	grpc_channel_destroy(channel->channel);
	g_free(channel);
}

static void destroy_when_settled(RpcChannel *channel);

static void on_settled(struct rpc_tag *tag, gboolean ok)
{
	(void)ok;
	destroy_when_settled(RPC_TAG_OWNER(tag, rpc_channel, settled_tag));
}

/* FALSE if the channel is in another state. */
static gboolean watch_while(RpcChannel *channel, grpc_connectivity_state state)
{
	if (grpc_channel_check_connectivity_state(channel->channel, 0) != state)
		return FALSE;
	channel->settled_tag.run = on_settled;
	grpc_channel_watch_connectivity_state(channel->channel, state, rpc_deadline(WATCH_MS),
					      rpc_queue(channel->rpc), &channel->settled_tag);
	return TRUE;
}

/* A channel that is destroyed while it connects leaves the connection behind, for ever:
 * nobody watches its descriptor any more. So that has to come to its end first. */
static void destroy_when_settled(RpcChannel *channel)
{
	if (rpc_is_closing(channel->rpc) || !watch_while(channel, GRPC_CHANNEL_CONNECTING))
		destroy(channel);
}

void rpc_channel_free(RpcChannel *channel)
{
	if (!channel)
		return;
	while (!g_queue_is_empty(&channel->requests))
		rpc_request_cancel(g_queue_peek_head(&channel->requests));
	destroy_when_settled(channel);
}

/* --- waiting for a connection --- */

static void end_wait(RpcRequest *request, grpc_status_code status, const char *text)
{
	request->status = status;
	request->text = grpc_slice_from_static_string(text);
	tag_over(request);
}

static gpr_timespec watch_deadline(const RpcRequest *request)
{
	return gpr_time_min(request->deadline, rpc_deadline(WATCH_MS));
}

static void on_wait(struct rpc_tag *tag, gboolean ok)
{
	RpcRequest *request = RPC_TAG_OWNER(tag, rpc_request, ended_tag);

	(void)ok;
	if (request->silent) {
		tag_over(request);
		return;
	}
	RpcChannel *channel = request->channel;
	grpc_connectivity_state state = grpc_channel_check_connectivity_state(channel->channel, 1);

	if (state == GRPC_CHANNEL_READY)
		end_wait(request, GRPC_STATUS_OK, "");
	else if (gpr_time_cmp(gpr_now(GPR_CLOCK_MONOTONIC), request->deadline) >= 0)
		end_wait(request, GRPC_STATUS_DEADLINE_EXCEEDED, "no connection in time");
	else
		grpc_channel_watch_connectivity_state(channel->channel, state,
						      watch_deadline(request),
						      rpc_queue(channel->rpc), tag);
}

RpcRequest *rpc_channel_wait_connected(RpcChannel *channel, guint deadline_ms, rpc_done_fn done,
				       gpointer data)
{
	RpcRequest *request = request_new(channel, deadline_ms, done, data);

	request->ended_tag.run = on_wait;
	request->tags = 1;
	rpc_post(channel->rpc, &request->ended_tag, TRUE);
	return request;
}

/* --- calls --- */

static void on_ended(struct rpc_tag *tag, gboolean ok)
{
	(void)ok;
	tag_over(RPC_TAG_OWNER(tag, rpc_request, ended_tag));
}

static void request_call(RpcRequest *request, const char *method)
{
	RpcChannel *channel = request->channel;
	grpc_slice path = grpc_slice_from_copied_string(method);

	request->ended_tag.run = on_ended;
	request->call = grpc_channel_create_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
						 rpc_queue(channel->rpc), path, NULL,
						 request->deadline, NULL);
	grpc_slice_unref(path);
}

static grpc_op initial_op(RpcRequest *request)
{
	grpc_op op = {.op = GRPC_OP_RECV_INITIAL_METADATA};

	op.data.recv_initial_metadata.recv_initial_metadata = &request->initial;
	return op;
}

static grpc_op receive_op(RpcRequest *request)
{
	grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

	op.data.recv_message.recv_message = &request->received;
	return op;
}

static grpc_op send_op(RpcRequest *request, GBytes *message)
{
	grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};

	request->sending = rpc_pack(message);
	op.data.send_message.send_message = request->sending;
	return op;
}

static grpc_op status_op(RpcRequest *request)
{
	grpc_op op = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};

	op.data.recv_status_on_client.trailing_metadata = &request->trailing;
	op.data.recv_status_on_client.status = &request->status;
	op.data.recv_status_on_client.status_details = &request->text;
	return op;
}

RpcRequest *rpc_channel_request(RpcChannel *channel, const char *method, GBytes *message,
				guint deadline_ms, rpc_done_fn done, gpointer data)
{
	RpcRequest *request = request_new(channel, deadline_ms, done, data);
	grpc_op ops[] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
			 send_op(request, message),
			 {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
			 initial_op(request),
			 receive_op(request),
			 status_op(request)};

	request_call(request, method);
	request->tags = 1;
	rpc_start(request->call, ops, G_N_ELEMENTS(ops), &request->ended_tag);
	return request;
}

RpcRequest *rpc_request(Rpc *rpc, const struct rpc_target *target, GBytes *message,
			rpc_done_fn done, gpointer data)
{
	RpcChannel *channel = rpc_channel_new(rpc, target->path, NULL, target->max_reply);
	RpcRequest *request = rpc_channel_request(channel, target->method, message,
						  target->deadline_ms, done, data);

	request->owns_channel = TRUE;
	return request;
}

/* --- streams --- */

static void on_received(struct rpc_tag *tag, gboolean ok)
{
	RpcRequest *request = RPC_TAG_OWNER(tag, rpc_request, message_tag);

	if (!ok || !request->received) {
		tag_over(request);
		return;
	}
	g_autoptr(GBytes) message = rpc_unpack(request->received);

	g_clear_pointer(&request->received, grpc_byte_buffer_destroy);
	if (!request->silent)
		request->on_message(message, request->data);
	/* Not if that has cancelled the request. */
	if (request->silent) {
		tag_over(request);
		return;
	}
	grpc_op op = receive_op(request);

	rpc_start(request->call, &op, 1, tag);
}

RpcRequest *rpc_subscribe(RpcChannel *channel, const char *method, GBytes *message,
			  rpc_message_fn on_message, rpc_done_fn on_end, gpointer data)
{
	RpcRequest *request = request_new(channel, 0, on_end, data);
	grpc_op whole[] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
			   send_op(request, message),
			   {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
			   status_op(request)};
	grpc_op first[] = {initial_op(request), receive_op(request)};

	request->on_message = on_message;
	request->message_tag.run = on_received;
	request_call(request, method);
	request->tags = 2;
	rpc_start(request->call, whole, G_N_ELEMENTS(whole), &request->ended_tag);
	rpc_start(request->call, first, G_N_ELEMENTS(first), &request->message_tag);
	return request;
}
