/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios: a kubelet has its worst minute, and the plugin's resources must be back
 * afterwards. A scenario is a function that runs from its beginning to its end and waits
 * in the main loop meanwhile.
 */
#pragma once

#include "kubelet/sim_private.h"

struct scenario_options {
	const char *const *command; /* the plugin; "{dir}" is the directory, "{registry}" too */
	guint count; /* repetitions, 0 = the scenario's own number */
	double duration_s; /* of states that last, 0 = the scenario's own */
	double limit_s; /* how long the plugin may take to be back */
	gint64 max_growth_kib; /* of the plugin's memory, -1 = not looked at */
};

struct scenario {
	Sim *sim;
	Rpc *rpc;
	SimEvents *events;
	const struct scenario_options *options;
	GRand *random;
	GPid plugin; /* 0 = does not run */
	guint watch; /* for its end */
	GHashTable *baseline; /* resource -> number of devices */
	char *socket; /* where the plugin serves the first of them */
	GArray *times; /* double: ms from kubelet.sock to the last first list */
	guint n_ended; /* streams that have ended by themselves since the start */
	double last_list_ms; /* since_socket_ms of the newest first list */
	gboolean failed;
};

struct scenario_entry {
	const char *name, *help;
	void (*run)(struct scenario *scenario);
};

/* Tables of the files; each ends with an entry without a name. */
extern const struct scenario_entry scenario_restarts[], scenario_sockets[], scenario_streams[],
	scenario_calls[];

const struct scenario_entry *scenario_find(const char *name);
/* A line each. */
char *scenario_list(void);
/* Starts kubelet and plugin, runs it, says how it went. 'sim' does not run yet. */
void scenario_run(const struct scenario_entry *entry, Sim *sim,
		  const struct scenario_options *options);

/* --- for the scenarios --- */

/* The verdict is bad; the scenario should return. Always FALSE. */
gboolean scenario_fail(struct scenario *scenario, const char *format, ...) G_GNUC_PRINTF(2, 3);
guint scenario_count(const struct scenario *scenario, guint standard);
guint scenario_duration_ms(const struct scenario *scenario, guint standard);

/* Runs the main loop for that long. */
void scenario_sleep(struct scenario *scenario, guint ms);
/* Runs the main loop until it holds, or the time of the options is over. */
typedef gboolean (*scenario_condition_fn)(struct scenario *scenario, gpointer data);
gboolean scenario_await(struct scenario *scenario, scenario_condition_fn holds, gpointer data);
/* Every resource that was there at the beginning streams, with as many devices. FALSE
 * and failed if they do not in time. */
gboolean scenario_await_back(struct scenario *scenario, const char *after_what);

void scenario_start_plugin(struct scenario *scenario);
/* Signals it; with SIGKILL and SIGTERM waits until it has gone, and with it its streams. */
void scenario_signal_plugin(struct scenario *scenario, int number);
/* It goes on without being watched; ended with scenario_end_process. */
GPid scenario_release_plugin(struct scenario *scenario);
void scenario_end_process(struct scenario *scenario, GPid pid, int number);
gboolean scenario_start_kubelet(struct scenario *scenario);
void scenario_restart_kubelet(struct scenario *scenario, guint pause_ms);

/* What of the plugin's could leak. */
struct scenario_usage {
	guint fds, threads;
	gint64 rss_kib;
};
struct scenario_usage scenario_usage(const struct scenario *scenario);
/* Fails if there is more of it than before. */
gboolean scenario_check_usage(struct scenario *scenario, const struct scenario_usage *before);

/* The first of the baseline's resources. */
const char *scenario_resource(const struct scenario *scenario);
