/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet simulator: the device manager of a kubelet and nothing else of it. A
 * library, so that tests can run it in their own main loop; main.c is the program.
 * All functions are called in the main loop; what happens is told as events
 * (README.md lists them).
 */
#pragma once

#include "edge/rpc.h"
#include "kubelet/sim_events.h"
#include "kubelet/sim_profile.h"
#include "kubelet/sim_state.h"
#include "kubelet/sim_topology.h"

struct sim_options {
	const char *dir; /* the device-plugins directory */
	const char *dev_root; /* where allocated devices are looked up; NULL = nowhere */
	const char *registry_dir; /* plugins_registry, for the watcher; NULL = none */
	const char *pod_resources; /* socket of the podresources service; NULL = none */
	guint pods_late_ms; /* after a start it does not know its pods for so long */
	const struct sim_profile *profile;
	guint32 seed;
	double time_scale; /* the kubelet's own periods pass that many times faster */
	guint show_devices; /* lists of up to that many devices are shown in full */
	enum sim_policy policy; /* of the topology manager */
	guint numa_nodes; /* of the machine */
	guint hang_ms; /* a call that takes longer is said; the kubelet would wait for ever */
	gboolean fsync; /* the checkpoint reaches the disk before anything goes on */
	guint answer_delay_ms; /* before each answer to a Register */
	guint dial_ms; /* how long the kubelet waits for a plugin's HTTP/2 server */
};

/* 1.36, real time. */
struct sim_options sim_options_default(const char *dir);

typedef struct sim Sim;

/* 'events' is borrowed. The kubelet does not run yet. */
Sim *sim_new(Rpc *rpc, const struct sim_options *options, SimEvents *events);

/* The kubelet starts: makes the directory, wipes it, reads its checkpoint, serves. */
gboolean sim_start(Sim *sim, GError **error);
/* The kubelet dies: every connection is gone at once, kubelet.sock stays as a file
 * that refuses connections. */
void sim_stop(Sim *sim);
gboolean sim_is_running(const Sim *sim);

/* Stops for good; 'done' is called when the last connection has ended. Frees sim. */
void sim_free(Sim *sim, void (*done)(gpointer data), gpointer data);

SimEvents *sim_get_events(const Sim *sim);
SimState *sim_get_state(const Sim *sim);

/* TRUE while a plugin of the resource is connected and has sent a list. */
gboolean sim_is_streaming(const Sim *sim, const char *resource);
/* Connections to plugins that are open, forgotten ones included. */
guint sim_n_connections(const Sim *sim);
/* Those of them that have a stream. */
guint sim_n_streams(const Sim *sim);
/* The kubelet's end of the stream breaks: the plugin must notice and register again.
 * FALSE if there is none. */
gboolean sim_disconnect(Sim *sim, const char *resource);

/* --- calls for pods; 'done' may be NULL and is called once, perhaps at once --- */

typedef void (*sim_done_fn)(Sim *sim, gboolean ok, gpointer data);

struct sim_claim {
	const char *pod; /* NULL: a new one, "pod-N" */
	const char *container; /* NULL: "main"; "init…" is an init container */
	const char *resource;
	int count;
	int numa; /* node that was decided for, -1 = as the policy decides */
};

/* Admits one container, as 2.6 of the protocol notes has it. One at a time: FALSE while
 * another is under way. */
gboolean sim_allocate(Sim *sim, const struct sim_claim *claim, sim_done_fn done, gpointer data);
/* Starts the container once more: PreStartContainer, where the plugin asked for it. */
gboolean sim_start_container(Sim *sim, const char *pod, const char *container, sim_done_fn done,
			     gpointer data);
gboolean sim_free_pod(Sim *sim, const char *pod);
/* One event "resource" for each. */
void sim_report_resources(Sim *sim);
