/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator against a fake plugin: what the kubelet does when all goes well, and
 * that everything it refuses or holds against a plugin really fires. */
#include "kubelet/harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "deviceplugin.pb-c.h"

#define RES "rdma/hca"
#define SOCK "hca.sock"

static Harness *started(const char *profile)
{
	Harness *harness = harness_new(profile);
	harness_start(harness);
	return harness;
}

static gboolean exists(const Harness *harness, const char *name)
{
	g_autofree char *path = g_build_filename(harness->dir, name, NULL);
	return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* --- registration --- */

static void a_plugin_registers_and_is_listed(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy@0 b=Unhealthy@1");
	harness_await_flag(harness, &plugin->registered);
	assert_int_equal(plugin->register_status, RPC_OK);
	assert_true(harness_saw(harness, "{\"event\":\"register\",\"resource\":\"rdma/hca\","
					 "\"endpoint\":\"hca.sock\",\"version\":\"v1beta1\"}"));
	assert_true(harness_saw(harness,
				"{\"event\":\"list\",\"devices\":2,\"healthy\":1,"
				"\"capacity\":2,\"first\":true,\"list\":["
				"{\"id\":\"a\",\"health\":\"Healthy\",\"nodes\":[0]},"
				"{\"id\":\"b\",\"health\":\"Unhealthy\",\"nodes\":[1]}]}"));
	assert_int_equal(plugin->calls[FAKE_OPTIONS], 1);
	assert_int_equal(sim_events_bad_verdicts(harness->events), 0);
	harness_free(harness);
}

static void options_are_asked_for_before_register_is_answered(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_plugin(harness, RES, SOCK);
	plugin->answers[FAKE_OPTIONS].held = TRUE;
	fake_plugin_serve(plugin);
	fake_plugin_register(plugin);
	harness_await_count(harness, &plugin->calls[FAKE_OPTIONS], 1);
	assert_false(plugin->registered);
	fake_plugin_release(plugin);
	harness_await_flag(harness, &plugin->registered);
	assert_int_equal(plugin->register_status, RPC_OK);
	harness_free(harness);
}

static void bad_registrations_are_refused_with_the_kubelets_text(void **state)
{
	static const struct {
		const char *version, *resource, *message;
	} cases[] = {
		{"v1alpha", "hca",
		 "requested API version \"v1alpha\" is not supported by kubelet. "
		 "Supported version is [\"v1beta1\"]"},
		{"v1beta1", "hca", "the ResourceName \"hca\" is invalid"},
		{"v1beta1", "foo.kubernetes.io/x",
		 "the ResourceName \"foo.kubernetes.io/x\" is "
		 "invalid"},
	};
	Harness *harness = started("1.36");
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		FakePlugin *plugin = harness_plugin(harness, cases[i].resource, SOCK);
		plugin->version = cases[i].version;
		fake_plugin_register(plugin);
		harness_await_flag(harness, &plugin->registered);
		assert_int_equal(plugin->register_status, RPC_UNKNOWN);
		assert_string_equal(plugin->register_message, cases[i].message);
		harness_await(harness, "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"refused\"}");
	}
	harness_free(harness);
}

static void a_socket_that_is_not_served_times_out(void **state)
{
	static const char *const endpoints[] = {"nothing.sock", "", "/absolute.sock"};
	Harness *harness = harness_new("1.36");
	(void)state;
	harness->options.dial_ms = 100;
	harness_start(harness);
	for (gsize i = 0; i < G_N_ELEMENTS(endpoints); i++) {
		FakePlugin *plugin = harness_plugin(harness, RES, endpoints[i]);
		fake_plugin_register(plugin);
		harness_await_flag(harness, &plugin->registered);
		assert_int_equal(plugin->register_status, RPC_UNKNOWN);
		assert_string_equal(plugin->register_message, "failed to dial device plugin: "
							      "context deadline exceeded");
	}
	assert_int_equal(sim_n_connections(harness->sim), 0);
	assert_null(sim_state_find(sim_get_state(harness->sim), RES));
	harness_free(harness);
}

static void an_endpoint_may_lead_through_the_parent(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	g_autofree char *base = g_path_get_basename(harness->dir);
	g_autofree char *endpoint = g_strdup_printf("../%s/x.sock", base);
	FakePlugin *plugin = harness_register(harness, RES, endpoint, "a=Healthy");
	harness_await_flag(harness, &plugin->registered);
	assert_int_equal(plugin->register_status, RPC_OK);
	harness_free(harness);
}

static void an_error_from_the_options_refuses_the_plugin(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_plugin(harness, RES, SOCK);
	fake_plugin_answer_error(plugin, FAKE_OPTIONS, RPC_INTERNAL, "no idea");
	fake_plugin_serve(plugin);
	fake_plugin_register(plugin);
	harness_await_flag(harness, &plugin->registered);
	assert_string_equal(plugin->register_message,
			    "failed to get device plugin options: rpc error: code = Internal "
			    "desc = no idea");
	harness_free(harness);
}

static void a_caller_that_leaves_takes_the_registration_with_it_since_1_35(void **state)
{
	static const struct {
		const char *profile;
		gboolean registered;
	} cases[] = {{"1.34", TRUE}, {"1.35", FALSE}};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		Harness *harness = started(cases[i].profile);
		FakePlugin *plugin = harness_plugin(harness, RES, SOCK);
		plugin->answers[FAKE_OPTIONS].held = TRUE;
		fake_plugin_serve(plugin);
		fake_plugin_register(plugin);
		harness_await_count(harness, &plugin->calls[FAKE_OPTIONS], 1);
		fake_plugin_hang_up(plugin);
		if (!cases[i].registered)
			harness_await(harness,
				      "{\"event\":\"refused\",\"message\":\"failed to dial "
				      "device plugin: context canceled\"}");
		fake_plugin_release(plugin);
		if (cases[i].registered)
			harness_await(harness, "{\"event\":\"list\"}");
		assert_int_equal(sim_is_streaming(harness->sim, RES), cases[i].registered);
		harness_free(harness);
	}
}

static void old_kubelets_answer_register_at_once(void **state)
{
	Harness *harness = harness_new("1.24");
	(void)state;
	harness->options.dial_ms = 100;
	harness_start(harness);
	FakePlugin *plugin = harness_plugin(harness, RES, SOCK);
	fake_plugin_register(plugin);
	harness_await_flag(harness, &plugin->registered);
	assert_int_equal(plugin->register_status, RPC_OK);
	harness_await(harness, "{\"event\":\"refused\",\"message\":\"failed to dial device plugin: "
			       "context deadline exceeded\"}");
	assert_true(exists(harness, "DEPRECATION"));
	fake_plugin_serve(plugin);
	fake_plugin_register(plugin);
	harness_await(harness, "{\"event\":\"list\"}");
	assert_int_equal(plugin->calls[FAKE_OPTIONS], 0);
	harness_free(harness);
}

static void options_that_differ_are_held_against_the_plugin(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_plugin(harness, RES, SOCK);
	plugin->request_preferred = TRUE;
	fake_plugin_serve(plugin);
	fake_plugin_register(plugin);
	harness_await(harness, "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"options-differ\"}");
	harness_free(harness);
}

/* --- lists --- */

static void each_list_replaces_the_last(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy b=Healthy");
	fake_plugin_list(plugin, "c=Unhealthy");
	harness_await(harness, "{\"event\":\"list\",\"devices\":1,\"healthy\":0,\"first\":false}");
	fake_plugin_list(plugin, "");
	harness_await(harness, "{\"event\":\"list\",\"devices\":0,\"capacity\":0}");
	harness_free(harness);
}

static void lists_are_judged_as_they_come(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	fake_plugin_list(plugin, "a=Healthy");
	harness_await(harness, "{\"event\":\"verdict\",\"rule\":\"unchanged-list\"}");
	harness_await(harness, "{\"event\":\"list\"}");
	fake_plugin_list(plugin, "a=fine");
	harness_await(harness, "{\"event\":\"verdict\",\"rule\":\"health-text\"}");
	harness_free(harness);
}

static void a_list_over_4_mib_ends_the_stream(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	/* One device: 9 bytes around its id. */
	g_autofree char *id = g_strnfill(4194304, 'x');
	g_autofree char *device = g_strconcat(id, "=Healthy", NULL);
	fake_plugin_list(plugin, device);
	const json_t *ended = harness_await(harness, "{\"event\":\"stream-ended\","
						     "\"code\":\"ResourceExhausted\"}");
	const char *message = json_string_value(json_object_get(ended, "message"));
	assert_true(g_str_has_prefix(message, "grpc: received message larger than max ("));
	assert_true(g_str_has_suffix(message, " vs. 4194304)"));
	assert_true(harness_saw(harness, "{\"event\":\"verdict\",\"rule\":\"list-too-large\"}"));
	harness_free(harness);
}

static void invalid_utf8_ends_the_stream_since_1_34(void **state)
{
	Harness *harness = started("1.34");
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	fake_plugin_list(plugin, "b\xff=Healthy");
	harness_await(harness, "{\"event\":\"verdict\",\"rule\":\"malformed\"}");
	harness_await(harness, "{\"event\":\"stream-ended\",\"by\":\"kubelet\","
			       "\"code\":\"Internal\"}");
	harness_await_count(harness, &plugin->calls[FAKE_LIST], 1);
	assert_int_equal(sim_resource_allocatable(sim_state_find(sim_get_state(harness->sim), RES)),
			 0);
	harness_free(harness);
}

static void the_end_of_a_stream_makes_everything_unhealthy(void **state)
{
	static const enum rpc_status statuses[] = {RPC_OK, RPC_UNAVAILABLE};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(statuses); i++) {
		Harness *harness = started("1.36");
		FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy b=Healthy");
		fake_plugin_end_streams(plugin, statuses[i], "bye");
		harness_await(harness, "{\"event\":\"stream-ended\",\"by\":\"plugin\"}");
		const struct sim_resource *resource =
			sim_state_find(sim_get_state(harness->sim), RES);
		assert_int_equal(sim_resource_capacity(resource), 2);
		assert_int_equal(sim_resource_allocatable(resource), 0);
		assert_int_equal(sim_n_connections(harness->sim), 0);
		harness_free(harness);
	}
}

static void after_the_grace_period_the_resource_is_deleted(void **state)
{
	Harness *harness = harness_new("1.36");
	(void)state;
	harness->options.time_scale = 10000;
	harness_start(harness);
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	harness_end_plugin(harness, plugin);
	harness_await(harness, "{\"event\":\"deleted\",\"resource\":\"rdma/hca\"}");
	assert_null(sim_state_find(sim_get_state(harness->sim), RES));
	harness_free(harness);
}

/* --- the takeover race --- */

static void the_end_of_the_old_instance_takes_the_new_one_down(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *old = harness_register(harness, RES, "old.sock", "a=Healthy");
	FakePlugin *new = harness_register(harness, RES, "new.sock", "a=Healthy");
	harness_end_plugin(harness, old);
	harness_await(harness, "{\"event\":\"stream-ended\",\"endpoint\":\"new.sock\","
			       "\"by\":\"kubelet\"}");
	assert_false(sim_is_streaming(harness->sim, RES));
	/* The new one registers again and all is well. */
	fake_plugin_register(new);
	harness_await(harness, "{\"event\":\"list\",\"healthy\":1}");
	assert_int_equal(sim_events_bad_verdicts(harness->events), 0);
	harness_free(harness);
}

static void other_kubelets_know_whose_stream_ended(void **state)
{
	static const char *const profiles[] = {"1.24", "1.37"};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
		Harness *harness = started(profiles[i]);
		FakePlugin *old = harness_register(harness, RES, "old.sock", "a=Healthy");
		harness_register(harness, RES, "new.sock", "a=Healthy b=Healthy");
		harness_end_plugin(harness, old);
		harness_await(harness, "{\"event\":\"stream-ended\",\"endpoint\":\"old.sock\"}");
		assert_true(sim_is_streaming(harness->sim, RES));
		assert_int_equal(
			sim_resource_allocatable(sim_state_find(sim_get_state(harness->sim), RES)),
			2);
		harness_free(harness);
	}
}

static void a_second_register_of_a_living_plugin_is_held_against_it(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	fake_plugin_register(plugin);
	harness_await(harness, "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"second-register\"}");
	assert_int_equal(sim_n_connections(harness->sim), 2);
	harness_free(harness);
}

static void a_failed_second_register_makes_the_kubelet_forget_the_first(void **state)
{
	Harness *harness = harness_new("1.36");
	(void)state;
	harness->options.dial_ms = 100;
	harness_start(harness);
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	FakePlugin *other = harness_plugin(harness, RES, "missing.sock");
	fake_plugin_register(other);
	harness_await_flag(harness, &other->registered);
	harness_end_plugin(harness, plugin);
	harness_await(harness, "{\"event\":\"forgotten\"}");
	/* Dead, and still allocatable. */
	assert_int_equal(sim_resource_allocatable(sim_state_find(sim_get_state(harness->sim), RES)),
			 1);
	harness_free(harness);
}

/* --- restart --- */

static void leave_file(const Harness *harness, const char *name)
{
	g_autofree char *path = g_build_filename(harness->dir, name, NULL);
	assert_true(g_file_set_contents(path, "x", 1, NULL));
}

static void a_restart_wipes_sockets_and_reads_the_checkpoint(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	leave_file(harness, "state.json");
	harness_allocate(harness, RES, 1, "p");
	harness_await(harness, "{\"event\":\"allocated\"}");
	sim_stop(harness->sim);
	assert_true(exists(harness, "kubelet.sock"));
	assert_true(exists(harness, SOCK));
	harness_start(harness);
	harness_await(harness, "{\"event\":\"wiped\"}");
	assert_false(exists(harness, SOCK));
	assert_true(exists(harness, "state.json"));
	const struct sim_resource *resource = sim_state_find(sim_get_state(harness->sim), RES);
	assert_int_equal(sim_resource_capacity(resource), 0);
	assert_int_not_equal(resource->stopped_us, 0);
	fake_plugin_serve(plugin);
	fake_plugin_register(plugin);
	harness_await(harness, "{\"event\":\"list\",\"first\":true,\"healthy\":1}");
	/* The container still has what it had: no second call. */
	harness_allocate(harness, RES, 1, "p");
	harness_await(harness, "{\"event\":\"held\",\"pod\":\"p\"}");
	assert_int_equal(plugin->calls[FAKE_ALLOCATE], 1);
	/* A pod that has ended is not remembered. */
	assert_true(sim_free_pod(harness->sim, "p"));
	sim_stop(harness->sim);
	harness_start(harness);
	assert_int_equal(sim_get_state(harness->sim)->grants->len, 0);
	harness_free(harness);
}

static void older_kubelets_wipe_files_as_well(void **state)
{
	Harness *harness = started("1.32");
	(void)state;
	leave_file(harness, "state.json");
	sim_stop(harness->sim);
	harness_start(harness);
	harness_await(harness, "{\"event\":\"verdict\",\"ok\":false,\"rule\":\"lost-file\"}");
	assert_false(exists(harness, "state.json"));
	harness_free(harness);
}

static void a_corrupt_checkpoint_is_ignored(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	harness_register(harness, RES, SOCK, "a=Healthy");
	assert_true(exists(harness, "kubelet_internal_checkpoint"));
	sim_stop(harness->sim);
	leave_file(harness, "kubelet_internal_checkpoint");
	harness_start(harness);
	harness_await(harness, "{\"event\":\"checkpoint-ignored\"}");
	assert_null(sim_state_find(sim_get_state(harness->sim), RES));
	harness_free(harness);
}

static void a_stopped_kubelet_refuses_connections(void **state)
{
	Harness *harness = started("1.36");
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, SOCK, "a=Healthy");
	sim_stop(harness->sim);
	fake_plugin_register(plugin);
	harness_await_flag(harness, &plugin->registered);
	assert_int_equal(plugin->register_status, RPC_UNAVAILABLE);
	harness_await_count(harness, &plugin->calls[FAKE_LIST], 1);
	while (plugin->streams->len > 0)
		g_main_context_iteration(NULL, TRUE);
	harness_free(harness);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plugin_registers_and_is_listed),
		cmocka_unit_test(options_are_asked_for_before_register_is_answered),
		cmocka_unit_test(bad_registrations_are_refused_with_the_kubelets_text),
		cmocka_unit_test(a_socket_that_is_not_served_times_out),
		cmocka_unit_test(an_endpoint_may_lead_through_the_parent),
		cmocka_unit_test(an_error_from_the_options_refuses_the_plugin),
		cmocka_unit_test(a_caller_that_leaves_takes_the_registration_with_it_since_1_35),
		cmocka_unit_test(old_kubelets_answer_register_at_once),
		cmocka_unit_test(options_that_differ_are_held_against_the_plugin),
		cmocka_unit_test(each_list_replaces_the_last),
		cmocka_unit_test(lists_are_judged_as_they_come),
		cmocka_unit_test(a_list_over_4_mib_ends_the_stream),
		cmocka_unit_test(invalid_utf8_ends_the_stream_since_1_34),
		cmocka_unit_test(the_end_of_a_stream_makes_everything_unhealthy),
		cmocka_unit_test(after_the_grace_period_the_resource_is_deleted),
		cmocka_unit_test(the_end_of_the_old_instance_takes_the_new_one_down),
		cmocka_unit_test(other_kubelets_know_whose_stream_ended),
		cmocka_unit_test(a_second_register_of_a_living_plugin_is_held_against_it),
		cmocka_unit_test(a_failed_second_register_makes_the_kubelet_forget_the_first),
		cmocka_unit_test(a_restart_wipes_sockets_and_reads_the_checkpoint),
		cmocka_unit_test(older_kubelets_wipe_files_as_well),
		cmocka_unit_test(a_corrupt_checkpoint_is_ignored),
		cmocka_unit_test(a_stopped_kubelet_refuses_connections),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
