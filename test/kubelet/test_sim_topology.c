/* SPDX-License-Identifier: Apache-2.0 */
/* Hints and policies of the topology manager. */
#include "kubelet/sim_topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kubelet/fake_messages.h"

#define RES "rdma/hca"

static SimState *state_with(const char *profile, const char *devices)
{
	g_autoptr(GBytes) bytes = fake_pack_list(devices);
	const char *problem;
	g_autoptr(GPtrArray) list = sim_unpack_list(bytes, TRUE, &problem);
	SimState *state = sim_state_new(sim_profile_find(profile));
	sim_state_update(state, RES, list);
	return state;
}

/* "1+ 3": mask 1 is preferred, mask 3 is not; "none" = no preference. */
static char *hints_text(SimState *state, guint n_nodes, const char *reusable_ids, int count)
{
	g_autoptr(GHashTable) reusable = sim_set_new();
	g_auto(GStrv) ids = g_strsplit(reusable_ids, " ", -1);
	for (gsize i = 0; ids[i] && *ids[i]; i++)
		g_hash_table_add(reusable, g_strdup(ids[i]));
	GArray *hints = sim_topology_hints(state, RES, n_nodes, reusable, count);
	if (!hints)
		return g_strdup("none");
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < hints->len; i++) {
		const struct sim_hint *hint = &g_array_index(hints, struct sim_hint, i);
		g_string_append_printf(text, "%s%" G_GUINT64_FORMAT "%s", i > 0 ? " " : "",
				       hint->mask, hint->preferred ? "+" : "");
	}
	g_array_unref(hints);
	return g_string_free(text, FALSE);
}

static void hints_are_the_sets_of_nodes_that_suffice(void **state)
{
	static const struct {
		const char *profile, *devices, *reusable;
		guint nodes;
		int count;
		const char *hints;
	} cases[] = {
		{"1.36", "a=Healthy b=Healthy", "", 2, 1, "none"},
		{"1.36", "a=Healthy@0 b=Healthy@1", "", 2, 1, "1+ 2+ 3"},
		{"1.36", "a=Healthy@0 b=Healthy@1", "", 2, 2, "3+"},
		{"1.36", "a=Healthy@0 b=Healthy@0", "", 2, 2, "1+ 3"},
		{"1.36", "a=Healthy@0,1", "", 2, 1, "1+ 2+ 3"},
		/* Unhealthy devices count for what could be, not for what is. */
		{"1.36", "a=Healthy@0 b=Unhealthy@0 c=Healthy@1", "", 2, 2, "3"},
		/* Mixed: those without a node belong nowhere. */
		{"1.36", "a=Healthy@0 b=Healthy", "", 2, 2, ""},
		{"1.36", "a=Healthy@0 b=Healthy", "", 2, 1, "1+ 3"},
		/* Unknown nodes: dropped, or nothing suits. */
		{"1.36", "a=Healthy@5", "", 2, 1, "none"},
		{"1.34", "a=Healthy@5", "", 2, 1, ""},
		{"1.34", "a=Healthy@-1", "", 2, 1, ""},
		/* A TopologyInfo without nodes. */
		{"1.25", "a=Healthy@", "", 2, 1, ""},
		{"1.26", "a=Healthy@", "", 2, 1, "none"},
		/* What an init container leaves has to be in. */
		{"1.36", "a=Healthy@0 b=Healthy@1", "b", 2, 1, "2+ 3"},
		{"1.36", "a=Healthy@0", "", 1, 1, "1+"},
		{"1.36", "a=Healthy@0", "", 1, 2, ""},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(SimState) sim = state_with(cases[i].profile, cases[i].devices);
		/* Reusable ones are taken. */
		g_auto(GStrv) ids = g_strsplit(cases[i].reusable, " ", -1);
		for (gsize j = 0; ids[j] && *ids[j]; j++)
			g_hash_table_add(sim_state_find(sim, RES)->taken, g_strdup(ids[j]));
		g_autofree char *hints =
			hints_text(sim, cases[i].nodes, cases[i].reusable, cases[i].count);
		if (strcmp(hints, cases[i].hints) != 0)
			fail_msg("%s for %d: '%s' instead of '%s'", cases[i].devices,
				 cases[i].count, hints, cases[i].hints);
	}
}

static GArray *hints_of(const struct sim_hint *hints, guint n)
{
	GArray *array = g_array_new(FALSE, FALSE, sizeof(struct sim_hint));
	g_array_append_vals(array, hints, n);
	return array;
}

static void policies_judge_the_best_hint(void **state)
{
	static const struct sim_hint aligned[] = {{1, TRUE}, {2, TRUE}, {3, FALSE}};
	static const struct sim_hint spread[] = {{3, TRUE}};
	static const struct sim_hint poor[] = {{3, FALSE}, {7, FALSE}};
	static const struct {
		enum sim_policy policy;
		const struct sim_hint *hints;
		guint n;
		gboolean admitted;
		guint64 mask;
	} cases[] = {
		{SIM_POLICY_NONE, poor, 2, TRUE, 0},
		{SIM_POLICY_BEST_EFFORT, aligned, 3, TRUE, 1},
		{SIM_POLICY_BEST_EFFORT, poor, 2, TRUE, 3},
		{SIM_POLICY_BEST_EFFORT, NULL, 0, TRUE, 0},
		{SIM_POLICY_RESTRICTED, aligned, 3, TRUE, 1},
		{SIM_POLICY_RESTRICTED, spread, 1, TRUE, 3},
		{SIM_POLICY_RESTRICTED, poor, 2, FALSE, 3},
		{SIM_POLICY_RESTRICTED, NULL, 0, FALSE, 0},
		{SIM_POLICY_SINGLE_NUMA_NODE, aligned, 3, TRUE, 1},
		{SIM_POLICY_SINGLE_NUMA_NODE, spread, 1, FALSE, 0},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GArray) hints = hints_of(cases[i].hints, cases[i].n);
		guint64 mask = 99;
		assert_int_equal(sim_topology_admit(cases[i].policy, hints, &mask),
				 cases[i].admitted);
		assert_int_equal(mask, cases[i].mask);
	}
}

static void no_preference_is_admitted_by_all(void **state)
{
	(void)state;
	for (int policy = SIM_POLICY_NONE; policy <= SIM_POLICY_SINGLE_NUMA_NODE; policy++) {
		guint64 mask = 99;
		assert_true(sim_topology_admit((enum sim_policy)policy, NULL, &mask));
		assert_int_equal(mask, 0);
	}
}

static void policies_have_the_kubelets_names(void **state)
{
	enum sim_policy policy = SIM_POLICY_NONE;
	(void)state;
	assert_true(sim_policy_find("single-numa-node", &policy));
	assert_int_equal(policy, SIM_POLICY_SINGLE_NUMA_NODE);
	assert_true(sim_policy_find("best-effort", &policy));
	assert_false(sim_policy_find("strict", &policy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_are_the_sets_of_nodes_that_suffice),
		cmocka_unit_test(policies_judge_the_best_hint),
		cmocka_unit_test(no_preference_is_admitted_by_all),
		cmocka_unit_test(policies_have_the_kubelets_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
