/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All buses and resources of the process, kept as the configuration says: what is new
 * is added, what is gone retires, what has changed changes in place, and the rest is not
 * touched.
 */
#pragma once

#include "daemon/bus.h"
#include "daemon/configuration.h"
#include "daemon/pool.h"

typedef struct roster Roster;

struct roster_host {
	const Configuration *configuration;
	Kubelet *kubelet;
	NodeCheck *node_check;
	State *state;
	Holders *holders;
	/* There may be something new to tell (status.h). */
	void (*changed)(gpointer data);
	gpointer data;
};

Roster *roster_new(const struct roster_host *host);
/* Takes all resources away from the kubelet's side, without waiting. */
void roster_stop(Roster *roster);
/* Waits at most 'wait_ms' for calls into backends that do not come back; even those for
 * which no time is left are said. */
void roster_free(Roster *roster, guint wait_ms);

/* The configuration is another one than before. */
void roster_apply(Roster *roster);
/* Looks at every bus; refused backends are tried again. */
void roster_rescan(Roster *roster);
void roster_save(const Roster *roster, SavedState *state);

/* Bus *; Pool *, in file order, those that are leaving behind them. Borrowed. */
const GPtrArray *roster_buses(const Roster *roster);
const GPtrArray *roster_pools(const Roster *roster);
/* "prefix/name"; NULL if there is none, or not again so far. */
Pool *roster_find_pool(const Roster *roster, const char *full_name);
