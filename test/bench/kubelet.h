/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of a kubelet as a measurement needs: serves Registration, dials the plugin
 * within Register as the kubelet does, keeps one ListAndWatch stream of each and notes
 * when what came. (test/kubelet has the simulator that judges what comes.)
 */
#pragma once

#include <glib.h>

#include "edge/rpc.h"

struct watched {
	char *resource;
	char *endpoint; /* path of the plugin's socket */
	RpcChannel *channel;
	RpcCall *registering; /* answered once the plugin was dialled */
	gint64 registered_us; /* monotonic time of the last Register */
	gint64 listed_us; /* ... of the last list, after it was decoded */
	guint lists;
	gsize n_devices, n_healthy; /* of the last list */
	char *device; /* an id of the last list */
};

typedef struct bench_kubelet BenchKubelet;

/* Serves dir/kubelet.sock. Ends the bench if it cannot. */
BenchKubelet *bench_kubelet_new(Rpc *rpc, const char *dir);
/* Ends as a kubelet that goes away: connections close, the socket is removed. */
void bench_kubelet_free(BenchKubelet *kubelet);
/* struct watched *, in the order of their first Register. */
const GPtrArray *bench_kubelet_plugins(const BenchKubelet *kubelet);
