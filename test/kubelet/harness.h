/* SPDX-License-Identifier: Apache-2.0 */
/* A simulator and fake plugins in the test's own main loop. */
#pragma once

#include "kubelet/fake_plugin.h"
#include "kubelet/sim.h"

typedef struct harness Harness;

struct harness {
	char *dir;
	Rpc *rpc;
	SimEvents *events;
	struct sim_options options; /* change them before harness_start */
	Sim *sim;
	GPtrArray *seen; /* json_t *, every event */
	guint cursor; /* events before it were waited for */
	GPtrArray *plugins; /* FakePlugin * */
};

/* A fresh directory; the kubelet does not run yet. */
Harness *harness_new(const char *profile);
void harness_start(Harness *harness);
/* Ends everything and removes the directory. */
void harness_free(Harness *harness);

FakePlugin *harness_plugin(Harness *harness, const char *resource, const char *endpoint);
/* Serves, registers and waits until its list is there. */
FakePlugin *harness_register(Harness *harness, const char *resource, const char *endpoint,
			     const char *devices);
/* Stops one, as if its process ended. */
void harness_end_plugin(Harness *harness, FakePlugin *plugin);

/* Runs the main loop until an event that matches 'text' (JSON, see json_match) comes, later than the
 * last one that was waited for; fails the test if it does not. Borrowed. */
const json_t *harness_await(Harness *harness, const char *text);
/* Whether such an event has come since the start. */
gboolean harness_saw(Harness *harness, const char *text);
/* Runs the main loop until the flag is set. */
void harness_await_flag(Harness *harness, const gboolean *flag);
/* Runs the main loop until the counter has reached that. */
void harness_await_count(Harness *harness, const guint *counter, guint value);

/* One command line, as the program takes it, without waiting. */
void harness_allocate(Harness *harness, const char *resource, int count, const char *pod);
