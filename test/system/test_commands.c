/* SPDX-License-Identifier: Apache-2.0 */
/* 'devices', 'explain' and 'check-config' on machines of the field: what they print, to
 * the letter (UPDATE_EXPECTED=1 writes test/fixtures/commands anew). */
#include "system/node.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "support/dump.h"
#include "support/fixture.h"
#include "support/json_match.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"
#define EXPECTED SOURCE_DIR "/test/fixtures/commands/"

#define ONE(selectors)                                                                             \
	"{\"configList\":[{\"resourceName\":\"r\",\"rdmaHcaMax\":2,\"selectors\":{" selectors "}}" \
	"]}"
#define VENDOR ONE("\"vendors\":[\"15b3\"]")

#define ISSM(slots)                                                                                \
	"{\"configList\":[{\"resourceName\":\"r\",\"rdmaHcaMax\":" slots ",\"charDevices\":{"      \
	"\"issm\":true},\"selectors\":{\"vendors\":[\"15b3\"]}}]}"

#define MOCK(id) "device " id "\\nrdma r" id " -\\nport 1 ethernet active\\nhealth ok\\n"
#define LEFT_OUT                                                                                   \
	"file sys/bus/mock/devices = " MOCK("a") "identity x\\n" MOCK("b") "identity x\\n" MOCK(   \
		"c") "note bad\\x01\\n" MOCK("d") "uverbs ../../etc 1:1\\n" MOCK("012345678901234" \
										 "567890123456789" \
										 "012345678901234" \
										 "567890123456789" \
										 "0123456789") "\n"

#define INFINIBAND_DOWN "port mlx5_0 2 ll=InfiniBand state=\"1: DOWN\" gid=none\n"
#define LINK_TYPES                                                                                 \
	"{\"configList\":[{\"resourceName\":\"eth\",\"selectors\":{\"linkTypes\":[\"ether\"]}},"   \
	"{\"resourceName\":\"ib\",\"selectors\":{\"linkTypes\":[\"infiniband\"]}}]}"

static const struct {
	const char *name; /* of the expected text */
	const char *machine;
	const char *changes; /* to the machine, or NULL */
	const char *resources; /* NULL: no file */
	const char *arguments; /* separated by blanks */
	int status;
} cases[] = {
	{"devices-f01", "f01-roce-no-issm", NULL, VENDOR, "devices", 0},
	{"devices-f05", "f05-vf-netdev-in-pod", NULL, NULL, "devices", 0},
	{"devices-f08", "f08-switchdev", NULL, NULL, "devices", 0},
	{"devices-f10", "f10-b200-mixed", NULL, NULL, "devices", 0},
	{"devices-two-sockets", "two-sockets", NULL, NULL, "devices", 0},
	{"devices-soft", "soft", NULL, NULL, "devices", 0},
	{"devices-ub", "ub-a11", NULL, NULL, "devices", 0},
	{"devices-ub-odd", "ub-odd", NULL, NULL, "devices", 0},
	{"devices-unusable", "unusable", NULL, NULL, "devices", 0},
	{"devices-nothing", NULL, NULL, NULL, "devices", 0},
	{"devices-no-backend", NULL, NULL, NULL, "devices --backend-dir /nonexistent", 1},
	{"devices-argument", NULL, NULL, NULL, "devices pci", 2},
	/* options that would do nothing */
	{"status-no-node", NULL, NULL, NULL, "status --no-node", 2},
	{"devices-from-sriov", NULL, NULL, NULL, "devices --from-sriov x.json", 2},
	{"check-from-sriov-two", NULL, NULL, NULL, "check-config --from-sriov x.json y.json", 2},
	{"daemon-json", NULL, NULL, NULL, "--json", 2},
	{"no-such-command", NULL, NULL, NULL, "help", 2},
	{"explain-no-text", NULL,
	 "file sys/bus/mock/devices = device a\\nrdma r0 -\\nport 1 ethernet down\\n"
	 "uverbs infiniband/uverbs0 231:192\\nrdma_cm infiniband/rdma_cm 10:121\\nhealth down\n",
	 ONE("\"buses\":[\"mock\"]"), "explain", 0},
	/* What breaks the contract, and one that has another one's identity */
	{"explain-left-out", NULL, LEFT_OUT, ONE("\"buses\":[\"mock\"]"), "explain", 0},
	{"explain-left-out-json", NULL, LEFT_OUT, ONE("\"buses\":[\"mock\"]"), "explain --json", 0},
	{"devices-left-out", NULL, LEFT_OUT, NULL, "devices", 0},
	{"devices-f04-json", "f04-issm-subset", NULL, VENDOR, "devices --json", 0},
	/* F02: the module is named, and with the module all is well */
	{"explain-f02", "f01-roce-no-issm",
	 "remove sys/class/misc/rdma_cm\nremove sys/devices/virtual/misc/rdma_cm\n", VENDOR,
	 "explain", 0},
	/* F04: files that stay away cost slots, as they do in the daemon after a while */
	{"explain-f04-issm", "f04-issm-subset", NULL, ISSM("2"), "explain", 0},
	{"check-f04-issm", "f04-issm-subset", NULL, ISSM("1"), "check-config", 0},
	{"explain-f01", "f01-roce-no-issm", NULL, VENDOR, "explain r", 0},
	{"explain-f03", "f03-partial-boot", NULL, VENDOR, "explain rdma/r", 0},
	/* F08: the interface of a switchdev function, and a representor */
	{"explain-f08-pf", "f08-switchdev", NULL, ONE("\"ifNames\":[\"pf0\"]"), "explain", 0},
	{"explain-f08-representor", "f08-switchdev", NULL, ONE("\"ifNames\":[\"eth3\"]"), "explain",
	 0},
	/* F15: bus numbers for ids, the RDMA driver's name */
	{"explain-f15-wrong", "f15-e810", NULL,
	 ONE("\"vendors\":[\"8086\"],\"deviceIDs\":[\"0d00\",\"b500\"],\"drivers\":[\"irdma\"],"
	     "\"linkTypes\":[\"ethernet\"]"),
	 "explain", 0},
	{"explain-f15-right", "f15-e810", NULL,
	 ONE("\"vendors\":[\"8086\"],\"deviceIDs\":[\"159b\"],\"drivers\":[\"irdma\"]"), "explain",
	 0},
	/* F18: what the daemon takes as good is not told as bad */
	{"explain-f18", "f01-roce-no-issm",
	 "file sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/infiniband/mlx5_1/ports/1/state = "
	 "1: "
	 "DOWN\n",
	 "{\"configList\":[{\"resourceName\":\"require\",\"selectors\":{\"vendors\":[\"15b3\"]}},"
	 "{\"resourceName\":\"assume\",\"health\":{\"initialState\":\"assume\"},\"selectors\":{"
	 "\"vendors\":[\"15b3\"]}},{\"resourceName\":\"off\",\"healthPolicy\":\"off\","
	 "\"selectors\":{"
	 "\"vendors\":[\"15b3\"]}}]}",
	 "explain", 0},
	/* An adapter with a port of each link layer: each resource cares about its own */
	{"explain-link-types", "f01-roce-no-issm", INFINIBAND_DOWN, LINK_TYPES, "explain", 0},
	{"devices-link-types", "f01-roce-no-issm", INFINIBAND_DOWN, LINK_TYPES, "devices", 0},
	/* F24: pods cannot share a device there; F24b: they can, but see all of them */
	{"explain-f24", "f01-roce-no-issm", "netns N\n", VENDOR, "explain", 0},
	{"check-f24", "f01-roce-no-issm", "netns N\n", VENDOR, "check-config", 1},
	{"check-f24b", "f01-roce-no-issm", NULL,
	 "{\"configList\":[{\"resourceName\":\"r\",\"mode\":\"exclusive\",\"selectors\":{"
	 "\"vendors\":[\"15b3\"]}}]}",
	 "check-config", 0},
	/* and what holds for several resources is said once */
	{"check-netns-several", "two-sockets", NULL,
	 "{\"configList\":[{\"resourceName\":\"a\",\"mode\":\"exclusive\",\"selectors\":{"
	 "\"pfNames\":[\"ens1f0np0\"]}},{\"resourceName\":\"b\",\"selectors\":{"
	 "\"rdmaDevices\":[\"mlx5_bond_*\"]}},{\"resourceName\":\"c\",\"mode\":\"exclusive\","
	 "\"selectors\":{\"pfNames\":[\"ens3f0np0\"]}}]}",
	 "check-config", 0},
	{"explain-unusable", "unusable", NULL, VENDOR, "explain", 0},
	{"explain-f10-mixed", "f10-b200-mixed", NULL, ONE("\"vendors\":[\"1d0f\",\"15b3\"]"),
	 "explain", 0},
	{"explain-f10-efa", "f10-b200-mixed", NULL, ONE("\"drivers\":[\"efa\"]"), "explain", 0},
	{"explain-vendor-assumed", "ub-odd", "netns Y\n",
	 ONE("\"buses\":[\"ub\"],\"vendors\":[\"cc08\"]"), "explain", 0},
	{"explain-json", "unusable", NULL, VENDOR, "explain --json", 0},
	{"explain-no-such", "unusable", NULL, VENDOR, "explain q", 1},
	{"explain-exclude", "f01-roce-no-issm", NULL,
	 ONE("\"vendors\":[\"15b3\"],\"exclude\":{\"ifNames\":[\"ens1f0np0\"]}"), "explain", 0},
	/* several resources want the same device */
	{"check-overlap-shared", "f01-roce-no-issm", NULL,
	 "{\"configList\":[{\"resourceName\":\"a\",\"selectors\":{\"vendors\":[\"15b3\"]}},"
	 "{\"resourceName\":\"b\",\"selectors\":{\"ifNames\":[\"ens1f1np1\"]}}]}",
	 "check-config", 0},
	{"check-overlap-exclusive", "f01-roce-no-issm", NULL,
	 "{\"configList\":[{\"resourceName\":\"a\",\"selectors\":{\"vendors\":[\"15b3\"]}},"
	 "{\"resourceName\":\"b\",\"mode\":\"exclusive\",\"selectors\":{\"ifNames\":["
	 "\"ens1f1np1\"]}}]}",
	 "check-config", 1},
	{"explain-overlap", "f05-vf-netdev-in-pod", NULL,
	 "{\"configList\":[{\"resourceName\":\"a\",\"mode\":\"exclusive\",\"selectors\":{"
	 "\"vendors\":[\"15b3\"]}},{\"resourceName\":\"b\",\"selectors\":{\"ifNames\":["
	 "\"ibs1v0\"]}}]}",
	 "explain", 0},
	/* devices are on another bus */
	{"explain-other-bus", "ub-a11", NULL, ONE("\"vendors\":[\"cc08\"]"), "explain", 0},
	/* backends */
	{"check-no-backend", "f01-roce-no-issm", NULL, ONE("\"buses\":[\"pcie\"]"), "check-config",
	 1},
	{"explain-no-backend", "f01-roce-no-issm", NULL, ONE("\"buses\":[\"pcie\"]"), "explain", 0},
	/* a laptop */
	{"check-laptop", "f01-roce-no-issm", NULL, VENDOR,
	 "check-config --backend-dir /nonexistent", 0},
	{"check-files-only", "f01-roce-no-issm", "netns N\n", VENDOR, "check-config --no-node", 0},
	{"check-json", "f15-e810", "netns N\n", VENDOR, "check-config --json", 1},
	/* what is wrong with the file does not hide the devices */
	{"devices-wrong-file", "f01-roce-no-issm", NULL, "{\"configList\":[]}", "devices", 0},
	{"explain-wrong-file", "f01-roce-no-issm", NULL, "{\"configList\":[]}", "explain", 1},
};

/* Paths of this machine have no place in an expected text. */
static char *without_paths(const struct node *node, const char *text)
{
	const struct {
		const char *path, *name;
	} names[] = {{node->root, "ROOT"}, {BINARY_DIR, "BUILD"}};
	g_autoptr(GString) clean = g_string_new(text);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		g_string_replace(clean, names[i].path, names[i].name, 0);
	return g_string_free(g_steal_pointer(&clean), FALSE);
}

/* Standard output and error of a command that is typed in the machine's directory. */
static char *run(const struct node *node, const char *arguments, int *ret_status)
{
	g_autofree char *line =
		g_strdup_printf("%s/bin/rdmadp --config etc/rdmadp.conf --resources "
				"etc/config.json --backend-dir %s/lib/rdmadp/backends %s",
				BINARY_DIR, BINARY_DIR, arguments);
	g_auto(GStrv) argv = g_strsplit(line, " ", -1);
	g_autofree char *output = NULL;
	g_autofree char *errors = NULL;
	g_autofree char *both = NULL;
	int wait_status;
	assert_true(g_spawn_sync(node->root, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output,
				 &errors, &wait_status, NULL));
	assert_true(WIFEXITED(wait_status));
	*ret_status = WEXITSTATUS(wait_status);
	both = g_strconcat(output, errors[0] != '\0' ? "--- stderr\n" : "", errors, NULL);
	return without_paths(node, both);
}

static struct node *node_of(gsize i)
{
	g_autofree char *machine = cases[i].machine == NULL
					   ? g_strdup("")
					   : g_strconcat(MACHINES, cases[i].machine, ".txt", NULL);
	struct node *node = node_new(machine);
	if (cases[i].changes != NULL)
		fixture_apply(node->root, cases[i].changes);
	if (cases[i].resources != NULL)
		node_resources(node, cases[i].resources);
	return node;
}

static void everything_is_said_as_expected(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct node *node = node_of(i);
		g_autofree char *path = g_strconcat(EXPECTED, cases[i].name, ".expected", NULL);
		g_autoptr(GError) error = NULL;
		int status;
		g_autofree char *text = run(node, cases[i].arguments, &status);
		if (!dump_expect(text, path, &error))
			fail_msg("%s: %s\n%s", cases[i].name, error->message, text);
		if (status != cases[i].status)
			fail_msg("%s: status %d", cases[i].name, status);
		node_free(node);
	}
}

/* --- what needs more than a look --- */

static json_t *run_json(const struct node *node, const char *arguments)
{
	int status;
	g_autofree char *text = run(node, arguments, &status);
	json_t *value = json_loads(text, 0, NULL);
	if (value == NULL)
		fail_msg("no JSON: %s", text);
	return value;
}

static void assert_json(const struct node *node, const char *arguments, const char *pattern)
{
	json_t *value = run_json(node, arguments);
	json_t *wanted = json_pattern(pattern);
	if (!json_match(value, wanted)) {
		char *text = json_dumps(value, JSON_INDENT(2));
		fail_msg("%s is not in %s", pattern, text);
	}
	json_decref(wanted);
	json_decref(value);
}

/* A resource that follows the node's label is told as the daemon would serve it. */
static void a_label_decides_what_auto_means(void **state)
{
	static const char *const labels[] = {"true", "false"};
	static const char *const told[] = {
		"[{\"mode\":\"exclusive\",\"devices\":2}]",
		"[{\"mode\":\"shared\",\"devices\":8}]",
	};
	struct node *node = node_new(MACHINES "f01-roce-no-issm.txt");
	g_autofree char *settings =
		g_strdup_printf("mode_label_file = \"%s/labels\";\n", node->root);
	(void)state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"r\",\"mode\":\"auto\","
			     "\"rdmaHcaMax\":8,\"selectors\":{\"vendors\":[\"15b3\"]}}]}");
	assert_json(node, "check-config --json",
		    "{\"node\":{\"findings\":[{\"level\":\"warning\",\"where\":\"rdma/r\"}]}}");
	node_settings(node, settings);
	for (gsize i = 0; i < G_N_ELEMENTS(labels); i++) {
		g_autofree char *line = g_strdup_printf(
			"rdma.network.alibabacloud.com/exclusive=\"%s\"\n", labels[i]);
		fixture_write(node->root, "labels", line);
		assert_json(node, "explain --json", told[i]);
	}
	node_free(node);
}

static void a_kubelet_somewhere_else_is_noticed(void **state)
{
	struct node *node = node_new(MACHINES "f01-roce-no-issm.txt");
	g_autofree char *text = NULL;
	int status;
	(void)state;
	node_resources(node, VENDOR);
	fixture_delete(node->root, "kubelet");
	text = run(node, "check-config", &status);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "node: warning: the kubelet's directory 'ROOT/kubelet' is "
				     "not there, so nothing can be registered"));
	node_free(node);
}

static void device_files_that_are_not_there_are_said(void **state)
{
	static const char *const wanted[] = {
		"extraDevices: '/dev/hfi1_*' matches no character device below",
		"taken, not usable  '/dev/infiniband/uverbs1' cannot be used: No such file",
	};
	struct node *node = NULL;
	g_autofree char *text = NULL;
	int status;
	(void)state;
	if (!fixture_can_mknod())
		skip();
	node = node_new(MACHINES "f01-roce-no-issm.txt");
	fixture_delete(node->root, "dev/infiniband/uverbs1");
	node_resources(node, "{\"configList\":[{\"resourceName\":\"r\",\"extraDevices\":["
			     "\"/dev/hfi1_*\"],\"selectors\":{\"vendors\":[\"15b3\"]}}]}");
	text = run(node, "explain", &status);
	for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++)
		if (strstr(text, wanted[i]) == NULL)
			fail_msg("'%s' is not in %s", wanted[i], text);
	node_free(node);
}

#define IN_POD                                                                                     \
	"remove sys/class/net/ibs1v1\nremove sys/devices/pci0000:00/0000:12:00.2/net/ibs1v1\n"

/* What the daemon remembers counts, but not for the tree of another machine. */
static void a_vf_in_a_pod_is_explained_as_the_daemon_sees_it(void **state)
{
	struct node *node = node_new(MACHINES "f05-vf-netdev-in-pod.txt");
	g_autofree char *sysfs = g_strdup_printf("explain --json --sysfs %s/sys", node->root);
	(void)state;
	fixture_apply(node->root, "net 0000:12:00.2 ibs1v1 type=32\n");
	node_resources(node, ONE("\"ifNames\":[\"ibs1v1\"]"));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, "{\"event\":\"list\",\"healthy\":2}");
	node_stop_daemon(node);
	fixture_apply(node->root, IN_POD);
	assert_json(node, "explain --json",
		    "[{\"healthy\":2,\"verdicts\":[{\"verdict\":\"refused\"},"
		    "{\"verdict\":\"refused\"},{\"verdict\":\"taken\"},{\"verdict\":\"refused\","
		    "\"selector\":\"ifNames\",\"seen\":\"none\",\"wanted\":\"ibs1v1\"}]}]");
	assert_json(node, sysfs, "[{\"healthy\":0}]");
	node_stop_kubelet(node, 0);
	node_free(node);
}

/* None of them writes anything. */
static void the_state_is_left_alone(void **state)
{
	struct node *node = node_new(MACHINES "f01-roce-no-issm.txt");
	static const char *const commands[] = {"devices", "explain", "check-config"};
	(void)state;
	node_resources(node, VENDOR);
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
		int status;
		g_free(run(node, commands[i], &status));
		assert_int_equal(status, 0);
	}
	assert_false(node_has_file(node, "state/state.json"));
	node_free(node);
}

/* A bus that does not answer costs its limit, once, and the others are shown. */
static void a_bus_that_hangs_does_not_hold_up_the_others(void **state)
{
	struct node *node = node_new(MACHINES "f01-roce-no-issm.txt");
	(void)state;
	node_mock(node, "discover hang forever\n");
	assert_json(node, "devices --json",
		    "{\"devices\":[{\"id\":\"0000:3b:00.0\"},{\"id\":\"0000:3b:00.1\"},"
		    "{\"id\":\"0000:5e:00.0\"}],\"trouble\":{\"mock\":\"backend 'mock' is refused: "
		    "its first discovery did not end within 5 s\"}}");
	node_free(node);
}

/* A port that does not answer is not waited for longer than for a scan. */
static void a_port_that_hangs_is_unknown(void **state)
{
	struct node *node = node_new("dir sys\n");
	(void)state;
	node_mock(node, "device a\nhang forever\ndevice b\nhealth down \"no cable\"\n");
	assert_json(node, "devices --json",
		    "{\"devices\":[{\"id\":\"a\",\"health\":\"unknown: no answer in time\"},"
		    "{\"id\":\"b\",\"health\":\"unhealthy: no cable\"}]}");
	node_free(node);
}

/* --- mode "auto" --- */

static void assert_mode(const struct node *node, const char *command, const char *expected)
{
	int status;
	g_autofree char *text = run(node, command, &status);
	assert_int_equal(status, 0);
	if (!strstr(text, expected))
		fail_msg("no '%s' in:\n%s", expected, text);
}

static void the_mode_of_now_is_said_with_its_reason(void **state)
{
	struct node *node = node_new(MACHINES "f01-roce-no-issm.txt");
	g_autofree char *settings = g_strdup_printf(
		"mode_label = \"x\";\nmode_label_file = \"%s/labels\";\n", node->root);
	(void)state;
	node_resources(node, "{\"configList\":[{\"resourceName\":\"r\",\"mode\":\"auto\","
			     "\"selectors\":{\"vendors\":[\"15b3\"]}}]}");
	assert_mode(node, "explain",
		    "rdma/r (shared, bus pci): 2 slots, 2 healthy\n"
		    "  its mode is \"auto\", now shared: the settings have no mode_label_file\n");
	node_settings(node, settings);
	assert_mode(node, "explain", "now shared: 'ROOT/labels': ");
	fixture_write(node->root, "labels", "x=\"false\"");
	assert_mode(node, "explain", "now shared: 'ROOT/labels' has x=\"false\", not \"true\"\n");
	fixture_write(node->root, "labels", "y=\"true\"");
	assert_mode(node, "explain", "now shared: 'ROOT/labels' does not have x=\"true\"\n");
	fixture_write(node->root, "labels", "x=\"true\"");
	assert_mode(node, "explain",
		    "rdma/r (exclusive, bus pci): 2 devices, 2 healthy\n"
		    "  its mode is \"auto\", now exclusive: 'ROOT/labels' has x=\"true\"\n");
	assert_mode(node, "explain --json", "\"modeReason\": \"its mode is");
	node_free(node);
}

static void output_that_cannot_be_written_is_a_failure(void **state)
{
	static const char *const commands[] = {"--version", "devices", "explain", "check-config"};
	struct node *node = node_new("");
	(void)state;
	node_resources(node, VENDOR);
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
		g_autofree char *script = g_strdup_printf("exec \"$@\" %s >/dev/full", commands[i]);
		Process *process = node_run_daemon_in(node, script);
		int status;
		assert_true(process_await_exit(process, &status));
		assert_int_equal(status, 1);
		assert_true(process_has_said(process, "the output could not be written whole"));
		process_free(process);
	}
	node_free(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_said_as_expected),
		cmocka_unit_test(a_label_decides_what_auto_means),
		cmocka_unit_test(a_kubelet_somewhere_else_is_noticed),
		cmocka_unit_test(device_files_that_are_not_there_are_said),
		cmocka_unit_test(a_vf_in_a_pod_is_explained_as_the_daemon_sees_it),
		cmocka_unit_test(the_state_is_left_alone),
		cmocka_unit_test(a_bus_that_hangs_does_not_hold_up_the_others),
		cmocka_unit_test(a_port_that_hangs_is_unknown),
		cmocka_unit_test(the_mode_of_now_is_said_with_its_reason),
		cmocka_unit_test(output_that_cannot_be_written_is_a_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
