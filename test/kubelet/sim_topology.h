/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topology manager for one container that asks for one resource: the device
 * manager's hints and what each policy makes of them. Pure.
 */
#pragma once

#include "kubelet/sim_state.h"

enum sim_policy {
	SIM_POLICY_NONE,
	SIM_POLICY_BEST_EFFORT,
	SIM_POLICY_RESTRICTED,
	SIM_POLICY_SINGLE_NUMA_NODE,
};

/* By the kubelet's names; FALSE if there is no such policy. */
gboolean sim_policy_find(const char *name, enum sim_policy *ret_policy);

/* NUMA nodes as bits, and whether no smaller set could ever do. */
struct sim_hint {
	guint64 mask;
	gboolean preferred;
};

/* struct sim_hint, one for each set of the machine's nodes that can serve the request.
 * NULL: the resource has no preference. Empty: nothing suits. 'reusable' is the set of ids
 * that the pod's init containers leave. */
GArray *sim_topology_hints(const SimState *state, const char *name, guint n_nodes,
			   GHashTable *reusable, int count);

/* TRUE: admitted, with *ret_mask the nodes to take devices of, 0 = any. */
gboolean sim_topology_admit(enum sim_policy policy, const GArray *hints, guint64 *ret_mask);
