/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_topology.h"

#include <string.h>

gboolean sim_policy_find(const char *name, enum sim_policy *ret_policy)
{
	static const char *const names[] = {"none", "best-effort", "restricted",
					    "single-numa-node"};
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret_policy = (enum sim_policy)i;
		return TRUE;
	}
	return FALSE;
}

/* --- hints --- */

/* The nodes of a device as bits; those that the machine does not have are dropped by the
 * kubelets that do so, and match nothing in the others. */
static guint64 nodes_of(const struct sim_device *device, guint n_nodes)
{
	guint64 mask = 0;
	for (guint i = 0; device && i < device->nodes->len; i++) {
		gint64 node = g_array_index(device->nodes, gint64, i);
		if (node >= 0 && node < n_nodes)
			mask |= G_GUINT64_CONSTANT(1) << node;
	}
	return mask;
}

static gboolean takes_part(const SimState *state, const struct sim_device *device, guint n_nodes)
{
	if (state->profile->drops_unknown_nodes)
		return nodes_of(device, n_nodes) != 0;
	return device->nodes->len > 0 ||
	       (device->has_topology && state->profile->empty_topology_rejects);
}

/* If one device has a node, the whole resource takes part. */
static gboolean is_aligned(const SimState *state, const struct sim_resource *resource,
			   guint n_nodes)
{
	GHashTableIter iter;
	gpointer device;
	g_hash_table_iter_init(&iter, resource->devices);
	while (g_hash_table_iter_next(&iter, NULL, &device)) {
		if (takes_part(state, device, n_nodes))
			return TRUE;
	}
	return FALSE;
}

/* How many devices have a node in the mask, of those that count. */
static int count_in(const struct sim_resource *resource, guint n_nodes, guint64 mask,
		    gboolean (*counts)(const struct sim_resource *resource, const char *id))
{
	int n = 0;
	GHashTableIter iter;
	gpointer id, device;
	g_hash_table_iter_init(&iter, resource->devices);
	while (g_hash_table_iter_next(&iter, &id, &device)) {
		if ((nodes_of(device, n_nodes) & mask) && (!counts || counts(resource, id)))
			n++;
	}
	return n;
}

static gboolean is_available(const struct sim_resource *resource, const char *id)
{
	return g_hash_table_contains(resource->healthy, id) &&
	       !g_hash_table_contains(resource->taken, id);
}

/* -1: one of the reusable devices, which have to be taken, is elsewhere. */
static int count_reusable(const struct sim_resource *resource, guint n_nodes, guint64 mask,
			  GHashTable *reusable)
{
	int n = 0;
	GHashTableIter iter;
	gpointer id;
	g_hash_table_iter_init(&iter, reusable);
	while (g_hash_table_iter_next(&iter, &id, NULL)) {
		const struct sim_device *device = g_hash_table_lookup(resource->devices, id);
		if (!device || device->nodes->len == 0)
			continue;
		if (!(nodes_of(device, n_nodes) & mask))
			return -1;
		n++;
	}
	return n;
}

static guint bits(guint64 mask)
{
	return (guint)__builtin_popcountll(mask);
}

static void mark_preferred(GArray *hints, guint smallest)
{
	for (guint i = 0; i < hints->len; i++) {
		struct sim_hint *hint = &g_array_index(hints, struct sim_hint, i);
		hint->preferred = bits(hint->mask) == smallest;
	}
}

GArray *sim_topology_hints(const SimState *state, const char *name, guint n_nodes,
			   GHashTable *reusable, int count)
{
	const struct sim_resource *resource = sim_state_find(state, name);
	guint smallest = n_nodes;
	if (!resource || !resource->healthy || !is_aligned(state, resource, n_nodes))
		return NULL;
	GArray *hints = g_array_new(FALSE, TRUE, sizeof(struct sim_hint));
	for (guint64 mask = 1; mask < G_GUINT64_CONSTANT(1) << n_nodes; mask++) {
		if (count_in(resource, n_nodes, mask, NULL) >= count)
			smallest = MIN(smallest, bits(mask));
		int reused = count_reusable(resource, n_nodes, mask, reusable);
		if (reused < 0 || reused + count_in(resource, n_nodes, mask, is_available) < count)
			continue;
		struct sim_hint hint = {.mask = mask};
		g_array_append_val(hints, hint);
	}
	mark_preferred(hints, smallest);
	return hints;
}

/* --- policies --- */

static gboolean is_better(const struct sim_hint *hint, const struct sim_hint *best)
{
	if (!best || hint->preferred != best->preferred)
		return !best || hint->preferred;
	if (bits(hint->mask) != bits(best->mask))
		return bits(hint->mask) < bits(best->mask);
	return hint->mask < best->mask;
}

static const struct sim_hint *find_best(enum sim_policy policy, const GArray *hints)
{
	const struct sim_hint *best = NULL;
	for (guint i = 0; i < hints->len; i++) {
		const struct sim_hint *hint = &g_array_index(hints, struct sim_hint, i);
		if (policy == SIM_POLICY_SINGLE_NUMA_NODE &&
		    (bits(hint->mask) != 1 || !hint->preferred))
			continue;
		if (is_better(hint, best))
			best = hint;
	}
	return best;
}

gboolean sim_topology_admit(enum sim_policy policy, const GArray *hints, guint64 *ret_mask)
{
	*ret_mask = 0;
	if (policy == SIM_POLICY_NONE || !hints)
		return TRUE;
	const struct sim_hint *best = find_best(policy, hints);
	if (best)
		*ret_mask = best->mask;
	return policy == SIM_POLICY_BEST_EFFORT || (best && best->preferred);
}
