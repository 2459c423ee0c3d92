/* SPDX-License-Identifier: Apache-2.0 */
/* Allocate, GetPreferredAllocation and PreStartContainer against a fake plugin. */
#include "kubelet/harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deviceplugin.pb-c.h"

#define RES "rdma/hca"
#define SOCK "hca.sock"

struct setup {
	Harness *harness;
	FakePlugin *plugin;
};

static struct setup set_up(const char *profile, const char *devices)
{
	struct setup setup = {.harness = harness_new(profile)};
	harness_start(setup.harness);
	setup.plugin = harness_register(setup.harness, RES, SOCK, devices);
	return setup;
}

static gsize free_devices(const Harness *harness)
{
	return sim_resource_free(sim_state_find(sim_get_state(harness->sim), RES));
}

static void an_allocation_asks_for_one_container_and_shows_the_answer(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy b=Healthy c=Unhealthy");
	(void)state;
	fake_plugin_answer_allocate(setup.plugin,
				    "dev /dev/x:/dev/y:rw mount /h:/c env A=1 ann k=v "
				    "cdi v/c=n");
	harness_allocate(setup.harness, RES, 2, "p");
	harness_await(setup.harness,
		      "{\"event\":\"allocated\",\"pod\":\"p\",\"container\":\"main\","
		      "\"resource\":\"rdma/hca\",\"devices\":[{\"host\":\"/dev/x\","
		      "\"container\":\"/dev/y\",\"permissions\":\"rw\"}],\"mounts\":[{\"host\":"
		      "\"/h\",\"container\":\"/c\",\"read_only\":false}],\"envs\":{\"A\":\"1\"},"
		      "\"annotations\":{\"k\":\"v\"},\"cdi_devices\":[\"v/c=n\"]}");
	GBytes *request = setup.plugin->last_request[FAKE_ALLOCATE];
	V1beta1__AllocateRequest *message = v1beta1__allocate_request__unpack(
		NULL, g_bytes_get_size(request), g_bytes_get_data(request, NULL));
	assert_int_equal(message->n_container_requests, 1);
	assert_int_equal(message->container_requests[0]->n_devices_ids, 2);
	v1beta1__allocate_request__free_unpacked(message, NULL);
	assert_int_equal(free_devices(setup.harness), 0);
	assert_int_equal(sim_events_bad_verdicts(setup.harness->events), 0);
	harness_free(setup.harness);
}

static void an_error_rejects_the_pod_and_frees_its_ids(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy");
	(void)state;
	fake_plugin_answer_error(setup.plugin, FAKE_ALLOCATE, RPC_NOT_FOUND, "unknown id 'a'");
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await(setup.harness,
		      "{\"event\":\"rejected\",\"reason\":\"UnexpectedAdmissionError\","
		      "\"message\":\"Allocate failed due to rpc error: code = NotFound desc = "
		      "unknown id 'a', which is unexpected\"}");
	assert_int_equal(free_devices(setup.harness), 1);
	harness_free(setup.harness);
}

static void an_answer_without_container_leaks_the_ids_until_a_pod_ends(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy b=Healthy");
	(void)state;
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await(setup.harness, "{\"event\":\"allocated\"}");
	fake_plugin_answer_allocate(setup.plugin, "");
	harness_allocate(setup.harness, RES, 1, "q");
	harness_await(setup.harness, "{\"event\":\"verdict\",\"rule\":\"no-response\"}");
	harness_await(setup.harness,
		      "{\"event\":\"rejected\",\"message\":\"Allocate failed due to no containers "
		      "return in allocation response, which is unexpected\"}");
	assert_int_equal(free_devices(setup.harness), 0);
	assert_true(sim_free_pod(setup.harness->sim, "p"));
	fake_plugin_answer_allocate(setup.plugin, "dev /dev/null:/dev/null:rw");
	harness_allocate(setup.harness, RES, 2, "r");
	harness_await(setup.harness, "{\"event\":\"allocated\",\"pod\":\"r\"}");
	harness_free(setup.harness);
}

static void bad_answers_get_their_verdict(void **state)
{
	static const struct {
		const char *response, *verdict;
	} cases[] = {
		{"dev /dev/null:/dev/null:", "{\"event\":\"verdict\",\"rule\":\"permissions\"}"},
		{"dev null:/dev/null:rw", "{\"event\":\"verdict\",\"rule\":\"device-path\"}"},
		{"env 1=x", "{\"event\":\"verdict\",\"rule\":\"env-name\"}"},
		{"cdi x", "{\"event\":\"verdict\",\"rule\":\"cdi-name\"}"},
		{"env A=\xff", "{\"event\":\"verdict\",\"rule\":\"malformed\"}"},
	};
	struct setup setup = set_up("1.36", "a=Healthy b=Healthy c=Healthy d=Healthy e=Healthy");
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		fake_plugin_answer_allocate(setup.plugin, cases[i].response);
		harness_allocate(setup.harness, RES, 1, NULL);
		harness_await(setup.harness, cases[i].verdict);
		harness_await_count(setup.harness, &setup.plugin->calls[FAKE_ALLOCATE],
				    (guint)i + 1);
	}
	harness_free(setup.harness);
}

static void two_resources_that_disagree_are_a_conflict(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy");
	(void)state;
	FakePlugin *other =
		harness_register(setup.harness, "rdma/other", "other.sock", "z=Healthy");
	fake_plugin_answer_allocate(setup.plugin, "env LIST=a");
	fake_plugin_answer_allocate(other, "env LIST=z");
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await(setup.harness, "{\"event\":\"allocated\"}");
	harness_allocate(setup.harness, "rdma/other", 1, "p");
	harness_await(setup.harness, "{\"event\":\"verdict\",\"rule\":\"conflict\"}");
	harness_free(setup.harness);
}

static void an_id_that_vanishes_meanwhile_kills_kubelets_since_1_34(void **state)
{
	static const struct {
		const char *profile;
		gboolean panics;
	} cases[] = {{"1.33", FALSE}, {"1.34", TRUE}, {"1.36", TRUE}};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct setup setup = set_up(cases[i].profile, "a=Healthy");
		setup.plugin->answers[FAKE_ALLOCATE].held = TRUE;
		harness_allocate(setup.harness, RES, 1, "p");
		harness_await_count(setup.harness, &setup.plugin->calls[FAKE_ALLOCATE], 1);
		fake_plugin_list(setup.plugin, "b=Healthy");
		harness_await(setup.harness, "{\"event\":\"list\"}");
		fake_plugin_release(setup.plugin);
		harness_await(setup.harness, "{\"event\":\"allocated\"}");
		assert_int_equal(harness_saw(setup.harness, "{\"rule\":\"panic\",\"ok\":false}"),
				 cases[i].panics);
		harness_free(setup.harness);
	}
}

static void an_id_that_turns_unhealthy_meanwhile_kills_nobody(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy");
	(void)state;
	setup.plugin->answers[FAKE_ALLOCATE].held = TRUE;
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await_count(setup.harness, &setup.plugin->calls[FAKE_ALLOCATE], 1);
	fake_plugin_list(setup.plugin, "a=Unhealthy");
	harness_await(setup.harness, "{\"event\":\"list\"}");
	fake_plugin_release(setup.plugin);
	harness_await(setup.harness, "{\"event\":\"allocated\"}");
	assert_int_equal(sim_events_bad_verdicts(setup.harness->events), 0);
	harness_free(setup.harness);
}

static void a_plugin_that_dies_meanwhile_fails_the_call(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy");
	(void)state;
	setup.plugin->answers[FAKE_ALLOCATE].held = TRUE;
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await_count(setup.harness, &setup.plugin->calls[FAKE_ALLOCATE], 1);
	harness_end_plugin(setup.harness, setup.plugin);
	harness_await(setup.harness, "{\"event\":\"rejected\",\"pod\":\"p\"}");
	harness_free(setup.harness);
}

static void a_connection_that_closes_under_a_call_fails_it(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy");
	(void)state;
	setup.plugin->answers[FAKE_ALLOCATE].held = TRUE;
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await_count(setup.harness, &setup.plugin->calls[FAKE_ALLOCATE], 1);
	assert_true(sim_disconnect(setup.harness->sim, RES));
	assert_false(sim_disconnect(setup.harness->sim, RES));
	harness_await(
		setup.harness,
		"{\"event\":\"rejected\",\"message\":\"Allocate failed due to rpc error: code "
		"= Canceled desc = grpc: the client connection is closing, which is "
		"unexpected\"}");
	harness_free(setup.harness);
}

static void a_restart_in_the_middle_aborts_the_admission(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy");
	(void)state;
	setup.plugin->answers[FAKE_ALLOCATE].held = TRUE;
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await_count(setup.harness, &setup.plugin->calls[FAKE_ALLOCATE], 1);
	sim_stop(setup.harness->sim);
	harness_start(setup.harness);
	harness_await(setup.harness, "{\"event\":\"aborted\",\"pod\":\"p\"}");
	assert_int_equal(sim_get_state(setup.harness->sim)->grants->len, 0);
	harness_free(setup.harness);
}

static void nothing_is_allocated_twice_at_a_time(void **state)
{
	struct sim_claim claim = {.resource = RES, .count = 1, .numa = -1};
	struct setup setup = set_up("1.36", "a=Healthy b=Healthy");
	(void)state;
	setup.plugin->answers[FAKE_ALLOCATE].held = TRUE;
	harness_allocate(setup.harness, RES, 1, "p");
	assert_false(sim_allocate(setup.harness->sim, &claim, NULL, NULL));
	harness_await_count(setup.harness, &setup.plugin->calls[FAKE_ALLOCATE], 1);
	fake_plugin_release(setup.plugin);
	harness_await(setup.harness, "{\"event\":\"allocated\"}");
	harness_free(setup.harness);
}

static void an_unknown_resource_starts_the_pod_without_it(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy");
	(void)state;
	harness_allocate(setup.harness, "rdma/nobody", 1, "p");
	harness_await(setup.harness, "{\"event\":\"skipped\",\"pod\":\"p\"}");
	harness_free(setup.harness);
}

/* --- GetPreferredAllocation --- */

static struct setup set_up_preferring(const char *devices)
{
	struct setup setup = {.harness = harness_new("1.36")};
	harness_start(setup.harness);
	setup.plugin = harness_plugin(setup.harness, RES, SOCK);
	fake_plugin_answer_options(setup.plugin, TRUE, FALSE);
	fake_plugin_list(setup.plugin, devices);
	fake_plugin_serve(setup.plugin);
	fake_plugin_register(setup.plugin);
	harness_await(setup.harness, "{\"event\":\"list\"}");
	return setup;
}

static void preferred_ids_are_used(void **state)
{
	struct setup setup = set_up_preferring("a=Healthy b=Healthy c=Healthy");
	(void)state;
	fake_plugin_answer_preferred(setup.plugin, "c");
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await(setup.harness, "{\"event\":\"preferred\",\"ids\":[\"c\"]}");
	harness_await(setup.harness, "{\"event\":\"allocated\",\"ids\":[\"c\"]}");
	assert_int_equal(sim_events_bad_verdicts(setup.harness->events), 0);
	harness_free(setup.harness);
}

static void it_is_not_called_if_it_is_not_offered(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy b=Healthy");
	(void)state;
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await(setup.harness, "{\"event\":\"allocated\"}");
	assert_int_equal(setup.plugin->calls[FAKE_PREFERRED], 0);
	harness_free(setup.harness);
}

static void odd_preferences_are_coped_with_and_said(void **state)
{
	static const struct {
		const char *ids, *verdict;
	} cases[] = {
		{"z", "{\"event\":\"verdict\",\"rule\":\"preferred-foreign\"}"},
		{"a b", "{\"event\":\"verdict\",\"rule\":\"preferred-count\"}"},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct setup setup = set_up_preferring("a=Healthy b=Healthy");
		fake_plugin_answer_preferred(setup.plugin, cases[i].ids);
		harness_allocate(setup.harness, RES, 1, "p");
		harness_await(setup.harness, cases[i].verdict);
		harness_await(setup.harness, "{\"event\":\"allocated\"}");
		harness_free(setup.harness);
	}
}

static void an_empty_preference_leaves_the_choice_to_the_kubelet(void **state)
{
	struct setup setup = set_up_preferring("a=Healthy b=Healthy");
	(void)state;
	fake_plugin_answer_preferred(setup.plugin, NULL);
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await(setup.harness, "{\"event\":\"allocated\"}");
	assert_int_equal(sim_events_bad_verdicts(setup.harness->events), 0);
	harness_free(setup.harness);
}

static void a_failing_preference_rejects_the_pod(void **state)
{
	struct setup setup = set_up_preferring("a=Healthy");
	(void)state;
	fake_plugin_answer_error(setup.plugin, FAKE_PREFERRED, RPC_UNIMPLEMENTED, "no");
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await(setup.harness, "{\"event\":\"verdict\",\"rule\":\"preferred-failed\"}");
	harness_await(setup.harness,
		      "{\"event\":\"rejected\",\"message\":\"Allocate failed due to device plugin "
		      "GetPreferredAllocation rpc failed with err: rpc error: code = Unimplemented "
		      "desc = no, which is unexpected\"}");
	assert_int_equal(setup.plugin->calls[FAKE_ALLOCATE], 0);
	harness_free(setup.harness);
}

/* --- PreStartContainer --- */

static void a_container_starts_with_the_call_the_plugin_asked_for(void **state)
{
	Harness *harness = harness_new("1.36");
	(void)state;
	harness_start(harness);
	FakePlugin *plugin = harness_plugin(harness, RES, SOCK);
	fake_plugin_answer_options(plugin, FALSE, TRUE);
	fake_plugin_list(plugin, "a=Healthy");
	fake_plugin_serve(plugin);
	fake_plugin_register(plugin);
	harness_await(harness, "{\"event\":\"list\"}");
	harness_allocate(harness, RES, 1, "p");
	harness_await(harness, "{\"event\":\"allocated\"}");
	assert_true(sim_start_container(harness->sim, "p", NULL, NULL, NULL));
	harness_await(harness, "{\"event\":\"container-started\"}");
	assert_int_equal(plugin->calls[FAKE_PRE_START], 1);
	fake_plugin_answer_error(plugin, FAKE_PRE_START, RPC_INTERNAL, "not now");
	assert_true(sim_start_container(harness->sim, "p", "main", NULL, NULL));
	harness_await(harness,
		      "{\"event\":\"rejected\",\"reason\":\"CreateContainerConfigError\"}");
	assert_false(sim_start_container(harness->sim, "q", NULL, NULL, NULL));
	harness_free(harness);
}

static void without_pre_start_a_container_just_starts(void **state)
{
	struct setup setup = set_up("1.36", "a=Healthy");
	(void)state;
	harness_allocate(setup.harness, RES, 1, "p");
	harness_await(setup.harness, "{\"event\":\"allocated\"}");
	assert_true(sim_start_container(setup.harness->sim, "p", NULL, NULL, NULL));
	harness_await(setup.harness, "{\"event\":\"container-started\"}");
	assert_int_equal(setup.plugin->calls[FAKE_PRE_START], 0);
	harness_free(setup.harness);
}

/* --- topology --- */

static void strict_policies_reject_what_cannot_be_aligned(void **state)
{
	static const struct {
		const char *profile, *devices;
		enum sim_policy policy;
		int count;
		gboolean admitted;
	} cases[] = {
		{"1.36", "a=Healthy@0 b=Healthy@1", SIM_POLICY_SINGLE_NUMA_NODE, 1, TRUE},
		{"1.36", "a=Healthy@0 b=Healthy@1", SIM_POLICY_SINGLE_NUMA_NODE, 2, FALSE},
		{"1.36", "a=Healthy@0 b=Healthy@1", SIM_POLICY_RESTRICTED, 2, TRUE},
		{"1.36", "a=Healthy b=Healthy", SIM_POLICY_SINGLE_NUMA_NODE, 2, TRUE},
		{"1.36", "a=Healthy@-1", SIM_POLICY_BEST_EFFORT, 1, TRUE},
		{"1.34", "a=Healthy@-1", SIM_POLICY_RESTRICTED, 1, FALSE},
		{"1.25", "a=Healthy@", SIM_POLICY_RESTRICTED, 1, FALSE},
		{"1.26", "a=Healthy@", SIM_POLICY_RESTRICTED, 1, TRUE},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		Harness *harness = harness_new(cases[i].profile);
		harness->options.policy = cases[i].policy;
		harness_start(harness);
		harness_register(harness, RES, SOCK, cases[i].devices);
		harness_allocate(harness, RES, cases[i].count, "p");
		harness_await(harness, "{\"event\":\"hints\"}");
		harness_await(harness,
			      cases[i].admitted
				      ? "{\"event\":\"allocated\"}"
				      : "{\"event\":\"rejected\",\"reason\":"
					"\"TopologyAffinityError\",\"message\":\"Resources cannot "
					"be allocated with Topology locality\"}");
		harness_free(harness);
	}
}

static void a_call_that_hangs_is_said(void **state)
{
	Harness *harness = harness_new("1.36");
	(void)state;
	harness->options.hang_ms = 50;
	harness_start(harness);
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	plugin->answers[FAKE_ALLOCATE].held = TRUE;
	harness_allocate(harness, RES, 1, "p");
	harness_await(harness, "{\"event\":\"verdict\",\"rule\":\"hang\"}");
	/* The kubelet goes on waiting. */
	fake_plugin_release(plugin);
	harness_await(harness, "{\"event\":\"allocated\"}");
	harness_free(harness);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_allocation_asks_for_one_container_and_shows_the_answer),
		cmocka_unit_test(an_error_rejects_the_pod_and_frees_its_ids),
		cmocka_unit_test(an_answer_without_container_leaks_the_ids_until_a_pod_ends),
		cmocka_unit_test(bad_answers_get_their_verdict),
		cmocka_unit_test(two_resources_that_disagree_are_a_conflict),
		cmocka_unit_test(an_id_that_vanishes_meanwhile_kills_kubelets_since_1_34),
		cmocka_unit_test(an_id_that_turns_unhealthy_meanwhile_kills_nobody),
		cmocka_unit_test(a_plugin_that_dies_meanwhile_fails_the_call),
		cmocka_unit_test(a_connection_that_closes_under_a_call_fails_it),
		cmocka_unit_test(a_restart_in_the_middle_aborts_the_admission),
		cmocka_unit_test(nothing_is_allocated_twice_at_a_time),
		cmocka_unit_test(an_unknown_resource_starts_the_pod_without_it),
		cmocka_unit_test(preferred_ids_are_used),
		cmocka_unit_test(it_is_not_called_if_it_is_not_offered),
		cmocka_unit_test(odd_preferences_are_coped_with_and_said),
		cmocka_unit_test(an_empty_preference_leaves_the_choice_to_the_kubelet),
		cmocka_unit_test(a_failing_preference_rejects_the_pod),
		cmocka_unit_test(a_container_starts_with_the_call_the_plugin_asked_for),
		cmocka_unit_test(without_pre_start_a_container_just_starts),
		cmocka_unit_test(strict_policies_reject_what_cannot_be_aligned),
		cmocka_unit_test(a_call_that_hangs_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
