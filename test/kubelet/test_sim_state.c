/* SPDX-License-Identifier: Apache-2.0 */
/* The device manager as arithmetic: names, profiles, counts, choices. */
#include "kubelet/sim_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kubelet/fake_messages.h"
#include "kubelet/sim_names.h"

#define RES "rdma/hca"

/* --- names --- */

static void names_follow_the_rules_of_extended_resources(void **state)
{
	static const struct {
		const char *name;
		gboolean valid;
	} cases[] = {
		{"rdma/hca", TRUE},
		{"rdma/HCA_1.x", TRUE},
		{"huawei.com/rdma_shared", TRUE},
		{"a-b.c/x", TRUE},
		{"hca", FALSE},
		{"rdma/", FALSE},
		{"/x", FALSE},
		{"a/b/c", FALSE},
		{"RDMA/hca", FALSE},
		{"rdma/-x", FALSE},
		{"rdma/x-", FALSE},
		{"under_score/x", FALSE},
		{"foo.kubernetes.io/x", FALSE},
		{"requests.rdma/x", FALSE},
		{"rdma/a b", FALSE},
		{"rdma/x\n", FALSE},
		{"-a/x", FALSE},
		{"a..b/x", FALSE},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		if (sim_name_is_resource(cases[i].name) != cases[i].valid)
			fail_msg("%s", cases[i].name);
	}
}

static void long_names_are_refused_at_the_byte(void **state)
{
	g_autofree char *name63 = g_strnfill(63, 'n'), *name64 = g_strnfill(64, 'n');
	g_autofree char *prefix244 = g_strnfill(244, 'p'), *prefix245 = g_strnfill(245, 'p');
	g_autofree char *good = g_strconcat(prefix244, "/", name63, NULL);
	g_autofree char *long_name = g_strconcat("p/", name64, NULL);
	g_autofree char *long_prefix = g_strconcat(prefix245, "/n", NULL);
	(void)state;
	assert_true(sim_name_is_resource(good));
	assert_false(sim_name_is_resource(long_name));
	assert_false(sim_name_is_resource(long_prefix));
}

static void the_version_is_checked_before_the_name(void **state)
{
	(void)state;
	g_autofree char *version = sim_name_refuse("v9", "hca");
	g_autofree char *name = sim_name_refuse("v1beta1", "hca");
	assert_string_equal(version, "requested API version \"v9\" is not supported by kubelet. "
				     "Supported version is [\"v1beta1\"]");
	assert_string_equal(name, "the ResourceName \"hca\" is invalid");
	assert_null(sim_name_refuse("v1beta1", RES));
}

static void names_of_variables_and_cdi_devices(void **state)
{
	(void)state;
	assert_true(sim_name_is_env("NCCL_IB_HCA"));
	assert_true(sim_name_is_env("a.b-c"));
	assert_false(sim_name_is_env(""));
	assert_false(sim_name_is_env("1A"));
	assert_false(sim_name_is_env("A B"));
	assert_false(sim_name_is_env("A=B"));
	assert_true(sim_name_is_cdi("vendor.com/class=name"));
	assert_true(sim_name_is_cdi("rdma/hca=0000:3b:00.0"));
	assert_false(sim_name_is_cdi("vendor.com/class"));
	assert_false(sim_name_is_cdi("vendor.com=name"));
	assert_false(sim_name_is_cdi("/class=name"));
	assert_false(sim_name_is_cdi("v/c="));
}

static void every_version_has_its_profile(void **state)
{
	(void)state;
	for (int minor = 20; minor <= 37; minor++) {
		g_autofree char *version = g_strdup_printf("1.%d", minor);
		const struct sim_profile *profile = sim_profile_find(version);
		assert_non_null(profile);
		assert_int_equal(profile->register_async, minor <= 24);
		assert_int_equal(profile->deprecation_file, minor <= 24);
		assert_int_equal(profile->wipes_files, minor <= 32);
		assert_int_equal(profile->authority == SIM_AUTHORITY_PATH, minor <= 25);
		assert_int_equal(profile->client_key == SIM_KEY_NAME, minor >= 25 && minor <= 36);
		assert_int_equal(profile->client_key == SIM_KEY_SOCKET, minor >= 37);
		assert_int_equal(profile->checks_health, minor >= 27);
		assert_int_equal(profile->cdi_field, minor >= 28);
		assert_int_equal(profile->panics, minor >= 34);
		assert_int_equal(profile->register_context, minor >= 35);
	}
	assert_non_null(sim_profile_find("36"));
	assert_null(sim_profile_find("1.19"));
	assert_null(sim_profile_find("1.38"));
	assert_null(sim_profile_find("latest"));
	g_autofree char *table = sim_profile_table();
	assert_non_null(strstr(table, "1.35-1.36"));
}

/* --- counts --- */

static GPtrArray *list_of(const char *devices)
{
	g_autoptr(GBytes) bytes = fake_pack_list(devices);
	const char *problem;
	return sim_unpack_list(bytes, TRUE, &problem);
}

static void update(SimState *sim, const char *resource, const char *devices)
{
	g_autoptr(GPtrArray) list = list_of(devices);
	sim_state_update(sim, resource, list);
}

static SimState *state_with(const char *devices)
{
	SimState *sim = sim_state_new(sim_profile_find("1.36"));
	sim_state_connected(sim, RES);
	update(sim, RES, devices);
	return sim;
}

static void health_is_compared_exactly_and_duplicates_count_twice(void **state)
{
	static const struct {
		const char *devices;
		gsize capacity, allocatable;
	} cases[] = {
		{"", 0, 0},
		{"a=Healthy b=Healthy", 2, 2},
		{"a=Healthy b=Unhealthy", 2, 1},
		{"a=healthy b= c=HEALTHY d=Healthy", 4, 1},
		{"a=Healthy a=Healthy", 1, 1},
		{"a=Healthy a=Unhealthy", 2, 1},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(SimState) sim = state_with(cases[i].devices);
		const struct sim_resource *resource = sim_state_find(sim, RES);
		assert_int_equal(sim_resource_capacity(resource), cases[i].capacity);
		assert_int_equal(sim_resource_allocatable(resource), cases[i].allocatable);
	}
}

static void a_list_replaces_everything(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Healthy b=Healthy");
	update(sim, RES, "c=Unhealthy");
	const struct sim_resource *resource = sim_state_find(sim, RES);
	assert_int_equal(sim_resource_capacity(resource), 1);
	assert_int_equal(sim_resource_allocatable(resource), 0);
	assert_false(g_hash_table_contains(resource->devices, "a"));
}

static void a_stopped_plugin_keeps_its_capacity_for_the_grace_period(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Healthy b=Unhealthy");
	sim_state_tick(sim);
	sim_state_stopped(sim, RES, 1000);
	const struct sim_resource *resource = sim_state_find(sim, RES);
	assert_int_equal(sim_resource_capacity(resource), 2);
	assert_int_equal(sim_resource_allocatable(resource), 0);
	g_autoptr(GPtrArray) early = sim_state_expire(sim, 1299, 300);
	assert_int_equal(early->len, 0);
	g_autoptr(GPtrArray) gone = sim_state_expire(sim, 1300, 300);
	assert_int_equal(gone->len, 1);
	assert_string_equal(g_ptr_array_index(gone, 0), RES);
	assert_null(sim_state_find(sim, RES));
	/* The node's status keeps it, at 0 of 0. */
	const struct sim_node_entry *node = g_hash_table_lookup(sim->node, RES);
	assert_int_equal(node->capacity, 2);
	sim_state_tick(sim);
	node = g_hash_table_lookup(sim->node, RES);
	assert_int_equal(node->capacity, 0);
	assert_int_equal(node->allocatable, 0);
}

static void a_plugin_that_comes_back_in_time_is_not_forgotten(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Healthy");
	sim_state_stopped(sim, RES, 1000);
	sim_state_connected(sim, RES);
	g_autoptr(GPtrArray) gone = sim_state_expire(sim, 999999, 300);
	assert_int_equal(gone->len, 0);
}

/* --- choices --- */

static const char *const ids_ab[] = {"a", "b", NULL};
static const char *const ids_a[] = {"a", NULL};

static SimPlan *plan(SimState *sim, const char *pod, const char *container, int count)
{
	return sim_plan_new(sim, RES, pod, container, count, 0);
}

static void refusals_have_the_kubelets_texts(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Unhealthy");
	g_autoptr(SimPlan) unhealthy = plan(sim, "p", "main", 1);
	assert_string_equal(unhealthy->refusal, "no healthy devices present; cannot allocate "
						"unhealthy devices rdma/hca");
	update(sim, RES, "a=Healthy b=Healthy");
	g_autoptr(SimPlan) many = plan(sim, "p", "main", 3);
	assert_string_equal(many->refusal, "requested number of devices unavailable for rdma/hca. "
					   "Requested: 3, Available: 2");
	sim_state_grant(sim, "q", "main", RES, ids_a);
	sim_state_recount(sim);
	g_autoptr(SimPlan) changed = plan(sim, "q", "main", 2);
	assert_string_equal(changed->refusal, "pod \"q\" container \"main\" changed request for "
					      "resource \"rdma/hca\" from 1 to 2");
	update(sim, RES, "a=Unhealthy b=Healthy");
	g_autoptr(SimPlan) lost = plan(sim, "q", "main", 1);
	assert_string_equal(lost->refusal,
			    "previously allocated devices are no longer healthy; cannot allocate "
			    "unhealthy devices rdma/hca");
}

static void older_kubelets_only_count(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = sim_state_new(sim_profile_find("1.26"));
	update(sim, RES, "a=Unhealthy");
	g_autoptr(SimPlan) refused = plan(sim, "p", "main", 1);
	assert_string_equal(refused->refusal,
			    "requested number of devices unavailable for rdma/hca. "
			    "Requested: 1, Available: 0");
}

static void an_unknown_resource_is_skipped_until_its_first_list(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = sim_state_new(sim_profile_find("1.36"));
	g_autoptr(SimPlan) unknown = plan(sim, "p", "main", 1);
	assert_int_equal(unknown->step, SIM_PLAN_UNKNOWN);
	sim_state_connected(sim, RES);
	g_autoptr(SimPlan) connected = plan(sim, "p", "main", 1);
	assert_int_equal(connected->step, SIM_PLAN_UNKNOWN);
	update(sim, RES, "a=Healthy");
	g_autoptr(SimPlan) known = plan(sim, "p", "main", 1);
	assert_int_equal(known->step, SIM_PLAN_CHOOSE);
}

static void a_resource_that_went_away_with_its_ids_held_is_unregistered(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Healthy");
	sim_state_grant(sim, "p", "main", RES, ids_a);
	sim_state_recount(sim);
	sim_state_stopped(sim, RES, 1);
	g_autoptr(GPtrArray) gone = sim_state_expire(sim, 1000, 300);
	assert_int_equal(gone->len, 1);
	g_autoptr(SimPlan) refused = plan(sim, "q", "main", 1);
	assert_string_equal(refused->refusal, "cannot allocate unregistered device rdma/hca");
}

static GStrv choose(SimState *sim, SimPlan *chosen, const char *const *preferred, guint32 seed)
{
	GRand *random = g_rand_new_with_seed(seed);
	g_auto(GStrv) available = NULL, must = NULL;
	(void)sim_plan_asks(chosen, random, &available, &must);
	GStrv ids = sim_plan_choose(chosen, sim_state_find(sim, RES), preferred, random);
	g_rand_free(random);
	return ids;
}

static void ids_come_in_random_order_that_the_seed_repeats(void **state)
{
	g_autofree char *first = NULL;
	gboolean differs = FALSE;
	(void)state;
	for (guint32 seed = 0; seed < 20; seed++) {
		g_autoptr(SimState) sim = state_with("a=Healthy b=Healthy c=Healthy d=Healthy");
		g_autoptr(SimState) again = state_with("a=Healthy b=Healthy c=Healthy d=Healthy");
		g_autoptr(SimPlan) one = plan(sim, "p", "main", 3);
		g_autoptr(SimPlan) two = plan(again, "p", "main", 3);
		g_auto(GStrv) ids = choose(sim, one, NULL, seed);
		g_auto(GStrv) same = choose(again, two, NULL, seed);
		assert_int_equal(g_strv_length(ids), 3);
		assert_true(g_strv_equal((const char *const *)ids, (const char *const *)same));
		g_autofree char *joined = g_strjoinv(" ", ids);
		if (!first)
			first = g_strdup(joined);
		differs |= strcmp(first, joined) != 0;
	}
	assert_true(differs);
}

static void preferred_ids_are_taken_if_they_are_available(void **state)
{
	static const char *const preferred[] = {"zz", "c", "a", NULL};
	(void)state;
	for (guint32 seed = 0; seed < 10; seed++) {
		g_autoptr(SimState) sim = state_with("a=Healthy b=Healthy c=Healthy d=Unhealthy");
		g_autoptr(SimPlan) one = plan(sim, "p", "main", 2);
		g_auto(GStrv) ids = choose(sim, one, preferred, seed);
		assert_true(g_strv_contains((const char *const *)ids, "a"));
		assert_true(g_strv_contains((const char *const *)ids, "c"));
		assert_int_equal(sim_resource_free(sim_state_find(sim, RES)), 1);
	}
}

static void the_plugin_is_asked_even_when_there_is_no_choice(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Healthy b=Healthy");
	g_autoptr(SimPlan) one = plan(sim, "p", "main", 2);
	GRand *random = g_rand_new_with_seed(1);
	g_auto(GStrv) available = NULL, must = NULL;
	assert_true(sim_plan_asks(one, random, &available, &must));
	assert_int_equal(g_strv_length(available), 2);
	assert_int_equal(g_strv_length(must), 0);
	g_rand_free(random);
}

static void with_a_hint_it_is_asked_among_the_aligned(void **state)
{
	(void)state;
	g_autoptr(SimState) sim =
		state_with("a=Healthy@0 b=Healthy@0 c=Healthy@1 d=Healthy@1 e=Healthy@1");
	GRand *random = g_rand_new_with_seed(1);
	g_autoptr(SimPlan) choice = sim_plan_new(sim, RES, "p", "main", 2, 2);
	g_auto(GStrv) available = NULL, must = NULL;
	assert_true(sim_plan_asks(choice, random, &available, &must));
	assert_int_equal(g_strv_length(available), 3);
	/* All aligned ones are needed: no question. */
	g_autoptr(SimPlan) exact = sim_plan_new(sim, RES, "p", "main", 3, 2);
	g_auto(GStrv) none = NULL, none_must = NULL;
	assert_false(sim_plan_asks(exact, random, &none, &none_must));
	/* More than the aligned: those are taken, the question is about the rest. */
	g_autoptr(SimPlan) rest = sim_plan_new(sim, RES, "p", "main", 4, 2);
	g_auto(GStrv) others = NULL, taken = NULL;
	assert_true(sim_plan_asks(rest, random, &others, &taken));
	assert_int_equal(g_strv_length(others), 5);
	assert_int_equal(g_strv_length(taken), 3);
	g_rand_free(random);
}

static void an_init_containers_ids_are_offered_again(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Healthy b=Healthy c=Healthy");
	sim_state_grant(sim, "p", "init-1", RES, ids_ab);
	sim_state_recount(sim);
	g_autoptr(SimPlan) app = plan(sim, "p", "main", 2);
	g_auto(GStrv) ids = choose(sim, app, NULL, 1);
	assert_true(g_strv_contains((const char *const *)ids, "a"));
	assert_true(g_strv_contains((const char *const *)ids, "b"));
	/* The next container finds them used. */
	sim_state_grant(sim, "p", "main", RES, ids_ab);
	g_autoptr(SimPlan) second = plan(sim, "p", "side", 1);
	g_auto(GStrv) other = choose(sim, second, NULL, 1);
	assert_string_equal(other[0], "c");
}

static void ended_pods_give_back_with_the_next_clean_up(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Healthy b=Healthy");
	sim_state_grant(sim, "p", "main", RES, ids_ab);
	sim_state_recount(sim);
	assert_int_equal(sim_resource_free(sim_state_find(sim, RES)), 0);
	assert_true(sim_state_end_pod(sim, "p"));
	assert_false(sim_state_end_pod(sim, "p"));
	assert_int_equal(sim_resource_free(sim_state_find(sim, RES)), 0);
	sim_state_clean_up(sim);
	assert_int_equal(sim_resource_free(sim_state_find(sim, RES)), 2);
}

static void a_clean_up_without_ended_pods_does_not_count_again(void **state)
{
	(void)state;
	g_autoptr(SimState) sim = state_with("a=Healthy");
	g_hash_table_add(sim_state_find(sim, RES)->taken, g_strdup("a"));
	sim_state_clean_up(sim);
	assert_int_equal(sim_resource_free(sim_state_find(sim, RES)), 0);
	sim_state_recount(sim);
	assert_int_equal(sim_resource_free(sim_state_find(sim, RES)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_follow_the_rules_of_extended_resources),
		cmocka_unit_test(long_names_are_refused_at_the_byte),
		cmocka_unit_test(the_version_is_checked_before_the_name),
		cmocka_unit_test(names_of_variables_and_cdi_devices),
		cmocka_unit_test(every_version_has_its_profile),
		cmocka_unit_test(health_is_compared_exactly_and_duplicates_count_twice),
		cmocka_unit_test(a_list_replaces_everything),
		cmocka_unit_test(a_stopped_plugin_keeps_its_capacity_for_the_grace_period),
		cmocka_unit_test(a_plugin_that_comes_back_in_time_is_not_forgotten),
		cmocka_unit_test(refusals_have_the_kubelets_texts),
		cmocka_unit_test(older_kubelets_only_count),
		cmocka_unit_test(an_unknown_resource_is_skipped_until_its_first_list),
		cmocka_unit_test(a_resource_that_went_away_with_its_ids_held_is_unregistered),
		cmocka_unit_test(ids_come_in_random_order_that_the_seed_repeats),
		cmocka_unit_test(preferred_ids_are_taken_if_they_are_available),
		cmocka_unit_test(the_plugin_is_asked_even_when_there_is_no_choice),
		cmocka_unit_test(with_a_hint_it_is_asked_among_the_aligned),
		cmocka_unit_test(an_init_containers_ids_are_offered_again),
		cmocka_unit_test(ended_pods_give_back_with_the_next_clean_up),
		cmocka_unit_test(a_clean_up_without_ended_pods_does_not_count_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
