/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/pod_resources.h"

#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "holds.h"
#include "kubelet/listener.h"
#include "podresources.pb-c.h"

#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		while (!(condition))                                                               \
			g_main_context_iteration(NULL, TRUE);                                      \
	} while (0)

struct fixture {
	Rpc *rpc;
	char *dir, *path;
	Listener *listener;
	RpcServer *server;
	PodResources *client;
	guint lists; /* calls of List */
	gboolean is_down;
	GBytes *reply; /* NULL: List fails */
	RpcCall *held;
	gboolean holds; /* List is not answered, but held */
};

struct answer {
	Holdings *holdings;
	char *error;
	int code;
	guint times;
};

static void on_list(RpcCall *call, GBytes *request, gpointer data)
{
	struct fixture *fixture = data;

	assert_int_equal(g_bytes_get_size(request), 0);
	fixture->lists++;
	if (fixture->holds)
		fixture->held = call;
	else if (fixture->reply)
		rpc_reply(call, fixture->reply);
	else
		rpc_fail(call, RPC_RESOURCE_EXHAUSTED, "rejected by rate limit");
}

static void on_accepted(int fd, gpointer data)
{
	struct fixture *fixture = data;

	rpc_server_adopt(fixture->server, fd);
}

static void on_down(gpointer data)
{
	*(gboolean *)data = TRUE;
}

static int set_up(void **state)
{
	static const struct rpc_method methods[] = {{METHOD_POD_RESOURCES, on_list, 65536, 2}};
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->rpc = rpc_new();
	fixture->dir = g_dir_make_tmp("rdmadp-pods-XXXXXX", NULL);
	fixture->path = g_build_filename(fixture->dir, "kubelet.sock", NULL);
	fixture->server = rpc_server_new(fixture->rpc, methods, G_N_ELEMENTS(methods), fixture);
	fixture->listener =
		listener_new(fixture->dir, "kubelet.sock", "test", on_accepted, fixture, NULL);
	fixture->client = pod_resources_new(fixture->rpc, fixture->path);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	pod_resources_free(fixture->client);
	pod_resources_free(NULL);
	listener_free(fixture->listener);
	if (fixture->held)
		rpc_fail(fixture->held, RPC_UNAVAILABLE, "the end");
	rpc_server_stop(fixture->server, 0, on_down, &fixture->is_down);
	WAIT_FOR(fixture->is_down);
	rpc_free(fixture->rpc);
	g_clear_pointer(&fixture->reply, g_bytes_unref);
	g_rmdir(fixture->dir);
	g_free(fixture->dir);
	g_free(fixture->path);
	g_free(fixture);
	return 0;
}

/* One pod with one container that holds these ids, each an entry of its own. */
static GBytes *list_of(const char *resource, const char *const *ids, gsize n_ids)
{
	g_autofree V1__ContainerDevices *devices = g_new(V1__ContainerDevices, n_ids);
	g_autofree V1__ContainerDevices **pointers = g_new(V1__ContainerDevices *, n_ids);
	V1__ContainerResources container = V1__CONTAINER_RESOURCES__INIT;
	V1__ContainerResources *containers[] = {&container};
	V1__PodResources pod = V1__POD_RESOURCES__INIT;
	V1__PodResources *pods[] = {&pod};
	V1__ListPodResourcesResponse response = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	guint8 *data;
	gsize size;

	for (gsize i = 0; i < n_ids; i++) {
		devices[i] = (V1__ContainerDevices)V1__CONTAINER_DEVICES__INIT;
		devices[i].resource_name = (char *)resource;
		devices[i].n_device_ids = 1;
		devices[i].device_ids = (char **)&ids[i];
		pointers[i] = &devices[i];
	}
	container.name = (char *)"main";
	container.n_devices = n_ids;
	container.devices = pointers;
	pod.name = (char *)"job-0";
	pod.namespace_ = (char *)"hpc";
	pod.n_containers = 1;
	pod.containers = containers;
	response.n_pod_resources = 1;
	response.pod_resources = pods;
	size = v1__list_pod_resources_response__get_packed_size(&response);
	data = g_malloc(size);
	v1__list_pod_resources_response__pack(&response, data);
	return g_bytes_new_take(data, size);
}

static void on_answer(Holdings *holdings, const GError *error, gpointer data)
{
	struct answer *answer = data;

	assert_true((holdings == NULL) != (error == NULL));
	answer->times++;
	answer->holdings = holdings ? holdings_ref(holdings) : NULL;
	answer->error = error ? g_strdup(error->message) : NULL;
	answer->code = error ? error->code : -1;
}

static void answer_clear(struct answer *answer)
{
	holdings_unref(answer->holdings);
	g_free(answer->error);
	*answer = (struct answer){0};
}

static void it_says_who_holds_what(void **state)
{
	static const char *const ids[] = {"a-3", "a-1"};
	struct fixture *fixture = *state;
	struct answer answer = {0};
	gint64 before = g_get_monotonic_time();
	const struct holding *holding;

	fixture->reply = list_of("rdma/a", ids, G_N_ELEMENTS(ids));
	pod_resources_ask(fixture->client, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_non_null(answer.holdings);
	assert_true(holds(answer.holdings, "rdma/a", "a-1"));
	assert_true(holds(answer.holdings, "rdma/a", "a-3"));
	assert_false(holds(answer.holdings, "rdma/a", "a-2"));
	assert_false(holds(answer.holdings, "rdma/b", "a-1"));
	assert_true(holdings_asked_us(answer.holdings) >= before);
	assert_int_equal(holdings_list(answer.holdings)->len, 1);
	holding = g_ptr_array_index(holdings_list(answer.holdings), 0);
	assert_string_equal(holding->pod, "job-0");
	assert_int_equal(holding->ids->len, 2);
	answer_clear(&answer);
}

/* More than gRPC takes if it is not told otherwise. */
static void a_long_answer_is_taken(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GPtrArray) ids = g_ptr_array_new_with_free_func(g_free);
	struct answer answer = {0};
	const struct holding *holding;

	for (guint i = 0; i < 60000; i++)
		g_ptr_array_add(ids, g_strdup_printf("%080u", i));
	fixture->reply = list_of("rdma/a", (const char *const *)ids->pdata, ids->len);
	assert_true(g_bytes_get_size(fixture->reply) > RPC_MAX_REPLY);
	pod_resources_ask(fixture->client, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_null(answer.error);
	holding = g_ptr_array_index(holdings_list(answer.holdings), 0);
	assert_int_equal(holding->ids->len, ids->len);
	answer_clear(&answer);
}

static void nobody_holds_anything_is_an_answer(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {0};

	fixture->reply = g_bytes_new_static("", 0);
	pod_resources_ask(fixture->client, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_non_null(answer.holdings);
	assert_int_equal(holdings_list(answer.holdings)->len, 0);
	answer_clear(&answer);
}

static void questions_that_come_together_share_one_answer(void **state)
{
	struct fixture *fixture = *state;
	struct answer answers[20] = {0};

	fixture->reply = g_bytes_new_static("", 0);
	for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
		pod_resources_ask(fixture->client, on_answer, &answers[i]);
	WAIT_FOR(answers[19].times == 1);
	assert_int_equal(fixture->lists, 1);
	for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
		assert_int_equal(answers[i].times, 1);
		answer_clear(&answers[i]);
	}
}

static void a_question_during_a_list_gets_the_next_one(void **state)
{
	static const char *const ids[] = {"a-1"};
	struct fixture *fixture = *state;
	struct answer first = {0}, second = {0};

	fixture->holds = TRUE;
	pod_resources_ask(fixture->client, on_answer, &first);
	WAIT_FOR(fixture->held);
	pod_resources_ask(fixture->client, on_answer, &second);
	fixture->holds = FALSE;
	fixture->reply = list_of("rdma/a", ids, 1);
	rpc_reply(g_steal_pointer(&fixture->held), fixture->reply);
	WAIT_FOR(first.times == 1);
	assert_int_equal(second.times, 0);
	WAIT_FOR(second.times == 1);
	assert_int_equal(fixture->lists, 2);
	assert_true(holdings_asked_us(second.holdings) - holdings_asked_us(first.holdings) >=
		    150000); /* the pause */
	answer_clear(&first);
	answer_clear(&second);
}

static void a_failure_is_an_error_and_no_end(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {0};

	pod_resources_ask(fixture->client, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_non_null(strstr(answer.error, "rejected by rate limit"));
	assert_int_equal(answer.code, POD_RESOURCES_ERROR_FAILED);
	answer_clear(&answer);
	fixture->reply = g_bytes_new_static("\xff", 1);
	pod_resources_ask(fixture->client, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_non_null(strstr(answer.error, "ListPodResourcesResponse"));
	answer_clear(&answer);
	g_bytes_unref(fixture->reply);
	fixture->reply = g_bytes_new_static("", 0);
	pod_resources_ask(fixture->client, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_non_null(answer.holdings);
	answer_clear(&answer);
}

static void without_a_socket_there_is_no_answer_but_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {0};

	g_clear_pointer(&fixture->listener, listener_free);
	pod_resources_ask(fixture->client, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_int_equal(answer.code, POD_RESOURCES_ERROR_ABSENT);
	assert_non_null(strstr(answer.error, fixture->path));
	answer_clear(&answer);
	assert_true(g_file_set_contents(fixture->path, "x", -1, NULL));
	pod_resources_ask(fixture->client, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_int_equal(answer.code, POD_RESOURCES_ERROR_FAILED);
	assert_non_null(strstr(answer.error, "not a socket"));
	answer_clear(&answer);
	g_unlink(fixture->path);
}

static void after_its_end_nobody_is_called(void **state)
{
	struct fixture *fixture = *state;
	struct answer asked = {0}, waiting = {0};

	fixture->holds = TRUE;
	pod_resources_ask(fixture->client, on_answer, &asked);
	WAIT_FOR(fixture->held);
	pod_resources_ask(fixture->client, on_answer, &waiting);
	g_clear_pointer(&fixture->client, pod_resources_free);
	rpc_reply(g_steal_pointer(&fixture->held), g_bytes_new_static("", 0));
	while (g_main_context_iteration(NULL, FALSE))
		;
	assert_int_equal(asked.times + waiting.times, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(it_says_who_holds_what),
		TEST(a_long_answer_is_taken),
		TEST(nobody_holds_anything_is_an_answer),
		TEST(questions_that_come_together_share_one_answer),
		TEST(a_question_during_a_list_gets_the_next_one),
		TEST(a_failure_is_an_error_and_no_end),
		TEST(without_a_socket_there_is_no_answer_but_an_error),
		TEST(after_its_end_nobody_is_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
