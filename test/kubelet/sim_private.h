/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the simulator share. */
#pragma once

#include "kubelet/sim.h"
#include "kubelet/sim_listener.h"

/* Periods of a kubelet, in seconds of its clock. */
#define SIM_GRACE_S 300
#define SIM_TICK_S 10
#define SIM_DIAL_MS 10000
#define SIM_PRE_START_MS 30000

struct sim_client;
struct sim_allocation;

struct sim {
	Rpc *rpc;
	struct sim_options options; /* its strings are ours */
	SimEvents *events;
	SimState *state;
	GRand *random;
	guint next_pod;

	/* sim_server.c */
	RpcServer *server;
	SimListener *listener;
	gboolean running;
	gint64 serving_us;
	guint tick;

	/* sim_client.c */
	GPtrArray *clients; /* struct sim_client *, all with an open connection; owned */
	GHashTable *client_map; /* resource or socket path -> struct sim_client *, borrowed */
	GHashTable *endpoints; /* resource -> struct sim_client *: where Allocate goes */

	/* sim_allocate.c */
	struct sim_allocation *allocation; /* under way, or NULL */

	/* the end */
	guint stopping; /* servers that have not ended yet */
	gboolean freeing;
	void (*freed)(gpointer data);
	gpointer freed_data;
};

/* Microseconds of the kubelet's clock, scaled. */
gint64 sim_clock(const Sim *sim);
double sim_ms_since(gint64 start_us);

/* --- sim_server.c --- */
void sim_server_ended(gpointer data);

/* --- sim_client.c --- */

/* Connects back to a plugin. 'call' is its Register, answered when that has come to an
 * end; NULL if nobody waits. 'requested' are the options of its RegisterRequest. */
void sim_client_connect(Sim *sim, const SimRegister *registration, RpcCall *call);
/* Closes every connection, silently: the kubelet has died. */
void sim_clients_drop(Sim *sim);
/* The connection for calls to a resource; NULL if there is none or it has stopped. */
RpcChannel *sim_client_channel(Sim *sim, const char *resource);
const struct sim_options_answer *sim_client_options(Sim *sim, const char *resource);

/* --- sim_allocate.c --- */
void sim_allocation_abort(Sim *sim);
/* A connection is about to be closed: a call on it fails. */
void sim_allocation_closed(Sim *sim, const RpcChannel *channel);

/* --- sim_checkpoint.c --- */
void sim_checkpoint_write(Sim *sim);
void sim_checkpoint_read(Sim *sim);

/* --- sim_errors.c --- */

/* "rpc error: code = Unknown desc = …", as Go prints an error of gRPC. */
char *sim_error_text(enum rpc_status status, const char *message);
const char *sim_code_name(enum rpc_status status);
/* gRPC's C library and Go's word some errors differently: Go's words. */
char *sim_error_message(enum rpc_status status, const char *message);
