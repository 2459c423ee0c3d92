/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_lint.h"

#include <string.h>

/* NUMA nodes that the kubelet's bit mask can hold. */
#define NODES_MAX 64

static void lint_ids(GPtrArray *devices, GPtrArray *problems)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < devices->len; i++) {
		const struct sim_device *device = g_ptr_array_index(devices, i);
		if (!*device->id && !sim_problems_have(problems, "empty-id"))
			sim_problems_add(problems, "empty-id", "device %u has no id", i);
		if (!g_hash_table_add(seen, device->id) &&
		    !sim_problems_have(problems, "duplicate-id"))
			sim_problems_add(problems, "duplicate-id",
					 "id '%s' is listed twice: with different health it "
					 "counts in both sets",
					 device->id);
	}
}

static void lint_health(GPtrArray *devices, GPtrArray *problems)
{
	for (guint i = 0; i < devices->len; i++) {
		const struct sim_device *device = g_ptr_array_index(devices, i);
		if (strcmp(device->health, "Healthy") == 0 ||
		    strcmp(device->health, "Unhealthy") == 0)
			continue;
		sim_problems_add(
			problems, "health-text",
			"device '%s' has health '%s': only \"Healthy\", exactly so, counts",
			device->id, device->health);
		return;
	}
}

static void lint_node(const struct sim_device *device, gint64 node, GPtrArray *problems)
{
	if (node >= 0 && node < NODES_MAX)
		return;
	if (!sim_problems_have(problems, "numa-node"))
		sim_problems_add(problems, "numa-node",
				 "device '%s' has NUMA node %" G_GINT64_FORMAT
				 ": no such node can exist, strict topology policies reject its "
				 "pods",
				 device->id, node);
}

static void lint_topology(const SimState *state, GPtrArray *devices, GPtrArray *problems)
{
	guint with_nodes = 0, without = 0;
	for (guint i = 0; i < devices->len; i++) {
		const struct sim_device *device = g_ptr_array_index(devices, i);
		with_nodes += device->nodes->len > 0;
		/* One that is Unhealthy is not chosen, and belongs to no node's count. */
		without += device->nodes->len == 0 && strcmp(device->health, "Healthy") == 0;
		for (guint j = 0; j < device->nodes->len; j++)
			lint_node(device, g_array_index(device->nodes, gint64, j), problems);
		if (device->has_topology && device->nodes->len == 0 &&
		    !sim_problems_have(problems, "empty-topology"))
			sim_problems_add(
				problems, "empty-topology",
				"device '%s' has a TopologyInfo without nodes: %s", device->id,
				state->profile->empty_topology_rejects
					? "this kubelet rejects its pods under strict "
					  "topology policies"
					: "kubelets up to 1.25 reject its pods under strict "
					  "topology policies");
	}
	if (with_nodes > 0 && without > 0)
		sim_problems_add(problems, "mixed-topology",
				 "%u of %u devices have NUMA nodes: the others are used last",
				 with_nodes, devices->len);
}

/* The search for the pod of a device goes by its id alone. */
static void lint_shared_ids(const SimState *state, const char *resource, GPtrArray *devices,
			    GPtrArray *problems)
{
	GHashTableIter iter;
	gpointer value;
	g_hash_table_iter_init(&iter, state->resources);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct sim_resource *other = value;
		if (strcmp(other->name, resource) == 0)
			continue;
		for (guint i = 0; i < devices->len; i++) {
			const struct sim_device *device = g_ptr_array_index(devices, i);
			if (!g_hash_table_contains(other->devices, device->id))
				continue;
			sim_problems_add(
				problems, "shared-id",
				"id '%s' is also one of '%s': health changes reach the wrong "
				"pods",
				device->id, other->name);
			return;
		}
	}
}

/* The first id of the grant that is not in the set; NULL if all are. */
static const char *first_missing(const struct sim_grant *grant, GHashTable *listed)
{
	for (gsize i = 0; grant->ids[i]; i++) {
		if (!g_hash_table_contains(listed, grant->ids[i]))
			return grant->ids[i];
	}
	return NULL;
}

static void lint_held_ids(const SimState *state, const char *resource, GPtrArray *devices,
			  GPtrArray *problems)
{
	g_autoptr(GHashTable) listed = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < devices->len; i++)
		g_hash_table_add(listed, ((struct sim_device *)g_ptr_array_index(devices, i))->id);
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		if (grant->ended || strcmp(grant->resource, resource) != 0)
			continue;
		const char *missing = first_missing(grant, listed);
		if (!missing)
			continue;
		sim_problems_add(problems, "removed-id",
				 "id '%s' has left the list while pod '%s' holds it: the pod's "
				 "status keeps saying Healthy",
				 missing, grant->pod);
		return;
	}
}

static void lint_change(GPtrArray *devices, GPtrArray *previous, GPtrArray *problems)
{
	if (!previous || previous->len != devices->len)
		return;
	for (guint i = 0; i < devices->len; i++) {
		if (!sim_device_equal(g_ptr_array_index(devices, i),
				      g_ptr_array_index(previous, i)))
			return;
	}
	sim_problems_add(problems, "unchanged-list",
			 "the list is the same as the one before: each costs the kubelet a "
			 "checkpoint written to disk");
}

void sim_lint_list(const SimState *state, const char *resource, GPtrArray *devices,
		   GPtrArray *previous, GPtrArray *problems)
{
	lint_ids(devices, problems);
	lint_health(devices, problems);
	lint_topology(state, devices, problems);
	lint_shared_ids(state, resource, devices, problems);
	lint_held_ids(state, resource, devices, problems);
	lint_change(devices, previous, problems);
}
