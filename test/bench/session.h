/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a measured program: a node, a kubelet, the process. */
#pragma once

#include "bench/kubelet.h"
#include "bench/process.h"
#include "bench/subject.h"

typedef struct session Session;

struct session {
	const struct subject *subject;
	Rpc *rpc;
	char *node;
	BenchKubelet *kubelet;
	Process *process;
	double registered_ms, listed_ms; /* after the start; the last resource's */
};

/* Returns when each resource has registered and shown all of its slots. */
Session *session_begin(Rpc *rpc, const struct subject *subject);
void session_end(Session *session);

const struct watched *session_plugin(const Session *session, guint index);
/* Runs the main loop until 'is_reached'; ends the bench if the program has died or
 * half a minute is over. */
void session_wait(Session *session, gboolean (*is_reached)(const Session *session, gpointer data),
		  gpointer data);
/* Runs the main loop for a while. */
void session_settle(guint ms);
