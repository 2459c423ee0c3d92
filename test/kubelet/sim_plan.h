/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of ids for one container: what the kubelet decides before and after it
 * asks a plugin for its preference. Pure.
 */
#pragma once

#include "kubelet/sim_state.h"

enum sim_plan_step {
	SIM_PLAN_UNKNOWN, /* no such resource: the pod starts without it */
	SIM_PLAN_REFUSED, /* the pod is rejected: 'refusal' says why */
	SIM_PLAN_HELD, /* the container has its ids already: no call */
	SIM_PLAN_CHOOSE, /* ids are to be chosen */
};

typedef struct sim_plan SimPlan;

struct sim_plan {
	enum sim_plan_step step;
	char *refusal;
	int required; /* ids in all */
	GHashTable *picked; /* set: chosen so far; begins with what an init container held */
	GHashTable *available; /* set: free and healthy */
	GHashTable *aligned; /* set: those of 'available' that suit the NUMA hint */
};

/* 'mask' has the nodes that the topology manager decided for as bits, 0 = no hint. */
SimPlan *sim_plan_new(SimState *state, const char *name, const char *pod, const char *container,
		      int required, guint64 mask);
void sim_plan_free(SimPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimPlan, sim_plan_free)

/* Whether the plugin is asked for its preference, if it offers that. TRUE fills
 * *ret_available and *ret_must with what the request carries, in random order. Taking
 * all aligned ids first, where they do not suffice, is part of it. */
gboolean sim_plan_asks(SimPlan *plan, GRand *random, GStrv *ret_available, GStrv *ret_must);

/* Completes the choice: first what is preferred and available, then at random. The ids
 * count as taken from now on. Returns them in random order. */
GStrv sim_plan_choose(SimPlan *plan, struct sim_resource *resource, const char *const *preferred,
		      GRand *random);

/* The ids of the pod's init containers that no other container of it has yet: they are
 * offered again. */
GHashTable *sim_plan_reusable(const SimState *state, const char *resource, const char *pod);
gboolean sim_plan_is_init(const char *container);
