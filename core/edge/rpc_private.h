/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server half (rpc_server.c) and the client half (rpc_client.c) share: the
 * completion queue, its tags and the bytes.
 */
#pragma once

#include <grpc/grpc.h>

#include "edge/rpc.h"

/* The tag of an operation; lives in the object that started it. Runs in the main loop. */
struct rpc_tag {
	void (*run)(struct rpc_tag *tag, gboolean ok);
};

/* The object of type 'type' whose member 'member' the tag is. */
#define RPC_TAG_OWNER(tag, type, member)                                                           \
	((struct type *)(void *)((char *)(tag)-G_STRUCT_OFFSET(struct type, member)))

grpc_completion_queue *rpc_queue(const Rpc *rpc);
GMainContext *rpc_context(const Rpc *rpc);
/* TRUE once rpc_free waits for what is under way: nothing may be started any more. */
gboolean rpc_is_closing(const Rpc *rpc);
/* Runs the tag from the main loop, soon, as if gRPC had completed it. */
void rpc_post(Rpc *rpc, struct rpc_tag *tag, gboolean ok);

/* A batch that gRPC refuses is a mistake of ours: it ends the process. */
void rpc_start(grpc_call *call, const grpc_op *ops, gsize n_ops, struct rpc_tag *tag);

/* A new buffer for each send, because sending consumes it: sent a second time, a buffer
 * is an empty message, which tells a kubelet that there is no device. The data is
 * shared. */
grpc_byte_buffer *rpc_pack(GBytes *message);
GBytes *rpc_unpack(grpc_byte_buffer *buffer);

/* The text of a slice, for g_free. */
char *rpc_text(grpc_slice slice);
grpc_arg rpc_int_arg(const char *key, int value);
/* From now; 0 ms is never. */
gpr_timespec rpc_deadline(guint ms);
