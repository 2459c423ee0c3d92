/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon tells about itself: the lines of its socket, which its schema
 * describes, and 'rdmadp status'. */
#include "system/node.h"

#include <glib/gstdio.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "edge/line_client.h"
#include "support/fixture.h"
#include "support/json_match.h"
#include "support/json_schema.h"

#define DEVICE(id, n, uverbs, health)                                                              \
	"device " id "\nattribute vendor 15b3\nattribute device 101d\n"                            \
	"rdma mlx5_" n " mlx5_ib\nport 1 infiniband active\n"                                      \
	"uverbs infiniband/uverbs" uverbs " 231:" uverbs                                           \
	"\nrdma_cm infiniband/rdma_cm 10:121\nnet ib" n " infiniband\n" health "\n"
#define HEALTHY                                                                                    \
	DEVICE("0000:3b:00.0", "1", "1", "health ok")                                              \
	DEVICE("0000:af:00.0", "2", "2", "health ok")
#define ONE_DOWN                                                                                   \
	DEVICE("0000:3b:00.0", "1", "1", "health down \"no cable\"")                               \
	DEVICE("0000:af:00.0", "2", "2", "health ok")
#define SWAPPED                                                                                    \
	DEVICE("0000:3b:00.0", "1", "2", "health ok")                                              \
	DEVICE("0000:af:00.0", "2", "1", "health ok")

#define NODES                                                                                      \
	"dir sys\nchr dev/infiniband/uverbs1 231:1\nchr dev/infiniband/uverbs2 231:2\n"            \
	"chr dev/infiniband/rdma_cm 10:121\n"

#define HCA "{\"resourceName\":\"hca\",\"rdmaHcaMax\":4,\"selectors\":{\"buses\":[\"mock\"]}}"
#define REFUSED "{\"resourceName\":\"no\",\"selectors\":{\"buses\":[\"nix\"]}}"
#define CONFIG(entries) "{\"configList\":[" entries "]}"

#define LIMIT_US (30 * G_GINT64_CONSTANT(1000000))

struct client {
	struct node *node;
	LineClient *lines;
	json_t *schema;
	json_t *last; /* the line that was waited for last */
	guint snapshots; /* so many of the lines were one */
};

static char *socket_path(const struct node *node)
{
	return g_build_filename(node->root, "status.sock", NULL);
}

static int set_up(void **state)
{
	struct client *client = g_new0(struct client, 1);
	client->node = node_new(NODES);
	client->schema = json_load_file(SOURCE_DIR "/packaging/status.schema.json", 0, NULL);
	assert_non_null(client->schema);
	node_mock(client->node, HEALTHY);
	node_resources(client->node, CONFIG(HCA));
	*state = client;
	return 0;
}

static int tear_down(void **state)
{
	struct client *client = *state;
	line_client_free(client->lines);
	json_decref(client->last);
	json_decref(client->schema);
	node_free(client->node);
	g_free(client);
	return 0;
}

static void connect_to(struct client *client)
{
	g_autofree char *path = socket_path(client->node);
	line_client_free(client->lines);
	client->lines = line_client_new(path, NULL);
	assert_non_null(client->lines);
}

/* What 'rdmadp status' prints. */
static char *ask(const struct node *node, const char *option, int *ret_status)
{
	const char *const options[] = {"status", option, NULL};
	Process *process = node_run_daemon(node, options);
	assert_true(process_await_exit(process, ret_status));
	char *output = process_output(process);
	process_free(process);
	return output;
}

/* The next line that matches; each on the way is as the schema says. */
static const json_t *await(struct client *client, const char *pattern)
{
	json_t *wanted = json_pattern(pattern);
	gint64 until_us = g_get_monotonic_time() + LIMIT_US;
	gboolean found = FALSE;
	while (!found) {
		g_autoptr(GError) error = NULL;
		g_autofree char *line = line_client_next(client->lines, until_us, &error);
		g_autofree char *problem = NULL;
		if (line == NULL)
			fail_msg("no line like %s: %s", pattern, error->message);
		json_decref(client->last);
		client->last = json_loads(line, 0, NULL);
		assert_non_null(client->last);
		client->snapshots += json_object_get(client->last, "formatVersion") != NULL;
		problem = json_schema_problem(client->schema, client->last);
		if (problem != NULL)
			fail_msg("%s: %s", line, problem);
		found = json_match(client->last, wanted);
	}
	json_decref(wanted);
	return client->last;
}

static struct client *running(void **state)
{
	struct client *client = *state;
	struct node *node = client->node;
	g_autofree char *socket = node_pod_resources(node);
	const char *const options[] = {"--pod-resources", socket, NULL};
	node_start_kubelet(node, options);
	node_start_daemon(node);
	node_kubelet_says(node, "{\"event\":\"list\",\"resource\":\"rdma/hca\",\"first\":true}");
	return client;
}

static void stop(struct client *client)
{
	node_stop_daemon(client->node);
	assert_false(node_has_file(client->node, "status.sock"));
	node_stop_kubelet(client->node, 0);
}

static void a_snapshot_comes_first_and_then_changes(void **state)
{
	struct client *client = running(state);
	connect_to(client);
	await(client, "{\"type\":\"snapshot\",\"formatVersion\":1,\"pods\":null,\"resources\":[{"
		      "\"name\":\"rdma/hca\",\"mode\":\"shared\",\"trouble\":null,"
		      "\"devices\":{\"total\":4,\"healthy\":4,\"retiring\":0},"
		      "\"registration\":{\"state\":\"streaming\",\"error\":null},\"hcas\":["
		      "{\"id\":\"0000:3b:00.0\",\"rdmaDevices\":[\"mlx5_1\"],"
		      "\"interfaces\":[\"ib1\"],\"state\":\"healthy\",\"reason\":null},"
		      "{\"id\":\"0000:af:00.0\",\"healthy\":true}]}]}");
	node_mock(client->node, ONE_DOWN);
	await(client, "{\"type\":\"resource\",\"resource\":{\"devices\":{\"healthy\":3},\"hcas\":["
		      "{\"state\":\"unhealthy\",\"reason\":{\"code\":\"link\","
		      "\"text\":\"no cable\"}},{\"state\":\"healthy\"}]}}");
	node_mock(client->node, DEVICE("0000:3b:00.0", "1", "1", "health ok"));
	await(client,
	      "{\"type\":\"resource\",\"resource\":{\"hcas\":[{\"healthy\":true},"
	      "{\"present\":false,\"state\":\"missing\",\"reason\":{\"code\":\"gone\"}}]}}");
	node_command(client->node, "restart");
	await(client, "{\"type\":\"resource\",\"resource\":{\"registration\":{"
		      "\"state\":\"streaming\",\"registrations\":2}}}");
	stop(client);
}

static void configurations_buses_and_resources_come_and_go(void **state)
{
	struct client *client = running(state);
	connect_to(client);
	await(client, "{\"type\":\"snapshot\"}");
	node_resources(client->node, CONFIG(HCA "," REFUSED));
	await(client, "{\"type\":\"configuration\",\"configuration\":{\"reloads\":1}}");
	await(client, "{\"type\":\"bus\",\"bus\":{\"name\":\"nix\",\"state\":\"refused\"}}");
	node_resources(client->node, "{");
	await(client, "{\"type\":\"configuration\",\"configuration\":{\"reloads\":1,"
		      "\"refused\":1}}");
	assert_true(json_is_string(
		json_object_get(json_object_get(client->last, "configuration"), "error")));
	node_resources(client->node, CONFIG(HCA));
	await(client, "{\"type\":\"configuration\",\"configuration\":{\"refused\":1,"
		      "\"error\":null}}");
	await(client, "{\"type\":\"removed\",\"kind\":\"bus\",\"name\":\"nix\"}");
	stop(client);
}

static void pods_are_told_when_asked_for(void **state)
{
	struct client *client = running(state);
	node_command(client->node, "allocate rdma/hca 1 trainer/main");
	node_kubelet_says(client->node, "{\"event\":\"allocated\"}");
	connect_to(client);
	/* Who asks again before the answer is there gets that one, and one more at the start. */
	assert_true(line_client_send(client->lines, "pods\npods\npods", NULL));
	await(client, "{\"type\":\"snapshot\",\"podsError\":null,\"pods\":[{"
		      "\"container\":\"main\",\"resource\":\"rdma/hca\"}]}");
	node_mock(client->node, ONE_DOWN);
	await(client, "{\"type\":\"resource\",\"resource\":{\"devices\":{\"healthy\":3}}}");
	assert_int_equal(client->snapshots, 2);
	/* anything else is not understood and does no harm */
	assert_true(line_client_send(client->lines, "nonsense", NULL));
	assert_true(line_client_send(client->lines, "pods", NULL));
	await(client, "{\"type\":\"snapshot\",\"podsError\":null}");
	stop(client);
}

/* A driver that is reloaded swaps the numbers of two HCAs while a pod holds a slot. */
static void running_pods_of_a_renumbered_device_are_told(void **state)
{
	struct client *client = running(state);
	node_command(client->node, "allocate rdma/hca 1 pod-a");
	const char *allocated = process_await(client->node->kubelet, "{\"event\":\"allocated\"}");
	int status;
	g_autofree char *slot = g_strndup(strstr(allocated, "rdma/hca-"), strlen("rdma/hca-0"));
	g_autofree char *pattern =
		g_strdup_printf("{\"type\":\"resource\",\"resource\":{\"devices\":{\"healthy\":3,"
				"\"renumbered\":[{\"id\":\"%s\"}]}}}",
				slot);
	connect_to(client);
	node_mock(client->node, SWAPPED);
	await(client, pattern);
	node_kubelet_says(client->node, "{\"event\":\"list\",\"devices\":4,\"healthy\":3}");
	node_daemon_says(client->node, "have access to the numbers of before");
	g_autofree char *output = process_output(client->node->daemon);
	assert_non_null(strstr(output, slot));
	g_autofree char *text = ask(client->node, NULL, &status);
	assert_non_null(strstr(text, " when a pod got it and is 231:"));
	/* a new pod has the right ones, and is not told about; without the old one all is well */
	node_command(client->node, "allocate rdma/hca 1 pod-b");
	node_kubelet_says(client->node, "{\"event\":\"allocated\"}");
	node_command(client->node, "free pod-a");
	await(client, "{\"type\":\"resource\",\"resource\":{\"devices\":{\"healthy\":4,"
		      "\"renumbered\":[]}}}");
	stop(client);
}

/* F35: what the ports themselves have counted, also between two looks. */
static void lost_links_are_shown(void **state)
{
	static const char machine[] = "pci 0000:3b:00.0 class=0x020000 vendor=0x15b3 "
				      "device=0x101d driver=mlx5_core numa=0\n"
				      "ib 0000:3b:00.0 mlx5_0\nuverbs 0000:3b:00.0 0 mlx5_0\n"
				      "rdma_cm 10:121\n";
	struct client *client = *state;
	int status;
	fixture_apply(client->node->root, machine);
	fixture_write(client->node->root,
		      "sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "11");
	node_resources(client->node,
		       CONFIG("{\"resourceName\":\"hca\",\"selectors\":{\"vendors\":[\"15b3\"]}}"));
	running(state);
	connect_to(client);
	await(client, "{\"type\":\"snapshot\",\"resources\":[{\"hcas\":[{\"linkDowns\":11,"
		      "\"flaps\":0}]}]}");
	g_autofree char *text = ask(client->node, NULL, &status);
	assert_non_null(strstr(text, "LINK DOWNS"));
	assert_non_null(strstr(text, "  11"));
	stop(client);
}

static void the_socket_is_for_the_group_and_is_kept(void **state)
{
	struct client *client = running(state);
	g_autofree char *path = socket_path(client->node);
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0660);
	assert_int_equal(g_unlink(path), 0);
	while (stat(path, &status) != 0)
		g_usleep(1000);
	connect_to(client);
	await(client, "{\"type\":\"snapshot\"}");
	stop(client);
}

static void await_no_file(const struct node *node, const char *name)
{
	while (node_has_file(node, name))
		g_usleep(1000);
}

/* Settings that name another socket, and none. */
static void the_socket_follows_the_settings(void **state)
{
	struct client *client = running(state);
	g_autofree char *path = g_build_filename(client->node->root, "etc/rdmadp.conf", NULL);
	g_autofree char *text = NULL;
	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_autofree char *here = socket_path(client->node);
	g_auto(GStrv) parts = g_strsplit(text, here, 2);
	g_autofree char *none = g_strjoinv("", parts);
	g_autofree char *other = g_build_filename(client->node->root, "moved.sock", NULL);
	g_autofree char *moved = g_strjoinv(other, parts);
	connect_to(client);
	assert_true(line_client_send(client->lines, "pods", NULL));
	fixture_write(client->node->root, "etc/rdmadp.conf", moved);
	await_no_file(client->node, "status.sock");
	while (!node_has_file(client->node, "moved.sock"))
		g_usleep(1000);
	line_client_free(client->lines);
	client->lines = line_client_new(other, NULL);
	assert_non_null(client->lines);
	await(client, "{\"type\":\"snapshot\",\"pods\":null}");
	fixture_write(client->node->root, "etc/rdmadp.conf", none);
	await_no_file(client->node, "moved.sock");
	node_command(client->node, "restart");
	node_kubelet_says(client->node, "{\"event\":\"list\",\"first\":true}");
	stop(client);
}

static void a_few_clients_are_served(void **state)
{
	struct client *client = running(state);
	g_autofree char *path = socket_path(client->node);
	LineClient *others[8];
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
		others[i] = line_client_new(path, NULL);
		g_free(line_client_next(others[i], g_get_monotonic_time() + LIMIT_US, NULL));
	}
	connect_to(client);
	await(client, "{\"type\":\"error\",\"text\":\"too many clients\"}");
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
		line_client_free(others[i]);
	stop(client);
}

/* --- rdmadp status --- */

static void the_command_shows_it_to_people(void **state)
{
	struct client *client = running(state);
	int status;
	node_command(client->node, "allocate rdma/hca 1 pod-a");
	node_kubelet_says(client->node, "{\"event\":\"allocated\"}");
	node_mock(client->node, ONE_DOWN);
	node_kubelet_says(client->node, "{\"event\":\"list\",\"healthy\":3}");
	g_autofree char *text = ask(client->node, NULL, &status);
	static const char *const parts[] = {"rdmadp 0", "3 of 4", "streaming", "link: no cable",
					    "pod-a",	"mock",	  "mlx5_2"};
	assert_int_equal(status, 0);
	for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
		if (strstr(text, parts[i]) == NULL)
			fail_msg("'%s' is not in:\n%s", parts[i], text);
	g_autofree char *json = ask(client->node, "--json", &status);
	assert_int_equal(status, 0);
	assert_non_null(strstr(json, "{\"type\":\"snapshot\""));
	stop(client);
}

/* As a readiness probe sees it. */
static void assert_probed(const struct client *client, int expected, const char *part)
{
	int status;
	g_autofree char *text = ask(client->node, NULL, &status);
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in:\n%s", part, text);
	assert_int_equal(status, expected);
	g_autofree char *json = ask(client->node, "--json", &status);
	assert_non_null(strstr(json, expected == 0 ? "\"ready\":true" : "\"ready\":false"));
	assert_int_equal(status, expected);
}

#define READY "{\"type\":\"ready\",\"ready\":true,\"notReady\":[]}"
#define UNREGISTERED "not registered with the kubelet: 'rdma/hca'"
#define NOT_READY "{\"type\":\"ready\",\"ready\":false,\"notReady\":[\"" UNREGISTERED "\"]}"

static void it_is_ready_when_buses_and_registrations_are(void **state)
{
	struct client *client = *state;
	node_mock(client->node, "discover fail 5\n");
	node_start_daemon(client->node);
	node_daemon_says(client->node, "keeping 0 known devices");
	connect_to(client);
	await(client, "{\"type\":\"snapshot\",\"ready\":false}");
	assert_probed(client, 1, "not ready: no scan of bus 'mock' has worked so far: ");
	node_mock(client->node, HEALTHY);
	await(client, NOT_READY);
	assert_probed(client, 1, "not ready: " UNREGISTERED "\n");
	node_start_kubelet(client->node, NULL);
	await(client, READY);
	assert_probed(client, 0, "rdmadp: ready\n");
	/* what is wrong with the node is no fault of the daemon */
	node_mock(client->node, "");
	node_kubelet_says(client->node, "{\"event\":\"list\",\"healthy\":0}");
	assert_probed(client, 0, "rdmadp: ready\n");
	node_stop_kubelet(client->node, 0);
	await(client, NOT_READY);
	node_stop_daemon(client->node);
}

static void it_is_not_ready_without_a_backend(void **state)
{
	struct client *client = running(state);
	connect_to(client);
	await(client, "{\"type\":\"snapshot\",\"ready\":true,\"notReady\":[]}");
	node_resources(client->node, CONFIG(HCA "," REFUSED));
	/* the resource is registered, with 0 devices */
	node_kubelet_says(client->node,
			  "{\"event\":\"list\",\"resource\":\"rdma/no\",\"devices\":0}");
	assert_probed(client, 1, "not ready: the backend of bus 'nix' is not used: ");
	node_resources(client->node, CONFIG(HCA));
	await(client, READY);
	stop(client);
}

static void the_command_says_when_nobody_answers(void **state)
{
	struct client *client = *state;
	int status;
	g_autofree char *text = ask(client->node, NULL, &status);
	assert_int_equal(status, 1);
	assert_non_null(strstr(text, "no daemon answers at "));
}

static void the_command_shows_why_pods_are_not_known(void **state)
{
	struct client *client = *state;
	int status;
	node_start_kubelet(client->node, NULL);
	node_start_daemon(client->node);
	node_kubelet_says(client->node, "{\"event\":\"list\",\"first\":true}");
	g_autofree char *text = ask(client->node, NULL, &status);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "cannot ask which pods hold devices"));
	stop(client);
}

/* 'rdmadp status' against one who says 'line' and goes, whatever it is asked. */
static char *ask_one_who_says(const struct node *node, const char *line, int *ret_status)
{
	static const char *const options[] = {"status", NULL};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	g_autofree char *path = socket_path(node);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	Process *process = node_run_daemon(node, options);
	int client = accept(fd, NULL, NULL);
	assert_int_equal(write(client, line, strlen(line)), strlen(line));
	close(client);
	assert_true(process_await_exit(process, ret_status));
	char *output = process_output(process);
	process_free(process);
	close(fd);
	g_unlink(path);
	return output;
}

static void the_command_makes_do_with_what_it_gets(void **state)
{
	static const struct {
		const char *line, *text;
		int status;
	} cases[] = {
		{"{\"type\":\"error\",\"text\":\"too many clients\"}\n", "too many clients", 1},
		{"{\"type\":\"snapshot\",\"pods\":null}\n", "the kubelet has not said in time", 0},
		{"{\"type\":\"snapshot\",\"ready\":false}\n", "rdmadp: not ready\n", 1},
		{"{\"type\":\"news\"}\n", "no daemon answers at ", 1},
		{"what?\n", "status.sock': line 1, column 1", 1},
	};
	struct client *client = *state;
	int status;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = ask_one_who_says(client->node, cases[i].line, &status);
		if (strstr(text, cases[i].text) == NULL)
			fail_msg("'%s' is not in:\n%s", cases[i].text, text);
		assert_int_equal(status, cases[i].status);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_snapshot_comes_first_and_then_changes),
		TEST(configurations_buses_and_resources_come_and_go),
		TEST(pods_are_told_when_asked_for),
		TEST(running_pods_of_a_renumbered_device_are_told),
		TEST(lost_links_are_shown),
		TEST(the_socket_is_for_the_group_and_is_kept),
		TEST(the_socket_follows_the_settings),
		TEST(a_few_clients_are_served),
		TEST(the_command_shows_it_to_people),
		TEST(it_is_ready_when_buses_and_registrations_are),
		TEST(it_is_not_ready_without_a_backend),
		TEST(the_command_says_when_nobody_answers),
		TEST(the_command_shows_why_pods_are_not_known),
		TEST(the_command_makes_do_with_what_it_gets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
