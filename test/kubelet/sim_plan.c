/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_plan.h"

#include <string.h>

gboolean sim_plan_is_init(const char *container)
{
	return g_str_has_prefix(container, "init");
}

static int missing(const SimPlan *plan)
{
	return plan->required - (int)g_hash_table_size(plan->picked);
}

static SimPlan *refuse(SimPlan *plan, char *text)
{
	plan->step = SIM_PLAN_REFUSED;
	plan->refusal = text;
	return plan;
}

static const struct sim_grant *find_held(const SimState *state, const char *resource,
					 const char *pod, const char *container)
{
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		if (strcmp(grant->pod, pod) == 0 && strcmp(grant->container, container) == 0 &&
		    strcmp(grant->resource, resource) == 0)
			return grant;
	}
	return NULL;
}

static gboolean all_healthy(const struct sim_resource *resource, const struct sim_grant *held)
{
	for (gsize i = 0; held && held->ids[i]; i++) {
		if (!g_hash_table_contains(resource->healthy, held->ids[i]))
			return FALSE;
	}
	return TRUE;
}

/* What a kubelet since 1.27 wants to see before it looks for free devices. */
static char *health_refusal(const struct sim_resource *resource, const struct sim_grant *held)
{
	if (!resource->healthy)
		return g_strdup_printf("cannot allocate unregistered device %s", resource->name);
	if (g_hash_table_size(resource->healthy) == 0)
		return g_strdup_printf("no healthy devices present; cannot allocate unhealthy "
				       "devices %s",
				       resource->name);
	if (!all_healthy(resource, held))
		return g_strdup_printf("previously allocated devices are no longer healthy; "
				       "cannot allocate unhealthy devices %s",
				       resource->name);
	return NULL;
}

/* Moves up to what is missing from 'ids' (in their order) to the choice. */
static void take(SimPlan *plan, const char *const *ids)
{
	for (gsize i = 0; ids && ids[i] && missing(plan) > 0; i++)
		g_hash_table_add(plan->picked, g_strdup(ids[i]));
}

GHashTable *sim_plan_reusable(const SimState *state, const char *resource, const char *pod)
{
	GHashTable *reusable = sim_set_new();
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		if (strcmp(grant->pod, pod) != 0 || strcmp(grant->resource, resource) != 0)
			continue;
		for (gsize j = 0; grant->ids[j]; j++) {
			if (sim_plan_is_init(grant->container))
				g_hash_table_add(reusable, g_strdup(grant->ids[j]));
		}
	}
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		if (strcmp(grant->pod, pod) != 0 || sim_plan_is_init(grant->container))
			continue;
		for (gsize j = 0; grant->ids[j]; j++)
			g_hash_table_remove(reusable, grant->ids[j]);
	}
	return reusable;
}

static void take_reusable(SimPlan *plan, const SimState *state, const char *resource,
			  const char *pod)
{
	g_autoptr(GHashTable) reusable = sim_plan_reusable(state, resource, pod);
	g_autoptr(GPtrArray) sorted = sim_set_sorted(reusable);
	take(plan, (const char *const *)sorted->pdata);
}

static gboolean is_on_nodes(const struct sim_device *device, guint64 mask)
{
	for (guint i = 0; device && i < device->nodes->len; i++) {
		gint64 node = g_array_index(device->nodes, gint64, i);
		if (node >= 0 && node < 64 && (mask >> node & 1))
			return TRUE;
	}
	return FALSE;
}

static void find_available(SimPlan *plan, const struct sim_resource *resource, guint64 mask)
{
	GHashTableIter iter;
	gpointer id;
	if (!resource->healthy)
		return;
	g_hash_table_iter_init(&iter, resource->healthy);
	while (g_hash_table_iter_next(&iter, &id, NULL)) {
		if (g_hash_table_contains(resource->taken, id))
			continue;
		g_hash_table_add(plan->available, g_strdup(id));
		if (is_on_nodes(g_hash_table_lookup(resource->devices, id), mask))
			g_hash_table_add(plan->aligned, g_strdup(id));
	}
}

/* Has a list, or had one and containers still hold ids of it. */
static gboolean is_known(const struct sim_resource *resource)
{
	return resource && (resource->healthy || g_hash_table_size(resource->taken) > 0);
}

static SimPlan *plan_alloc(int required)
{
	SimPlan *plan = g_new0(SimPlan, 1);
	plan->required = required;
	plan->picked = sim_set_new();
	plan->available = sim_set_new();
	plan->aligned = sim_set_new();
	return plan;
}

SimPlan *sim_plan_new(SimState *state, const char *name, const char *pod, const char *container,
		      int required, guint64 mask)
{
	SimPlan *plan = plan_alloc(required);
	struct sim_resource *resource = sim_state_find(state, name);
	if (!is_known(resource) || required <= 0)
		return plan;
	sim_state_clean_up(state);
	const struct sim_grant *held = find_held(state, name, pod, container);
	if (held && (int)g_strv_length(held->ids) != required)
		return refuse(plan, g_strdup_printf("pod \"%s\" container \"%s\" changed request "
						    "for resource \"%s\" from %u to %d",
						    pod, container, name, g_strv_length(held->ids),
						    required));
	char *unhealthy = state->profile->checks_health ? health_refusal(resource, held) : NULL;
	if (unhealthy)
		return refuse(plan, unhealthy);
	if (held) {
		plan->step = SIM_PLAN_HELD;
		return plan;
	}
	take_reusable(plan, state, name, pod);
	find_available(plan, resource, mask);
	if ((int)g_hash_table_size(plan->available) < missing(plan))
		return refuse(plan,
			      g_strdup_printf("requested number of devices unavailable for %s. "
					      "Requested: %d, Available: %u",
					      name, missing(plan),
					      g_hash_table_size(plan->available)));
	plan->step = SIM_PLAN_CHOOSE;
	return plan;
}

void sim_plan_free(SimPlan *plan)
{
	if (!plan)
		return;
	g_free(plan->refusal);
	g_hash_table_unref(plan->picked);
	g_hash_table_unref(plan->available);
	g_hash_table_unref(plan->aligned);
	g_free(plan);
}

/* The members in random order; the kubelet walks its sets as Go does. */
static GStrv shuffled(GHashTable *set, GRand *random)
{
	g_autoptr(GPtrArray) sorted = sim_set_sorted(set);
	guint n = sorted->len - 1;
	for (guint i = n; i > 1; i--) {
		guint j = (guint)g_rand_int_range(random, 0, (gint32)i);
		gpointer last = sorted->pdata[i - 1];
		sorted->pdata[i - 1] = sorted->pdata[j];
		sorted->pdata[j] = last;
	}
	return g_strdupv((char **)sorted->pdata);
}

static void take_shuffled(SimPlan *plan, GHashTable *set, GRand *random)
{
	g_auto(GStrv) ids = shuffled(set, random);
	take(plan, (const char *const *)ids);
}

/* The aligned ids alone suffice, and leave a choice. */
static gboolean has_aligned_choice(const SimPlan *plan)
{
	return missing(plan) < (int)g_hash_table_size(plan->aligned);
}

static GStrv joined(GHashTable *a, GHashTable *b, GRand *random)
{
	g_autoptr(GHashTable) both = sim_set_new();
	GHashTable *const sets[] = {a, b};
	for (gsize i = 0; i < G_N_ELEMENTS(sets); i++) {
		g_autoptr(GPtrArray) ids = sim_set_sorted(sets[i]);
		for (guint j = 0; j + 1 < ids->len; j++)
			g_hash_table_add(both, g_strdup(g_ptr_array_index(ids, j)));
	}
	return shuffled(both, random);
}

gboolean sim_plan_asks(SimPlan *plan, GRand *random, GStrv *ret_available, GStrv *ret_must)
{
	if (missing(plan) <= 0)
		return FALSE;
	gboolean aligned = has_aligned_choice(plan);
	if (!aligned)
		take_shuffled(plan, plan->aligned, random);
	if (missing(plan) <= 0)
		return FALSE;
	*ret_available = joined(aligned ? plan->aligned : plan->available, plan->picked, random);
	*ret_must = shuffled(plan->picked, random);
	return TRUE;
}

static void take_preferred(SimPlan *plan, GHashTable *among, const char *const *preferred)
{
	for (gsize i = 0; preferred && preferred[i] && missing(plan) > 0; i++) {
		if (g_hash_table_contains(among, preferred[i]))
			g_hash_table_add(plan->picked, g_strdup(preferred[i]));
	}
}

GStrv sim_plan_choose(SimPlan *plan, struct sim_resource *resource, const char *const *preferred,
		      GRand *random)
{
	GHashTable *among = has_aligned_choice(plan) ? plan->aligned : plan->available;
	take_preferred(plan, among, preferred);
	take_shuffled(plan, plan->aligned, random);
	take_shuffled(plan, plan->available, random);
	GStrv ids = shuffled(plan->picked, random);
	for (gsize i = 0; ids[i]; i++)
		g_hash_table_add(resource->taken, g_strdup(ids[i]));
	return ids;
}
