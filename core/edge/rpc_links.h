/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of a server, and which of them have calls. They belong to gRPC, which
 * does not tell when it closes one; but while a socket is open its inode number is its
 * own. gRPC's own limit of idle time is not used: its timer makes the process wake once
 * more each second, for ever.
 */
#pragma once

#include <glib.h>

typedef struct rpc_links RpcLinks;
struct rpc_link;

RpcLinks *rpc_links_new(void);
void rpc_links_free(RpcLinks *links);

/* The descriptor stays gRPC's. */
void rpc_links_add(RpcLinks *links, int fd);
/* A call has come by the connection that gRPC calls 'peer', "fd:23". What it returns
 * goes to rpc_link_leave when the call is over; it may be NULL. */
struct rpc_link *rpc_links_enter(RpcLinks *links, const char *peer);
void rpc_link_leave(struct rpc_link *link);
/* Of the connections without a call, only the 'max' that have had one last, or are
 * newest, stay open. */
void rpc_links_trim(RpcLinks *links, guint max);
