/* SPDX-License-Identifier: Apache-2.0 */
/* Bad input to the whole daemon: it ends with every error, or stays up and says once
 * what is missing. */
#include "system/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"

static int set_up(void **state)
{
	*state = node_new("");
	return 0;
}

static int tear_down(void **state)
{
	node_free(*state);
	return 0;
}

static void assert_said(Process *daemon, const char *text)
{
	if (process_has_said(daemon, text))
		return;
	g_autofree char *output = process_output(daemon);
	fail_msg("the daemon has not said '%s':\n%s", text, output);
}

/* The daemon ends with status 1 and has said each of the texts; nothing registered. */
static void assert_refused(struct node *node, const char *const *texts)
{
	int status;
	node_start_kubelet(node, NULL);
	Process *daemon = node_run_daemon(node, NULL);
	assert_true(process_await_exit(daemon, &status));
	assert_int_equal(status, 1);
	for (gsize i = 0; texts[i]; i++)
		assert_said(daemon, texts[i]);
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"register\"}"), 0);
	process_free(daemon);
	node_stop_kubelet(node, 0);
}

static void a_wrong_resource_file_ends_the_start_with_every_error(void **state)
{
	static const char *const texts[] = {"configList[0].rdmaHcaMax",
					    "configList[0].selectors.deviceIDs[0]",
					    "configList[1].resourceName",
					    "configList[2]",
					    "ifnamez",
					    "nothing is registered",
					    NULL};
	struct node *node = *state;
	node_resources(
		node, "{\"configList\":["
		      "{\"resourceName\":\"a\",\"rdmaHcaMax\":-1,\"selectors\":"
		      "{\"deviceIDs\":[\"0000:3b:00.0\"]}},"
		      "{\"resourceName\":\"test_config$$\",\"selectors\":{\"vendors\":[\"15b3\"]}},"
		      "{\"resourceName\":\"c\",\"selectors\":{\"ifnamez\":[\"ib0\"]}}]}");
	assert_refused(node, texts);
}

static void a_syntax_error_names_line_and_column(void **state)
{
	static const char *const texts[] = {"line 2", "column", NULL};
	struct node *node = *state;
	node_resources(node, "{\"configList\":[\n{\"resourceName\":\"a\" \"rdmaHcaMax\":1}]}");
	assert_refused(node, texts);
}

static void two_buses_in_one_resource_are_refused(void **state)
{
	static const char *const texts[] = {"configList[0].selectors.buses", NULL};
	struct node *node = *state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"a\",\"selectors\":"
			     "{\"buses\":[\"pci\",\"ub\"]}}]}");
	assert_refused(node, texts);
}

static void a_missing_resource_file_is_refused(void **state)
{
	static const char *const texts[] = {"config.json", NULL};
	assert_refused(*state, texts);
}

static void wrong_settings_are_refused_with_every_error(void **state)
{
	static const char *const texts[] = {"colour", "retire_after", NULL};
	struct node *node = *state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"a\",\"selectors\":"
			     "{\"vendors\":[\"15b3\"]}}]}");
	node_settings(node, "colour = \"red\";\nretire_after = \"never\";\n");
	assert_refused(node, texts);
}

static void of_very_many_errors_some_are_told(void **state)
{
	static const char *const texts[] = {"configList[49]: neither", "and 500 more", NULL};
	struct node *node = *state;
	g_autoptr(GString) json = g_string_new("{\"configList\":[{}");
	for (int i = 1; i < 300; i++)
		g_string_append(json, ",{}");
	g_string_append(json, "]}");
	node_resources(node, json->str);
	assert_refused(node, texts);
}

static void paths_on_the_command_line_may_be_relative(void **state)
{
	struct node *node = *state;
	g_autofree char *script =
		g_strdup_printf("cd %s; exec \"$@\" --resources etc/config.json --kubelet-dir "
				"./kubelet/ --sysfs etc/../sys",
				node->root);
	node_resources(node, "{\"configList\":[{\"resourceName\":\"hca\",\"rdmaHcaMax\":2,"
			     "\"selectors\":{\"buses\":[\"mock\"]}}]}");
	node_mock(node, "device a\nrdma mlx5_0 -\nport 1 infiniband active\n"
			"uverbs infiniband/uverbs0 231:192\nrdma_cm infiniband/rdma_cm 10:121\n");
	node_start_kubelet(node, NULL);
	node->daemon = node_run_daemon_in(node, script);
	node_kubelet_says(node, "{\"event\":\"list\",\"first\":true,\"healthy\":2}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* Long forms with a single dash, as the peer's manifests have them. */
static void the_peers_command_line_is_understood(void **state)
{
	static const struct {
		const char *options[3];
		int status;
		const char *text;
	} cases[] = {
		{{"-use-cdi", NULL}, 2, "--use-cdi: CDI is not available in this version"},
		{{"-version", NULL}, 0, "rdmadp "},
		{{"-config-file=/nowhere", "-use-cdi", NULL}, 2, "CDI is not available"},
		{{"-config-file", "/nowhere", NULL}, 1, "/nowhere: cannot be read"},
		{{"-config-files=/nowhere", NULL}, 2, "see rdmadp --help"},
	};
	struct node *node = *state;
	int status;
	node_resources(node, "{}");
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		Process *daemon = node_run_daemon(node, cases[i].options);
		assert_true(process_await_exit(daemon, &status));
		assert_said(daemon, cases[i].text);
		assert_int_equal(status, cases[i].status);
		process_free(daemon);
	}
}

static void a_missing_backend_leaves_its_resource_at_0_and_the_others_run(void **state)
{
	struct node *node = *state;
	node_resources(node, "{\"configList\":["
			     "{\"resourceName\":\"lost\",\"rdmaHcaMax\":2,\"selectors\":"
			     "{\"buses\":[\"nosuchbus\"]}},"
			     "{\"resourceName\":\"hca\",\"rdmaHcaMax\":2,\"selectors\":"
			     "{\"buses\":[\"mock\"]}}]}");
	node_mock(node, "device a\nattribute vendor 15b3\nrdma mlx5_0 -\nport 1 infiniband active\n"
			"uverbs infiniband/uverbs0 231:192\nrdma_cm infiniband/rdma_cm 10:121\n");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_daemon_says(node, "nosuchbus");
	node_kubelet_says(node, "{\"event\":\"list\",\"resource\":\"rdma/hca\",\"healthy\":2}");
	node_command(node, "resources");
	node_kubelet_says(node, "{\"event\":\"resources\"}");
	assert_false(process_has_said(node->kubelet, "{\"event\":\"resource\",\"name\":"
						     "\"rdma/lost\",\"allocatable\":2}"));
	/* What is there is said where somebody looks for what is not. */
	assert_true(process_has_said(node->daemon, "mock"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_node_without_rdma_stays_up_with_0_devices(void **state)
{
	static const char *const buses[] = {"pci", "ub", "mock"};
	for (gsize i = 0; i < G_N_ELEMENTS(buses); i++) {
		struct node *node = node_new("");
		g_autofree char *json = g_strdup_printf(
			"{\"configList\":[{\"resourceName\":\"hca\",\"rdmaHcaMax\":8,"
			"\"selectors\":{\"buses\":[\"%s\"]}}]}",
			buses[i]);
		node_resources(node, json);
		node_start_kubelet(node, NULL);
		node_start_daemon(node);
		node_kubelet_says(node, "{\"event\":\"list\",\"devices\":0,\"capacity\":0}");
		node_command(node, "allocate rdma/hca 1 pod-a");
		node_kubelet_says(node, "{\"event\":\"rejected\"}");
		/* Several polls later it has said so once. */
		node_command(node, "sleep 500");
		node_command(node, "resources");
		node_kubelet_says(node, "{\"event\":\"resources\"}");
		assert_int_equal(process_count(node->daemon, "warning"), 1);
		assert_int_equal(process_count(node->daemon, "error"), 0);
		node_stop_daemon(node);
		node_stop_kubelet(node, 0);
		node_free(node);
	}
	(void)state;
}

/* Nothing is wrong here, and yet a scheduler of the field would not schedule the pods. */
/* Such as the network cards of a virtual machine. */
static void an_adapter_without_rdma_is_not_called_an_rdma_device(void **state)
{
	struct node *node = node_new(SOURCE_DIR "/test/fixtures/machines/soft.txt");
	(void)state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"hca\",\"selectors\":"
			     "{\"vendors\":[\"1af4\"]}}]}");
	node_start_daemon(node);
	node_daemon_says(node, "backend pci: 2 devices found, with RDMA: 0");
	node_stop_daemon(node);
	node_free(node);
}

static void a_prefix_that_a_scheduler_misreads_is_told(void **state)
{
	struct node *node = *state;
	node_resources(node,
		       "{\"configList\":[{\"resourceName\":\"a\",\"rdmaHcaMax\":2,"
		       "\"resourcePrefix\":\"huawei.com\",\"selectors\":{\"buses\":[\"mock\"]}},"
		       "{\"resourceName\":\"b\",\"rdmaHcaMax\":2,"
		       "\"selectors\":{\"buses\":[\"mock\"]}}]}");
	node_mock(node, "");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_daemon_says(node, "info: huawei.com/a: ascend-for-volcano");
	assert_int_equal(process_count(node->daemon, "ascend-for-volcano"), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void no_kubelet_directory_is_waited_for(void **state)
{
	struct node *node = *state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"hca\",\"rdmaHcaMax\":2,"
			     "\"selectors\":{\"buses\":[\"mock\"]}}]}");
	node_mock(node, "");
	fixture_delete(node->root, "kubelet");
	node_start_daemon(node);
	node_daemon_says(node, "kubelet");
	node_start_kubelet(node, NULL);
	node_kubelet_says(node, "{\"event\":\"list\",\"first\":true}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wrong_resource_file_ends_the_start_with_every_error),
		TEST(a_syntax_error_names_line_and_column),
		TEST(two_buses_in_one_resource_are_refused),
		TEST(a_missing_resource_file_is_refused),
		TEST(wrong_settings_are_refused_with_every_error),
		TEST(of_very_many_errors_some_are_told),
		TEST(paths_on_the_command_line_may_be_relative),
		TEST(the_peers_command_line_is_understood),
		TEST(a_missing_backend_leaves_its_resource_at_0_and_the_others_run),
		cmocka_unit_test(a_node_without_rdma_stays_up_with_0_devices),
		cmocka_unit_test(an_adapter_without_rdma_is_not_called_an_rdma_device),
		TEST(a_prefix_that_a_scheduler_misreads_is_told),
		TEST(no_kubelet_directory_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
