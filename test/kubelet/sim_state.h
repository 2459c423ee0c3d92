/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's device manager as arithmetic: which resources there are, what they
 * count, which containers hold which ids. Pure: no I/O, and the time is an argument.
 */
#pragma once

#include <glib.h>

#include "kubelet/sim_messages.h"
#include "kubelet/sim_profile.h"

/* One resource. 'healthy' is NULL until the first list (or the checkpoint): then the
 * kubelet does not know the resource and pods start without it. */
struct sim_resource {
	char *name;
	GHashTable *devices; /* id -> struct sim_device *; the newest list */
	GHashTable *healthy, *unhealthy; /* sets of ids; an id listed twice may be in both */
	GHashTable *taken; /* set of ids that count as allocated */
	gboolean endpoint; /* a plugin is, or was, connected */
	gint64 stopped_us; /* since when its plugin is gone; 0 = it is there */
};

/* What one container holds of one resource. */
struct sim_grant {
	char *pod, *container, *resource;
	GStrv ids; /* sorted */
	GBytes *response; /* the ContainerAllocateResponse, for the checkpoint; or NULL */
	gboolean ended; /* the pod is gone; its ids come back with the next clean-up */
};

/* What `kubectl describe node` would show: changes with the status tick only, and a
 * resource that went away stays at 0/0 for ever. */
struct sim_node_entry {
	gsize capacity, allocatable;
};

typedef struct sim_state SimState;

struct sim_state {
	const struct sim_profile *profile;
	GHashTable *resources; /* name -> struct sim_resource * */
	GPtrArray *grants; /* struct sim_grant * */
	GHashTable *node; /* name -> struct sim_node_entry * */
};

SimState *sim_state_new(const struct sim_profile *profile);
void sim_state_free(SimState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimState, sim_state_free)

struct sim_resource *sim_state_find(const SimState *state, const char *resource);
/* Names, sorted. */
GPtrArray *sim_state_names(const SimState *state);

/* A plugin connected; its list is not there yet. */
void sim_state_connected(SimState *state, const char *name);
/* A list came: it replaces everything. 'devices' is struct sim_device *, borrowed. */
void sim_state_update(SimState *state, const char *name, GPtrArray *devices);
/* The plugin is gone: all its devices are unhealthy, the grace period begins. */
void sim_state_stopped(SimState *state, const char *name, gint64 now_us);
/* Forgets resources whose grace period is over; returns their names (char *). */
GPtrArray *sim_state_expire(SimState *state, gint64 now_us, gint64 grace_us);
/* The kubelet starts again and its checkpoint knows the resource: it has no devices and
 * a grace period that begins now. */
void sim_state_remember(SimState *state, const char *name, gint64 now_us);

gsize sim_resource_capacity(const struct sim_resource *resource);
gsize sim_resource_allocatable(const struct sim_resource *resource);
/* Healthy and not taken. */
gsize sim_resource_free(const struct sim_resource *resource);

/* The status tick: copies the counts to the node's entry. */
void sim_state_tick(SimState *state);

/* Takes ownership of nothing; ids are copied and sorted. */
struct sim_grant *sim_state_grant(SimState *state, const char *pod, const char *container,
				  const char *resource, const char *const *ids);
/* The pod has ended. FALSE if nobody holds anything under that name. */
gboolean sim_state_end_pod(SimState *state, const char *pod);
/* The kubelet's clean-up: drops what ended pods held and, only if there were any,
 * counts again what is taken. Its own allocations and podresources run it. */
void sim_state_clean_up(SimState *state);
/* Counts again what is taken, from the grants. */
void sim_state_recount(SimState *state);

/* --- helpers for sets of ids --- */
GHashTable *sim_set_new(void);
/* Sorted copy of the members, borrowed strings, NULL-terminated. */
GPtrArray *sim_set_sorted(GHashTable *set);
