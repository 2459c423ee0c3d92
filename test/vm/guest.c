/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs inside of the virtual machine: the daemon and the kubelet simulator on what a real
 * kernel shows and tells. Two network adapters, eth0 (virtio) and eth1 (e1000), carry
 * the RDMA devices rxe0 and rxe1. Nothing polls, so that what is noticed was an event.
 */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

#define CONFIGURATION(resources)                                                                   \
	"{\"periodicUpdateInterval\":0,\"faultDetectPeriod\":0,\"configList\":[" resources "]}"
#define SHARED "{\"resourceName\":\"s\",\"rdmaHcaMax\":4,\"selectors\":{\"buses\":[\"soft\"]}}"
#define EXCLUSIVE                                                                                  \
	"{\"resourceName\":\"x\",\"mode\":\"exclusive\",\"selectors\":{\"buses\":[\"soft\"],"      \
	"\"ifNames\":[\"eth0\"]}}"
#define ADAPTERS "{\"resourceName\":\"n\",\"selectors\":{\"vendors\":[\"1af4\",\"8086\"]}}"

#define LIST(name, devices, healthy)                                                               \
	"{\"event\":\"list\",\"resource\":\"rdma/" name "\",\"devices\":" #devices                 \
	",\"healthy\":" #healthy "}"
#define FILE(name)                                                                                 \
	"{\"host\":\"/dev/infiniband/" name "\",\"container\":\"/dev/infiniband/" name             \
	"\",\"permissions\":\"rw\"}"
#define ALLOCATED(files) "{\"event\":\"allocated\",\"devices\":[" files "]}"

static struct node *node;

/* Its output; ends the test if it fails. */
static char *run(const char *command)
{
	g_autofree char *output = NULL;
	g_autofree char *errors = NULL;
	g_autoptr(GError) error = NULL;
	int status;
	if (!g_spawn_command_line_sync(command, &output, &errors, &status, &error))
		fail_msg("%s: %s", command, error->message);
	if (!g_spawn_check_wait_status(status, &error))
		fail_msg("%s: %s\n%s%s", command, error->message, output, errors);
	return g_steal_pointer(&output);
}

static void do_each(const char *const *commands)
{
	for (gsize i = 0; commands[i]; i++) {
		g_autofree char *output G_GNUC_UNUSED = run(commands[i]);
		print_message("%s\n", commands[i]);
	}
}

#define DO(...) do_each((const char *const[]){__VA_ARGS__, NULL})

/* --- the node: the real /sys and /dev, in the places of a machine of text --- */

static void bind(const char *path)
{
	g_autofree char *place = g_strconcat(node->root, path, NULL);
	assert_int_equal(mount(path, place, NULL, MS_BIND | MS_REC, NULL), 0);
}

static void unbind(const char *path)
{
	g_autofree char *place = g_strconcat(node->root, path, NULL);
	assert_int_equal(umount2(place, MNT_DETACH), 0);
}

static int set_up(void **state)
{
	(void)state;
	node = node_new("dir sys\ndir dev\n");
	bind("/sys");
	bind("/dev");
	DO("ip link set eth0 up", "ip link set eth1 up", "rdma link add rxe0 type rxe netdev eth0",
	   "rdma link add rxe1 type rxe netdev eth1");
	return 0;
}

static void delete_rdma_devices(void)
{
	g_autoptr(GDir) dir = g_dir_open("/sys/class/infiniband", 0, NULL);
	for (const char *name; (name = g_dir_read_name(dir));) {
		g_autofree char *command = g_strdup_printf("rdma link delete %s", name);
		g_autofree char *output G_GNUC_UNUSED = run(command);
	}
}

static int tear_down(void **state)
{
	(void)state;
	unbind("/sys");
	unbind("/dev");
	g_clear_pointer(&node, node_free);
	delete_rdma_devices();
	return 0;
}

static void start(const char *resources)
{
	node_resources(node, resources);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
}

/* Without the deadline that a real machine keeps. */
static void stop(void)
{
	int status;
	process_signal(node->daemon, SIGTERM);
	assert_true(process_await_exit(node->daemon, &status));
	assert_int_equal(status, 0);
	g_clear_pointer(&node->daemon, process_free);
	node_stop_kubelet(node, 0);
}

/* Lists of several resources come in any order. */
static void await_list(const char *list)
{
	while (process_count(node->kubelet, list) == 0)
		node_kubelet_says(node, list);
}

/* --- what the kubelet sees --- */

static void devices_are_offered_and_adapters_without_rdma_are_explained(void **state)
{
	(void)state;
	start(CONFIGURATION(SHARED "," ADAPTERS));
	await_list(LIST("s", 4, 4));
	await_list(LIST("n", 0, 0));
	node_command(node, "allocate rdma/s 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0") "," FILE("uverbs1")));
	assert_int_equal(process_count(node->daemon, "error:"), 0);
	stop();
}

static void a_link_goes_down_and_up(void **state)
{
	(void)state;
	start(CONFIGURATION(SHARED));
	node_kubelet_says(node, LIST("s", 4, 4));
	for (int i = 0; i < 3; i++) {
		DO("ip link set eth1 down");
		node_kubelet_says(node, LIST("s", 4, 3));
		DO("ip link set eth1 up");
		node_kubelet_says(node, LIST("s", 4, 4));
	}
	DO("ip link set eth0 down", "ip link set eth1 down");
	node_kubelet_says(node, LIST("s", 4, 0));
	DO("ip link set eth0 up");
	node_kubelet_says(node, LIST("s", 4, 3));
	stop();
}

static void a_device_is_removed_and_added(void **state)
{
	(void)state;
	start(CONFIGURATION(SHARED));
	node_kubelet_says(node, LIST("s", 4, 4));
	DO("rdma link delete rxe1");
	node_kubelet_says(node, LIST("s", 4, 3));
	node_command(node, "allocate rdma/s 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0")));
	DO("rdma link add rxe7 type rxe netdev eth1");
	node_kubelet_says(node, LIST("s", 4, 4));
	node_command(node, "allocate rdma/s 1 pod-b");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0") "," FILE("uverbs1")));
	stop();
}

/* The nodes keep their numbers; only what they say of themselves changes. */
static void a_device_is_renamed(void **state)
{
	(void)state;
	start(CONFIGURATION(SHARED));
	node_kubelet_says(node, LIST("s", 4, 4));
	DO("rdma dev set rxe0 name roce_eth0", "ip link set eth0 down");
	node_kubelet_says(node, LIST("s", 4, 3));
	DO("ip link set eth0 up");
	/* It is known under its new name. */
	node_kubelet_says(node, LIST("s", 4, 4));
	node_command(node, "allocate rdma/s 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0") "," FILE("uverbs1")));
	stop();
}

static void an_adapter_loses_its_driver(void **state)
{
	(void)state;
	start(CONFIGURATION(SHARED "," ADAPTERS));
	await_list(LIST("s", 4, 4));
	DO("sh -c 'echo 0000:00:03.0 >/sys/bus/pci/drivers/e1000/unbind'");
	node_kubelet_says(node, LIST("s", 4, 3));
	DO("sh -c 'echo 0000:00:03.0 >/sys/bus/pci/drivers/e1000/bind'", "ip link set eth1 up",
	   "rdma link add rxe1 type rxe netdev eth1");
	node_kubelet_says(node, LIST("s", 4, 4));
	stop();
}

/* Carrier without anybody setting the interface down: the other end of the cable. */
static void a_cable_is_pulled(void **state)
{
	(void)state;
	DO("ip link add cable0 type veth peer name cable1", "ip link set cable0 up",
	   "ip link set cable1 up", "rdma link add rxe2 type rxe netdev cable0");
	start(CONFIGURATION(SHARED));
	node_kubelet_says(node, LIST("s", 4, 4));
	DO("ip link set cable1 down");
	node_kubelet_says(node, LIST("s", 4, 3));
	DO("ip link set cable1 up");
	node_kubelet_says(node, LIST("s", 4, 4));
	stop();
	DO("ip link delete cable0");
}

/* As long as there is no other network namespace, the mode can be switched. */
static void shared_resources_need_the_shared_mode(void **state)
{
	(void)state;
	DO("rdma system set netns exclusive");
	start(CONFIGURATION(SHARED "," EXCLUSIVE));
	node_daemon_says(node, "netns");
	await_list(LIST("s", 0, 0));
	await_list(LIST("x", 1, 1));
	node_command(node, "allocate rdma/x 1 pod-a");
	node_kubelet_says(node, ALLOCATED(FILE("rdma_cm") "," FILE("uverbs0")));
	stop();
	DO("rdma system set netns shared");
}

static void an_interface_goes_into_a_pod_and_comes_back(void **state)
{
	(void)state;
	start(CONFIGURATION(SHARED));
	node_kubelet_says(node, LIST("s", 4, 4));
	DO("ip netns add pod", "ip link set eth1 netns pod");
	node_kubelet_says(node, LIST("s", 4, 3));
	DO("ip -n pod link set eth1 netns 1", "ip link set eth1 up",
	   "rdma link add rxe1 type rxe netdev eth1");
	node_kubelet_says(node, LIST("s", 4, 4));
	stop();
	DO("ip netns delete pod");
}

/* --- what people see --- */

static char *rdmadp(const char *command)
{
	g_autofree char *line =
		g_strdup_printf(BINARY_DIR "/bin/rdmadp %s --backend-dir " BINARY_DIR
					   "/lib/rdmadp/backends --resources %s/etc/config.json",
				command, node->root);
	return run(line);
}

static void assert_shows(const char *text, const char *pattern)
{
	if (!g_regex_match_simple(pattern, text, G_REGEX_MULTILINE, 0))
		fail_msg("does not show '%s':\n%s", pattern, text);
}

static void commands_tell_what_is_there(void **state)
{
	(void)state;
	node_resources(node, CONFIGURATION(SHARED "," ADAPTERS));
	g_autofree char *devices = rdmadp("devices");
	assert_shows(devices, "^pci +0000:00:02.0 +1af4:1000 +virtio-pci +- +eth0 .*not usable");
	assert_shows(devices, "^pci +0000:00:03.0 +8086:100e +e1000 +- +eth1 .*not usable");
	assert_shows(devices,
		     "^soft +rxe0 +- +rdma_rxe +rxe0 +eth0 +ether +1 ACTIVE .* ok +rdma/s");
	assert_shows(devices,
		     "^soft +rxe1 +- +rdma_rxe +rxe1 +eth1 +ether +1 ACTIVE .* ok +rdma/s");
	g_autofree char *why = rdmadp("explain rdma/n");
	assert_shows(why, "network interface only");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
		TEST(devices_are_offered_and_adapters_without_rdma_are_explained),
		TEST(a_link_goes_down_and_up),
		TEST(a_device_is_removed_and_added),
		TEST(a_device_is_renamed),
		TEST(an_adapter_loses_its_driver),
		TEST(a_cable_is_pulled),
		TEST(shared_resources_need_the_shared_mode),
		TEST(an_interface_goes_into_a_pod_and_comes_back),
		TEST(commands_tell_what_is_there),
	};
	/* It takes devices away: on no machine but one that is made for it. */
	g_autofree char *parameters = NULL;
	if (!g_file_get_contents("/proc/cmdline", &parameters, NULL, NULL) ||
	    !strstr(parameters, "rdmadp_guest")) {
		fputs("this is not the virtual machine of test/vm\n", stderr);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
