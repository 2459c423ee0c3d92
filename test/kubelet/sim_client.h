/* SPDX-License-Identifier: Apache-2.0 */
/* One connection from the kubelet to a plugin. */
#pragma once

#include "kubelet/sim_private.h"

struct sim_client {
	Sim *sim;
	char *resource, *endpoint, *path;
	gboolean has_request; /* 'requested' is what its RegisterRequest said */
	struct sim_options_answer requested, options;
	RpcChannel *channel;
	RpcRequest *stream;
	gboolean streaming;
	GPtrArray *last_list; /* struct sim_device *, of this stream; or NULL */
	guint64 lists;
	sim_connected_fn done; /* NULL: nobody waits any more */
	gpointer done_data;
	gint64 start_us;
};
