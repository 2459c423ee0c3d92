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
#define SIM_HANG_MS 30000

struct sim_client;
struct sim_allocation;
struct sim_watcher;
struct sim_pod_resources;

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

	struct sim_watcher *watcher; /* or NULL */
	struct sim_pod_resources *pod_resources; /* or NULL */

	/* the end */
	guint stopping; /* servers that have not ended yet */
	gboolean freeing;
	void (*freed)(gpointer data);
	gpointer freed_data;
};

/* Microseconds of the kubelet's clock, scaled. */
gint64 sim_clock(const Sim *sim);
double sim_ms_since(gint64 start_us);

/* --- sim.c --- */

/* For rpc_server_stop: one of sim->stopping has ended. */
void sim_server_ended(gpointer data);

/* --- sim_register.c --- */
void sim_register(RpcCall *call, GBytes *bytes, gpointer data);

/* --- sim_client.c --- */

/* Where a plugin is to be found. */
struct sim_peer {
	const char *resource;
	const char *endpoint; /* as the plugin called it */
	const char *path; /* of its socket */
	gboolean has_request; /* FALSE: found by the watcher */
	struct sim_options_answer requested;
};

/* Called once: RPC_OK when the plugin is connected, RPC_UNKNOWN and a kubelet's text when
 * it cannot be had, RPC_UNAVAILABLE when the kubelet gave up itself. */
typedef void (*sim_connected_fn)(enum rpc_status status, const char *text, gpointer data);

/* Connects to a plugin: dial, options, then its list. The client is valid until 'done'
 * was called with anything but RPC_OK. */
struct sim_client *sim_client_connect(Sim *sim, const struct sim_peer *peer, sim_connected_fn done,
				      gpointer data);
/* Ends an attempt: 'done' gets the text. Not once it is connected. */
void sim_client_give_up(struct sim_client *client, const char *text);
/* The watcher found the socket gone. The key is the resource's name, or the path. */
void sim_client_deregister(Sim *sim, const char *key);
/* Closes every connection, silently: the kubelet has died. */
void sim_clients_drop(Sim *sim);
/* The connection for calls to a resource; NULL if there is none or it has stopped. */
RpcChannel *sim_client_channel(Sim *sim, const char *resource);
const char *sim_client_path(Sim *sim, const char *resource);
const struct sim_options_answer *sim_client_options(Sim *sim, const char *resource);

/* --- sim_allocate.c --- */
void sim_allocation_abort(Sim *sim);
/* A connection is about to be closed: a call on it fails. */
void sim_allocation_closed(Sim *sim, const RpcChannel *channel);

/* --- sim_pod_resources.c --- */

/* Does nothing if the options name no socket. */
gboolean sim_pod_resources_start(Sim *sim, GError **error);
void sim_pod_resources_stop(Sim *sim);

/* --- sim_checkpoint.c --- */
void sim_checkpoint_write(Sim *sim);
void sim_checkpoint_read(Sim *sim);

/* --- sim_errors.c --- */

/* "rpc error: code = Unknown desc = …", as Go prints an error of gRPC. */
char *sim_error_text(enum rpc_status status, const char *message);
const char *sim_code_name(enum rpc_status status);
/* gRPC's C library and Go's word some errors differently: Go's words. */
char *sim_error_message(enum rpc_status status, const char *message);
