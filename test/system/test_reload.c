/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration that changes under a running daemon: what is not concerned keeps its
 * socket, stream and ids, and nothing is left behind by many changes. */
#include "system/node.h"

#include <glib/gstdio.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fixture.h"

#define DEVICE(id, n)                                                                              \
	"device " id "\nattribute vendor 15b3\nattribute device 101d\n"                            \
	"rdma mlx5_" n " mlx5_ib\nport 1 infiniband active\n"                                      \
	"uverbs infiniband/uverbs" n " 231:" n "\nrdma_cm infiniband/rdma_cm 10:121\n"
#define DEVICES DEVICE("0000:3b:00.0", "1") DEVICE("0000:af:00.0", "2")

#define NODES                                                                                      \
	"dir sys\nchr dev/infiniband/uverbs1 231:1\nchr dev/infiniband/uverbs2 231:2\n"            \
	"chr dev/infiniband/rdma_cm 10:121\n"

#define ENTRY(name, more)                                                                          \
	"{\"resourceName\":\"" name "\"" more ",\"selectors\":{\"buses\":[\"mock\"]}}"
#define CONFIG(entries) "{\"configList\":[" entries "]}"
#define SLOTS(n) ",\"rdmaHcaMax\":" n

#define REGISTERED(name) "{\"event\":\"list\",\"resource\":\"rdma/" name "\",\"first\":true}"
#define LIST(name, devices, healthy)                                                               \
	"{\"event\":\"list\",\"resource\":\"rdma/" name "\",\"devices\":" devices                  \
	",\"healthy\":" healthy "}"
#define ENDED(name) "{\"event\":\"stream-ended\",\"resource\":\"rdma/" name "\",\"by\":\"plugin\"}"
#define REGISTERS(name) "{\"event\":\"register\",\"resource\":\"rdma/" name "\"}"
#define READ_AGAIN "configuration read again"

/* Replaces the file and waits until the daemon has read it. */
static void configure(const struct node *node, const char *json)
{
	guint before = process_count(node->daemon, READ_AGAIN);
	node_resources(node, json);
	while (process_count(node->daemon, READ_AGAIN) == before)
		node_daemon_says(node, READ_AGAIN);
}

static int set_up(void **state)
{
	struct node *node = node_new(NODES);
	node_mock(node, DEVICES);
	node_resources(node, CONFIG(ENTRY("a", SLOTS("4"))));
	*state = node;
	return 0;
}

static int tear_down(void **state)
{
	node_free(*state);
	return 0;
}

/* With a kubelet that says who holds what, and ids that may go after a moment. */
static struct node *running(void **state)
{
	struct node *node = *state;
	g_autofree char *socket = node_pod_resources(node);
	const char *const options[] = {"--pod-resources", socket, NULL};
	node_settings(node, "retire_after = 0.01;\n");
	node_start_kubelet(node, options);
	node_start_daemon(node);
	node_kubelet_says(node, REGISTERED("a"));
	return node;
}

static void added_and_removed_resources_leave_others_alone(void **state)
{
	struct node *node = running(state);
	node_resources(node, CONFIG(ENTRY("b", SLOTS("2")) "," ENTRY("a", SLOTS("4"))));
	node_kubelet_says(node, REGISTERED("b"));
	node_command(node, "allocate rdma/b 1 pod-b");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	node_resources(node, CONFIG(ENTRY("a", SLOTS("4"))));
	node_kubelet_says(node, LIST("b", "2", "0"));
	/* the one that nobody holds goes, the other one waits for its pod */
	node_kubelet_says(node, LIST("b", "1", "0"));
	assert_true(node_has_file(node, "kubelet/rdma_b.sock"));
	node_command(node, "free pod-b");
	assert_int_equal(process_count(node->kubelet, LIST("b", "0", "0")), 0);
	assert_int_equal(process_count(node->kubelet, REGISTERS("a")), 1);
	assert_int_equal(process_count(node->kubelet, REGISTERS("b")), 1);
	assert_int_equal(
		process_count(node->kubelet, "{\"event\":\"list\",\"resource\":\"rdma/a\"}"), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_resource_that_nobody_holds_goes(void **state)
{
	struct node *node = running(state);
	node_resources(node, CONFIG(ENTRY("a", SLOTS("4")) "," ENTRY("b", SLOTS("2"))));
	node_kubelet_says(node, REGISTERED("b"));
	node_resources(node, CONFIG(ENTRY("a", SLOTS("4"))));
	node_kubelet_says(node, LIST("b", "2", "0"));
	node_kubelet_says(node, ENDED("b"));
	node_daemon_says(node, "rdma/b: no pod can hold it any more");
	assert_false(node_has_file(node, "kubelet/rdma_b.sock"));
	assert_int_equal(process_count(node->kubelet, LIST("b", "0", "0")), 0);
	/* and comes back as if it were new */
	node_resources(node, CONFIG(ENTRY("a", SLOTS("4")) "," ENTRY("b", SLOTS("2"))));
	node_kubelet_says(node, REGISTERED("b"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void without_podresources_ids_stay(void **state)
{
	struct node *node = *state;
	node_settings(node, "retire_after = 0.01;\n");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, REGISTERED("a"));
	node_resources(node, CONFIG(ENTRY("a", SLOTS("1"))));
	node_kubelet_says(node, LIST("a", "4", "1"));
	node_daemon_says(node, "devices that are gone stay in the list");
	node_resources(node, CONFIG(ENTRY("a", SLOTS("3"))));
	node_kubelet_says(node, LIST("a", "4", "3"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_resource_changes_in_place(void **state)
{
	struct node *node = running(state);
	node_command(node, "allocate rdma/a 4 pod-a");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	configure(node, CONFIG(ENTRY("a", SLOTS("6"))));
	node_kubelet_says(node, LIST("a", "6", "6"));
	configure(node, CONFIG(ENTRY("a", SLOTS("2"))));
	node_kubelet_says(node, LIST("a", "6", "2"));
	node_kubelet_says(node, LIST("a", "4", "2"));
	/* another selection of the same devices, and another policy */
	configure(node, "{\"configList\":[{\"resourceName\":\"a\",\"rdmaHcaMax\":3,"
			"\"healthPolicy\":\"anyDevice\",\"selectors\":{\"buses\":[\"mock\"],"
			"\"addresses\":[\"0000:3b:00.0\"]}}]}");
	node_kubelet_says(node, LIST("a", "4", "3"));
	node_command(node, "free pod-a");
	node_command(node, "allocate rdma/a 1 pod-c");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"pod\":\"pod-c\",\"devices\":["
				"{\"host\":\"/dev/infiniband/rdma_cm\"},"
				"{\"host\":\"/dev/infiniband/uverbs1\"}]}");
	assert_int_equal(process_count(node->kubelet, REGISTERS("a")), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_bad_file_changes_nothing(void **state)
{
	struct node *node = running(state);
	node_resources(node, CONFIG(ENTRY("a", SLOTS("-1")) "," ENTRY("b", ",\"mode\":\"odd\"")));
	node_daemon_says(node, "rdmaHcaMax");
	node_daemon_says(node, "mode");
	node_daemon_says(node, "the last good one stays in force");
	node_resources(node, "{");
	node_daemon_says(node, "the last good one stays in force");
	g_autofree char *path = g_build_filename(node->root, "etc/config.json", NULL);
	assert_int_equal(g_unlink(path), 0);
	node_daemon_says(node, "the last good one stays in force");
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"list\"}"), 1);
	node_resources(node, CONFIG(ENTRY("a", SLOTS("5"))));
	node_kubelet_says(node, LIST("a", "5", "5"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* As the kubelet does it: a new directory, and a link that is replaced. */
static void swap_config_map(const struct node *node, const char *version, const char *json)
{
	g_autofree char *file = g_strdup_printf("map/..%s/config.json", version);
	g_autofree char *target = g_strdup_printf("..%s", version);
	g_autofree char *fresh = g_build_filename(node->root, "map/..data_tmp", NULL);
	g_autofree char *link = g_build_filename(node->root, "map/..data", NULL);
	fixture_write(node->root, file, json);
	assert_int_equal(symlink(target, fresh), 0);
	assert_int_equal(g_rename(fresh, link), 0);
}

static void a_config_map_is_followed(void **state)
{
	struct node *node = *state;
	g_autofree char *path = g_build_filename(node->root, "map/config.json", NULL);
	const char *const options[] = {"--resources", path, NULL};
	swap_config_map(node, "1", CONFIG(ENTRY("a", SLOTS("1"))));
	assert_int_equal(symlink("..data/config.json", path), 0);
	node_start_kubelet(node, NULL);
	node->daemon = node_run_daemon(node, options);
	node_kubelet_says(node, LIST("a", "1", "1"));
	swap_config_map(node, "2", CONFIG(ENTRY("a", SLOTS("2"))));
	node_kubelet_says(node, LIST("a", "2", "2"));
	fixture_delete(node->root, "map/..1");
	swap_config_map(node, "3", CONFIG(ENTRY("a", SLOTS("3"))));
	node_kubelet_says(node, LIST("a", "3", "3"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void settings_change_under_the_daemon(void **state)
{
	struct node *node = running(state);
	/* what was healthy at once waits from now on */
	g_autofree char *path = g_build_filename(node->root, "etc/rdmadp.conf", NULL);
	g_autofree char *text = NULL;
	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_auto(GStrv) parts = g_strsplit(text, "down_delay = 0.0", 2);
	g_autofree char *slow = g_strjoin("down_delay = 3600.0", parts[0], parts[1], NULL);
	g_autofree char *other = g_strconcat(slow, "cdi_dir = \"/elsewhere\";\n", NULL);
	fixture_write(node->root, "etc/rdmadp.conf", other);
	node_daemon_says(node, "cdi_dir has changed: that takes effect when");
	node_daemon_says(node, READ_AGAIN);
	node_mock(node, DEVICE("0000:3b:00.0", "1") DEVICE("0000:af:00.0", "2") "health down x\n");
	node_resources(node, CONFIG(ENTRY("a", SLOTS("5"))));
	node_kubelet_says(node, LIST("a", "5", "5"));
	assert_int_equal(process_count(node->kubelet, LIST("a", "4", "3")), 0);
	/* and back: what is under way is due at once */
	fixture_write(node->root, "etc/rdmadp.conf", text);
	node_kubelet_says(node, LIST("a", "5", "4"));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_hangup_reads_everything(void **state)
{
	struct node *node = running(state);
	process_signal(node->daemon, SIGHUP);
	node_daemon_says(node, READ_AGAIN);
	assert_int_equal(process_count(node->kubelet, REGISTERS("a")), 1);
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"list\"}"), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void another_mode_begins_when_the_old_one_is_over(void **state)
{
	struct node *node = running(state);
	node_command(node, "allocate rdma/a 1 pod-a");
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
	node_resources(node, CONFIG(ENTRY("a", ",\"mode\":\"exclusive\"")));
	node_kubelet_says(node, LIST("a", "4", "0"));
	node_kubelet_says(node, LIST("a", "1", "0"));
	/* back to the old one while it waits */
	node_resources(node, CONFIG(ENTRY("a", SLOTS("4"))));
	node_kubelet_says(node, LIST("a", "4", "4"));
	node_command(node, "free pod-a");
	node_resources(node, CONFIG(ENTRY("a", ",\"mode\":\"exclusive\"")));
	node_kubelet_says(node, ENDED("a"));
	node_kubelet_says(node, "{\"event\":\"list\",\"first\":true,\"list\":["
				"{\"id\":\"0000:3b:00.0\",\"health\":\"Healthy\"},"
				"{\"id\":\"0000:af:00.0\",\"health\":\"Healthy\"}]}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_bus_comes_and_goes_with_its_resources(void **state)
{
	struct node *node = running(state);
	node_resources(node,
		       CONFIG(ENTRY("a", SLOTS("4")) ",{\"resourceName\":\"p\","
						     "\"rdmaHcaMax\":1,\"selectors\":{"
						     "\"buses\":[\"pci\"],\"drivers\":[\"x\"]}}"));
	node_daemon_says(node, "backend pci: 0 devices found, with RDMA: 0");
	node_kubelet_says(node, REGISTERED("p"));
	node_resources(node, CONFIG(ENTRY("a", SLOTS("4"))));
	node_daemon_says(node, "no resource is on the bus 'pci' any more");
	node_kubelet_says(node, ENDED("p"));
	/* a resource can move from one to another */
	node_resources(node, "{\"configList\":[{\"resourceName\":\"a\",\"rdmaHcaMax\":4,"
			     "\"selectors\":{\"drivers\":[\"x\"]}}]}");
	node_kubelet_says(node, LIST("a", "4", "0"));
	node_daemon_says(node, "no resource is on the bus 'mock' any more");
	node_resources(node, CONFIG(ENTRY("a", SLOTS("4"))));
	node_kubelet_says(node, LIST("a", "4", "4"));
	assert_int_equal(process_count(node->kubelet, REGISTERS("a")), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* --- no trace --- */

static guint count_entries(pid_t pid, const char *what)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)pid, what);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	guint n = 0;
	assert_non_null(dir);
	while (g_dir_read_name(dir) != NULL)
		n++;
	return n;
}

static void reload(struct node *node, guint i)
{
	static const char *const files[] = {
		CONFIG(ENTRY("a", SLOTS("4")) "," ENTRY("b", SLOTS("1"))),
		CONFIG(ENTRY("a", SLOTS("4"))),
		CONFIG(ENTRY("b", SLOTS("2")) "," ENTRY("a", SLOTS("2"))),
		"{\"configList\":[{\"resourceName\":\"a\",\"selectors\":{\"buses\":[\"pci\"],"
		"\"drivers\":[\"x\"]}}]}",
		CONFIG(ENTRY("a", SLOTS("3") ",\"healthPolicy\":\"off\"")),
	};
	guint before = process_count(node->daemon, READ_AGAIN);
	node_resources(node, files[i % G_N_ELEMENTS(files)]);
	process_signal(node->daemon, SIGHUP);
	while (process_count(node->daemon, READ_AGAIN) == before)
		node_daemon_says(node, READ_AGAIN);
	/* now and then what was configured comes to life */
	if (i % 50 == 1)
		node_command(node, "wait allocatable rdma/a 4");
	if (i % 50 == 1)
		node_kubelet_says(node, "{\"event\":\"waited\"}");
}

/* A leak of memory would be told by the sanitizer when the daemon ends. */
static void a_thousand_reloads_leave_no_trace(void **state)
{
	struct node *node = running(state);
	guint descriptors, threads;
	for (guint i = 0; i < 20; i++)
		reload(node, i);
	reload(node, 1);
	descriptors = count_entries(process_pid(node->daemon), "fd");
	threads = count_entries(process_pid(node->daemon), "task");
	for (guint i = 0; i < 1000; i++)
		reload(node, i);
	reload(node, 1);
	node_command(node, "wait allocatable rdma/a 4");
	node_command(node, "resources");
	node_kubelet_says(node, "{\"event\":\"resource\",\"name\":\"rdma/a\",\"allocatable\":4}");
	assert_in_range(count_entries(process_pid(node->daemon), "fd"), 1, descriptors + 6);
	assert_in_range(count_entries(process_pid(node->daemon), "task"), 1, threads + 2);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(added_and_removed_resources_leave_others_alone),
		TEST(a_resource_that_nobody_holds_goes),
		TEST(without_podresources_ids_stay),
		TEST(a_resource_changes_in_place),
		TEST(a_bad_file_changes_nothing),
		TEST(a_config_map_is_followed),
		TEST(settings_change_under_the_daemon),
		TEST(a_hangup_reads_everything),
		TEST(another_mode_begins_when_the_old_one_is_over),
		TEST(a_bus_comes_and_goes_with_its_resources),
		TEST(a_thousand_reloads_leave_no_trace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
