/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin watcher, the podresources service, and what is seen on the wire. */
#include "kubelet/harness.h"

#include <glib-unix.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "podresources.pb-c.h"

#define RES "rdma/hca"

/* --- watcher --- */

struct watched {
	Harness *harness;
	char *registry;
	FakePlugin *plugin;
};

static struct watched watch(const char *profile)
{
	struct watched watched = {.harness = harness_new(profile)};
	watched.registry = g_build_filename(watched.harness->dir, "registry", NULL);
	watched.harness->options.registry_dir = watched.registry;
	watched.harness->options.time_scale = 100;
	harness_start(watched.harness);
	watched.plugin = fake_plugin_new(watched.harness->rpc, watched.registry, RES, "hca.sock");
	g_ptr_array_add(watched.harness->plugins, watched.plugin);
	fake_plugin_list(watched.plugin, "a=Healthy");
	return watched;
}

static void watch_end(struct watched *watched)
{
	harness_free(watched->harness);
	g_free(watched->registry);
}

static void a_socket_that_appears_is_registered_and_told(void **state)
{
	struct watched watched = watch("1.36");
	(void)state;
	fake_plugin_serve(watched.plugin);
	harness_await(watched.harness, "{\"event\":\"watched\",\"resource\":\"rdma/hca\"}");
	harness_await(watched.harness, "{\"event\":\"list\",\"healthy\":1}");
	harness_await_count(watched.harness, &watched.plugin->calls[FAKE_NOTIFY], 1);
	assert_null(fake_plugin_notified(watched.plugin));
	assert_int_equal(sim_events_bad_verdicts(watched.harness->events), 0);
	watch_end(&watched);
}

static void a_socket_that_is_there_at_the_start_is_not_wiped(void **state)
{
	struct watched watched = watch("1.36");
	(void)state;
	fake_plugin_serve(watched.plugin);
	harness_await(watched.harness, "{\"event\":\"list\"}");
	sim_stop(watched.harness->sim);
	harness_start(watched.harness);
	harness_await(watched.harness, "{\"event\":\"list\",\"first\":true}");
	watch_end(&watched);
}

static void what_is_wrong_is_told_and_tried_again(void **state)
{
	static const struct {
		const char *type, *version, *resource, *text;
	} cases[] = {
		{"CSIPlugin", "v1beta1", RES, "no handler registered for plugin type: CSIPlugin"},
		{"DevicePlugin", "v1alpha", RES, "is not among plugin supported versions"},
		{"DevicePlugin", "v1beta1", "hca", "the ResourceName \"hca\" is invalid"},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct watched watched = watch("1.36");
		g_free(watched.plugin->resource);
		watched.plugin->resource = g_strdup(cases[i].resource);
		fake_plugin_answer_info(watched.plugin, cases[i].type, cases[i].version);
		fake_plugin_serve(watched.plugin);
		harness_await_count(watched.harness, &watched.plugin->calls[FAKE_NOTIFY], 2);
		g_autofree char *error = fake_plugin_notified(watched.plugin);
		assert_non_null(strstr(error, "RegisterPlugin error -- "));
		assert_non_null(strstr(error, cases[i].text));
		watch_end(&watched);
	}
}

static void a_slow_answer_is_given_up_and_asked_for_again(void **state)
{
	struct watched watched = watch("1.36");
	(void)state;
	fake_plugin_answer_error(watched.plugin, FAKE_INFO, RPC_UNAVAILABLE, "not yet");
	fake_plugin_serve(watched.plugin);
	harness_await(watched.harness, "{\"event\":\"refused\"}");
	fake_plugin_answer_info(watched.plugin, "DevicePlugin", "v1beta1");
	harness_await(watched.harness, "{\"event\":\"list\"}");
	watch_end(&watched);
}

static void a_plugin_that_fails_notify_gets_a_verdict(void **state)
{
	struct watched watched = watch("1.36");
	(void)state;
	fake_plugin_answer_error(watched.plugin, FAKE_NOTIFY, RPC_UNIMPLEMENTED, "no");
	fake_plugin_serve(watched.plugin);
	harness_await(watched.harness, "{\"event\":\"verdict\",\"rule\":\"notify-failed\"}");
	watch_end(&watched);
}

static void a_lost_stream_needs_a_new_socket(void **state)
{
	static const char *const profiles[] = {"1.36", "1.37"};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
		struct watched watched = watch(profiles[i]);
		fake_plugin_serve(watched.plugin);
		harness_await(watched.harness, "{\"event\":\"list\"}");
		fake_plugin_end_streams(watched.plugin, RPC_UNAVAILABLE, "bye");
		harness_await(watched.harness, "{\"event\":\"stream-ended\"}");
		assert_int_equal(watched.plugin->calls[FAKE_INFO], 1);
		fake_plugin_serve(watched.plugin);
		harness_await(watched.harness, "{\"event\":\"list\"}");
		assert_int_equal(watched.plugin->calls[FAKE_INFO], 2);
		watch_end(&watched);
	}
}

static void a_socket_that_vanishes_is_deregistered(void **state)
{
	struct watched watched = watch("1.36");
	(void)state;
	fake_plugin_serve(watched.plugin);
	harness_await(watched.harness, "{\"event\":\"list\"}");
	g_autofree char *path = g_build_filename(watched.registry, "hca.sock", NULL);
	assert_int_equal(unlink(path), 0);
	harness_await(watched.harness, "{\"event\":\"stream-ended\",\"by\":\"kubelet\"}");
	assert_false(sim_is_streaming(watched.harness->sim, RES));
	watch_end(&watched);
}

static void a_socket_that_vanishes_during_the_attempt_leaves_nothing(void **state)
{
	struct watched watched = watch("1.36");
	(void)state;
	watched.plugin->answers[FAKE_OPTIONS].held = TRUE;
	fake_plugin_serve(watched.plugin);
	harness_await_count(watched.harness, &watched.plugin->calls[FAKE_OPTIONS], 1);
	g_autofree char *path = g_build_filename(watched.registry, "hca.sock", NULL);
	assert_int_equal(unlink(path), 0);
	harness_await(watched.harness,
		      "{\"event\":\"refused\",\"message\":\"the socket is gone\"}");
	assert_int_equal(sim_n_connections(watched.harness->sim), 0);
	watch_end(&watched);
}

/* --- the :authority --- */

struct recorder {
	GByteArray *bytes;
	guint source;
	int fd;
	const char *wanted;
	gboolean found;
};

static gboolean on_bytes(gint fd, GIOCondition condition, gpointer data)
{
	struct recorder *recorder = data;
	guint8 buffer[4096];
	(void)condition;
	gssize n = read(fd, buffer, sizeof(buffer));
	if (n > 0)
		g_byte_array_append(recorder->bytes, buffer, (guint)n);
	recorder->found |= recorder->bytes->len > 0 &&
			   memmem(recorder->bytes->data, recorder->bytes->len, recorder->wanted,
				  strlen(recorder->wanted)) != NULL;
	return G_SOURCE_CONTINUE;
}

/* Says as much as a client waits for: an empty SETTINGS. */
static void on_connection(int fd, gpointer data)
{
	static const guint8 settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
	struct recorder *recorder = data;
	assert_int_equal(write(fd, settings, sizeof(settings)), sizeof(settings));
	recorder->fd = fd;
	recorder->source = g_unix_fd_add(fd, G_IO_IN, on_bytes, recorder);
}

static void the_authority_is_that_of_the_version(void **state)
{
	static const char *const profiles[] = {"1.25", "1.26", "1.36"};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
		Harness *harness = harness_new(profiles[i]);
		g_autofree char *path = g_build_filename(harness->dir, "raw.sock", NULL);
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		struct recorder recorder = {.bytes = bytes, .wanted = i == 0 ? path : "localhost"};
		harness_start(harness);
		SimListener *listener = sim_listener_new(path, on_connection, &recorder, NULL);
		FakePlugin *plugin = harness_plugin(harness, RES, "raw.sock");
		fake_plugin_register(plugin);
		harness_await_flag(harness, &recorder.found);
		g_source_remove(recorder.source);
		close(recorder.fd);
		sim_listener_free(listener, TRUE);
		harness_free(harness);
	}
}

/* --- podresources --- */

struct answer {
	gboolean done;
	enum rpc_status status;
	char *message;
	GBytes *reply;
};

static void on_answer(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct answer *answer = data;
	answer->done = TRUE;
	answer->status = status;
	answer->message = g_strdup(message);
	answer->reply = reply ? g_bytes_ref(reply) : NULL;
}

static void clear_answer(struct answer *answer)
{
	g_free(answer->message);
	g_clear_pointer(&answer->reply, g_bytes_unref);
	*answer = (struct answer){0};
}

static void ask(Harness *harness, const char *method, GBytes *request, struct answer *answer)
{
	g_autofree char *path = g_strconcat("/v1.PodResourcesLister/", method, NULL);
	struct rpc_target target = {.path = harness->options.pod_resources, .method = path};
	rpc_request(harness->rpc, &target, request, on_answer, answer);
	harness_await_flag(harness, &answer->done);
}

static void list_pods(Harness *harness, struct answer *answer)
{
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);
	ask(harness, "List", empty, answer);
}

static Harness *with_pod_resources(const char *profile, char **ret_path)
{
	Harness *harness = harness_new(profile);
	*ret_path = g_build_filename(harness->dir, "pod-resources", "kubelet.sock", NULL);
	harness->options.pod_resources = *ret_path;
	/* Nothing is refilled while the test runs. */
	harness->options.time_scale = 1e-4;
	harness_start(harness);
	return harness;
}

static void holders_are_listed_one_entry_a_device(void **state)
{
	g_autofree char *path = NULL;
	Harness *harness = with_pod_resources("1.36", &path);
	struct answer answer = {0};
	(void)state;
	harness_register(harness, RES, "hca.sock", "a=Healthy b=Healthy c=Healthy");
	harness_allocate(harness, RES, 2, "p");
	harness_await(harness, "{\"event\":\"allocated\"}");
	harness_allocate(harness, RES, 1, "q");
	harness_await(harness, "{\"event\":\"allocated\"}");
	list_pods(harness, &answer);
	assert_int_equal(answer.status, RPC_OK);
	V1__ListPodResourcesResponse *list = v1__list_pod_resources_response__unpack(
		NULL, g_bytes_get_size(answer.reply), g_bytes_get_data(answer.reply, NULL));
	assert_int_equal(list->n_pod_resources, 2);
	assert_string_equal(list->pod_resources[0]->name, "p");
	assert_string_equal(list->pod_resources[0]->namespace_, "default");
	const V1__ContainerResources *container = list->pod_resources[0]->containers[0];
	assert_string_equal(container->name, "main");
	assert_int_equal(container->n_devices, 2);
	assert_string_equal(container->devices[0]->resource_name, RES);
	assert_int_equal(container->devices[0]->n_device_ids, 1);
	v1__list_pod_resources_response__free_unpacked(list, NULL);
	clear_answer(&answer);
	harness_free(harness);
}

/* Devices of both nodes, of one, and of none; the last one is not healthy. */
static void what_can_be_allocated_is_listed_with_its_nodes(void **state)
{
	g_autofree char *path = NULL;
	Harness *harness = with_pod_resources("1.36", &path);
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);
	struct answer answer = {0};
	(void)state;
	harness_register(harness, RES, "hca.sock", "a=Healthy@0,1 b=Healthy@1 c=Healthy d=Bad");
	ask(harness, "GetAllocatableResources", empty, &answer);
	assert_int_equal(answer.status, RPC_OK);
	V1__AllocatableResourcesResponse *list = v1__allocatable_resources_response__unpack(
		NULL, g_bytes_get_size(answer.reply), g_bytes_get_data(answer.reply, NULL));
	assert_int_equal(list->n_devices, 3);
	assert_string_equal(list->devices[0]->device_ids[0], "a");
	assert_int_equal(list->devices[0]->topology->n_nodes, 2);
	assert_int_equal(list->devices[1]->topology->nodes[0]->id, 1);
	assert_null(list->devices[2]->topology);
	v1__allocatable_resources_response__free_unpacked(list, NULL);
	clear_answer(&answer);
	harness_free(harness);
}

/* Pod "p" in the namespace "default". */
static const guint8 get_p[] = "\n\1p\22\7default";
static const guint8 get_other[] = "\n\1x\22\7default";

static void one_pod_is_shown_by_kubelets_since_1_34(void **state)
{
	static const struct {
		const char *profile;
		const guint8 *request;
		enum rpc_status status;
		const char *text;
	} cases[] = {
		{"1.34", get_p, RPC_OK, ""},
		{"1.34", get_other, RPC_UNKNOWN, "pod x in namespace default not found"},
		{"1.33", get_p, RPC_UNKNOWN, "PodResources API Get method disabled"},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = NULL;
		Harness *harness = with_pod_resources(cases[i].profile, &path);
		g_autoptr(GBytes) request = g_bytes_new_static(cases[i].request, sizeof(get_p) - 1);
		struct answer answer = {0};
		harness_register(harness, RES, "hca.sock", "a=Healthy@1");
		harness_allocate(harness, RES, 1, "p");
		harness_await(harness, "{\"event\":\"allocated\"}");
		ask(harness, "Get", request, &answer);
		assert_int_equal(answer.status, cases[i].status);
		assert_string_equal(answer.message, cases[i].text);
		if (answer.reply)
			assert_true(g_bytes_get_size(answer.reply) > strlen(RES));
		clear_answer(&answer);
		harness_free(harness);
	}
}

static void ended_pods_are_listed_by_old_kubelets_only(void **state)
{
	static const struct {
		const char *profile;
		gsize pods;
	} cases[] = {{"1.33", 1}, {"1.34", 0}};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = NULL;
		Harness *harness = with_pod_resources(cases[i].profile, &path);
		struct answer answer = {0};
		harness_register(harness, RES, "hca.sock", "a=Healthy");
		harness_allocate(harness, RES, 1, "p");
		harness_await(harness, "{\"event\":\"allocated\"}");
		assert_true(sim_free_pod(harness->sim, "p"));
		list_pods(harness, &answer);
		V1__ListPodResourcesResponse *list = v1__list_pod_resources_response__unpack(
			NULL, g_bytes_get_size(answer.reply), g_bytes_get_data(answer.reply, NULL));
		assert_int_equal(list->n_pod_resources, cases[i].pods);
		v1__list_pod_resources_response__free_unpacked(list, NULL);
		clear_answer(&answer);
		harness_free(harness);
	}
}

static void too_many_questions_are_rejected(void **state)
{
	g_autofree char *path = NULL;
	Harness *harness = with_pod_resources("1.36", &path);
	struct answer answers[50] = {0};
	guint accepted = 0;
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);
	struct rpc_target target = {.path = path, .method = "/v1.PodResourcesLister/List"};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
		rpc_request(harness->rpc, &target, empty, on_answer, &answers[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
		harness_await_flag(harness, &answers[i].done);
		accepted += answers[i].status == RPC_OK;
		if (answers[i].status != RPC_OK)
			assert_string_equal(answers[i].message, "rejected by rate limit");
		clear_answer(&answers[i]);
	}
	assert_int_equal(accepted, 10);
	harness_free(harness);
}

/* Asking while an Allocate is under way: what it takes no longer counts as taken, and
 * the next pod may get the same id. */
static void asking_during_an_allocation_can_give_an_id_to_two_pods(void **state)
{
	g_autofree char *path = NULL;
	Harness *harness = with_pod_resources("1.36", &path);
	struct answer answer = {0};
	(void)state;
	FakePlugin *plugin = harness_register(harness, RES, "hca.sock", "a=Healthy");
	harness_allocate(harness, RES, 1, "old");
	harness_await(harness, "{\"event\":\"allocated\"}");
	assert_true(sim_free_pod(harness->sim, "old"));
	plugin->answers[FAKE_ALLOCATE].held = TRUE;
	harness_allocate(harness, RES, 1, "p");
	harness_await_count(harness, &plugin->calls[FAKE_ALLOCATE], 2);
	assert_int_equal(sim_resource_free(sim_state_find(sim_get_state(harness->sim), RES)), 0);
	sim_state_grant(sim_get_state(harness->sim), "gone", "main", RES,
			(const char *const[]){"z", NULL});
	assert_true(sim_free_pod(harness->sim, "gone"));
	list_pods(harness, &answer);
	clear_answer(&answer);
	assert_int_equal(sim_resource_free(sim_state_find(sim_get_state(harness->sim), RES)), 1);
	fake_plugin_release(plugin);
	harness_await(harness, "{\"event\":\"allocated\",\"pod\":\"p\",\"ids\":[\"a\"]}");
	harness_allocate(harness, RES, 1, "q");
	harness_await(harness, "{\"event\":\"allocated\",\"pod\":\"q\",\"ids\":[\"a\"]}");
	harness_free(harness);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_that_appears_is_registered_and_told),
		cmocka_unit_test(a_socket_that_is_there_at_the_start_is_not_wiped),
		cmocka_unit_test(what_is_wrong_is_told_and_tried_again),
		cmocka_unit_test(a_slow_answer_is_given_up_and_asked_for_again),
		cmocka_unit_test(a_plugin_that_fails_notify_gets_a_verdict),
		cmocka_unit_test(a_lost_stream_needs_a_new_socket),
		cmocka_unit_test(a_socket_that_vanishes_is_deregistered),
		cmocka_unit_test(a_socket_that_vanishes_during_the_attempt_leaves_nothing),
		cmocka_unit_test(the_authority_is_that_of_the_version),
		cmocka_unit_test(holders_are_listed_one_entry_a_device),
		cmocka_unit_test(what_can_be_allocated_is_listed_with_its_nodes),
		cmocka_unit_test(one_pod_is_shown_by_kubelets_since_1_34),
		cmocka_unit_test(ended_pods_are_listed_by_old_kubelets_only),
		cmocka_unit_test(too_many_questions_are_rejected),
		cmocka_unit_test(asking_during_an_allocation_can_give_an_id_to_two_pods),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
