/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over unix sockets on a GLib main loop. rpc*.c are the only files of the core
 * that know the gRPC library: one completion queue and one thread move its events
 * into the main context that was the thread's default at rpc_new; every callback
 * here runs there, and every function is called from there.
 *
 * Messages are opaque bytes. A GBytes that is sent is shared, never copied and
 * never changed, so one packed list can go to many streams.
 */
#pragma once

#include <glib.h>

/* The status codes of gRPC that we use; the numbers are gRPC's. */
enum rpc_status {
	RPC_OK = 0,
	RPC_CANCELLED = 1,
	RPC_UNKNOWN = 2,
	RPC_INVALID_ARGUMENT = 3,
	RPC_DEADLINE_EXCEEDED = 4,
	RPC_NOT_FOUND = 5,
	RPC_RESOURCE_EXHAUSTED = 8,
	RPC_FAILED_PRECONDITION = 9,
	RPC_UNIMPLEMENTED = 12,
	RPC_INTERNAL = 13,
	RPC_UNAVAILABLE = 14,
};

typedef struct rpc Rpc;

/* One for the process. Library messages go to log_debug. */
Rpc *rpc_new(void);
/* After every server and request is gone; joins the thread. */
void rpc_free(Rpc *rpc);

/* --- server --- */

typedef struct rpc_server RpcServer;
typedef struct rpc_call RpcCall;

/* Handles one call. 'request' is the message (never NULL; empty if the client sent
 * an empty one). The handler owns the call until it has answered with rpc_reply or
 * rpc_fail, or has opened a stream; it may do so later. */
typedef void (*rpc_handler_fn)(RpcCall *call, GBytes *request, gpointer data);

struct rpc_method {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
	rpc_handler_fn handle;
	gsize max_request; /* bytes; a larger request is refused with RESOURCE_EXHAUSTED */
	guint armed; /* calls accepted at once without queueing, at least 1 */
};

/* Unknown methods are answered UNIMPLEMENTED. Any :authority is accepted, keepalive
 * pings are tolerated. The array and its strings must outlive the server. */
RpcServer *rpc_server_new(Rpc *rpc, const struct rpc_method *methods, gsize n_methods,
			  gpointer data);
/* Of the connections without a call, only so many stay open: when another one comes, the
 * one that has been so for longest is closed. 0, as at the start: any number. */
void rpc_server_limit_idle(RpcServer *server, guint max);
/* Serves a connected stream socket; takes the descriptor over (and closes it at once
 * when the server is stopping). */
void rpc_server_adopt(RpcServer *server, int fd);
/* No new call and no new connection; calls that are open are left to end, after
 * 'grace_ms' they are cancelled. A handler that has not answered yet still must. 'done'
 * (may be NULL) is called once every call has ended and every 'closed' been called; the
 * server frees itself after it. */
void rpc_server_stop(RpcServer *server, guint grace_ms, void (*done)(gpointer data), gpointer data);

/* Unary answers; each ends the call. */
void rpc_reply(RpcCall *call, GBytes *message);
void rpc_fail(RpcCall *call, enum rpc_status status, const char *message);

/* Server streaming. 'closed' is called exactly once, when the client is gone or the
 * stream has ended; the call must not be used after it. 'sent' follows each
 * rpc_stream_send that went out, never after 'closed' or rpc_stream_end; only one send
 * may be under way. */
struct rpc_stream_events {
	void (*closed)(RpcCall *call, gpointer data);
	void (*sent)(RpcCall *call, gpointer data);
};
void rpc_stream_open(RpcCall *call, const struct rpc_stream_events *events, gpointer data);
void rpc_stream_send(RpcCall *call, GBytes *message);
/* Ends the stream with a status; 'closed' still follows. */
void rpc_stream_end(RpcCall *call, enum rpc_status status, const char *message);

/* --- client --- */

/* What a client takes at most when it does not say: gRPC's own default, the
 * kubelet's limit for a list. */
#define RPC_MAX_REPLY 4194304

typedef struct rpc_channel RpcChannel;
typedef struct rpc_request RpcRequest;

/* Called exactly once, unless the request was cancelled or its channel freed. 'message'
 * is "" with RPC_OK; 'reply' (borrowed) is NULL unless a unary call ended with RPC_OK.
 * The request is freed when this is called: do not use it any more. */
typedef void (*rpc_done_fn)(enum rpc_status status, const char *message, GBytes *reply,
			    gpointer data);

struct rpc_target {
	const char *path; /* of the unix socket */
	const char *method; /* "/v1beta1.Registration/Register" */
	guint deadline_ms; /* 0 = none */
	gsize max_reply; /* bytes; 0 = RPC_MAX_REPLY */
};

/* One unary call on a connection of its own, closed when the answer is there. Nothing
 * of 'target' is kept. No socket, or nobody listening, is RPC_UNAVAILABLE at once. */
RpcRequest *rpc_request(Rpc *rpc, const struct rpc_target *target, GBytes *message,
			rpc_done_fn done, gpointer data);
/* The callbacks of the request are not called any more. May be called from within
 * 'on_message'. NULL is a no-op. */
void rpc_request_cancel(RpcRequest *request);

/* A connection that is kept for several calls; made on the first call or wait. The
 * :authority is "localhost" (the kubelet's) if NULL; max_reply as above. */
RpcChannel *rpc_channel_new(Rpc *rpc, const char *path, const char *authority, gsize max_reply);
/* Cancels what is still under way on it, without callbacks. NULL is a no-op. */
void rpc_channel_free(RpcChannel *channel);
/* Dials, again and again while it fails, until the other side has answered as an HTTP/2
 * server: RPC_OK, or RPC_DEADLINE_EXCEEDED. deadline_ms 0 = for ever. */
RpcRequest *rpc_channel_wait_connected(RpcChannel *channel, guint deadline_ms, rpc_done_fn done,
				       gpointer data);
/* A unary call on the channel; fails with RPC_UNAVAILABLE where a connection cannot be
 * had at once. deadline_ms 0 = none. */
RpcRequest *rpc_channel_request(RpcChannel *channel, const char *method, GBytes *message,
				guint deadline_ms, rpc_done_fn done, gpointer data);

/* 'message' is borrowed. */
typedef void (*rpc_message_fn)(GBytes *message, gpointer data);

/* Server streaming, without a deadline: one request, any number of messages, then
 * 'on_end' with the status that the server ended it with (RPC_UNAVAILABLE if it is gone). */
RpcRequest *rpc_subscribe(RpcChannel *channel, const char *method, GBytes *message,
			  rpc_message_fn on_message, rpc_done_fn on_end, gpointer data);
