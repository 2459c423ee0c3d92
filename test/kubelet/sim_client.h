/* SPDX-License-Identifier: Apache-2.0 */
/* One connection from the kubelet to a plugin. */
#pragma once

#include "kubelet/sim_private.h"

/* A Register that waits for its answer. Lives until its call has closed, perhaps
 * longer than the client. */
struct sim_answer {
	struct sim_client *client; /* NULL once answered */
	RpcCall *call;
};

struct sim_client {
	Sim *sim;
	char *resource, *endpoint, *path;
	struct sim_options_answer requested, options;
	RpcChannel *channel;
	RpcRequest *stream;
	gboolean connected, streaming;
	GPtrArray *last_list; /* struct sim_device *, of this stream; or NULL */
	guint64 lists;
	struct sim_answer *answer; /* NULL: nobody waits */
	guint delay;
	gint64 start_us;
};

/* The connection cannot be had: tells the caller, if one waits, and frees the client. */
void sim_client_fail(struct sim_client *client, const char *text);
