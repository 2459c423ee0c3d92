/* SPDX-License-Identifier: Apache-2.0 */
/* What survives a restart of the daemon: ids, the order of HCAs, matches of devices that
 * are in pods; and state files that are of no use. */
#include "system/node.h"

#include <glib/gstdio.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"

/* As many slots as HCAs, so that the order of the HCAs shows. */
#define RESOURCES                                                                                  \
	"{\"configList\":[{\"resourceName\":\"hca\",\"selectors\":{\"buses\":[\"mock\"],"          \
	"\"vendors\":[\"15b3\"]}}]}"
#define OTHER_SELECTORS                                                                            \
	"{\"configList\":[{\"resourceName\":\"hca\",\"selectors\":{\"buses\":[\"mock\"],"          \
	"\"deviceIDs\":[\"101d\"]}}]}"

#define DEVICE(id, n, health)                                                                      \
	"device " id "\nattribute vendor 15b3\nattribute device 101d\n"                            \
	"rdma mlx5_" n " mlx5_ib\nport 1 infiniband active\n"                                      \
	"uverbs infiniband/uverbs" n " 231:" n "\nrdma_cm infiniband/rdma_cm 10:121\n" health "\n"

#define NODES                                                                                      \
	"dir sys\nchr dev/infiniband/uverbs1 231:1\nchr dev/infiniband/uverbs2 231:2\n"            \
	"chr dev/infiniband/uverbs3 231:3\nchr dev/infiniband/rdma_cm 10:121\n"

#define LATER_ONE DEVICE("0000:af:00.0", "2", "health ok")
#define EARLIER_ONE DEVICE("0000:3b:00.0", "1", "health ok")
#define EARLIER_ONE_DOWN DEVICE("0000:3b:00.0", "1", "health down \"no cable\"")

#define LIST(devices) "{\"event\":\"list\",\"resource\":\"rdma/hca\",\"list\":[" devices "]}"
#define SLOT(n, health) "{\"id\":\"rdma/hca-" n "\",\"health\":\"" health "\"}"

static int set_up(void **state)
{
	struct node *node = node_new(NODES);
	node_resources(node, RESOURCES);
	node_mock(node, LATER_ONE);
	*state = node;
	return 0;
}

static int tear_down(void **state)
{
	node_free(*state);
	return 0;
}

static char *state_path(const struct node *node)
{
	return g_build_filename(node->root, "state", "state.json", NULL);
}

static char *state_text(const struct node *node)
{
	g_autofree char *path = state_path(node);
	char *text = NULL;
	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
	    !g_file_get_contents(path, &text, NULL, NULL))
		return g_strdup("");
	return text;
}

/* Until the file has that text. */
static void await_state(const struct node *node, const char *part)
{
	for (int i = 0; i < PROCESS_LIMIT_MS / 10; i++) {
		g_autofree char *text = state_text(node);
		if (strstr(text, part))
			return;
		g_usleep(10000);
	}
	fail_msg("the state file never has %s", part);
}

/* Two HCAs, the one with the higher address was there first; the other one is down. */
static struct node *two_hcas(void **state)
{
	struct node *node = *state;
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy")));
	node_mock(node, EARLIER_ONE LATER_ONE);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Healthy")));
	node_mock(node, EARLIER_ONE_DOWN LATER_ONE);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Unhealthy")));
	return node;
}

static void a_restart_changes_neither_ids_nor_health(void **state)
{
	struct node *node = two_hcas(state);
	node_stop_daemon(node);
	node_start_daemon(node);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Unhealthy")));
	/* Not even for a moment: the next list is that of the recovery. */
	node_mock(node, EARLIER_ONE LATER_ONE);
	node_kubelet_says(node, "{\"event\":\"list\",\"resource\":\"rdma/hca\"}");
	node_command(node, "resources");
	node_kubelet_says(node, "{\"event\":\"resource\",\"allocatable\":2}");
	assert_int_equal(
		process_count(node->kubelet, LIST(SLOT("0", "Healthy") "," SLOT("1", "Unhealthy"))),
		2);
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"list\"}"), 5);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_daemon_that_is_killed_has_saved_its_state(void **state)
{
	struct node *node = two_hcas(state);
	await_state(node, "no cable");
	process_signal(node->daemon, SIGKILL);
	node_kubelet_says(node, "{\"event\":\"stream-ended\",\"by\":\"plugin\"}");
	node_start_daemon(node);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Unhealthy")));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* The bus hangs from the start: the kubelet has its list all the same, and learns later
 * that nobody looks after the devices. */
static void saved_ids_do_not_wait_for_a_slow_scan(void **state)
{
	struct node *node = two_hcas(state);
	node_stop_daemon(node);
	node_mock(node, EARLIER_ONE_DOWN LATER_ONE "discover hang forever\n");
	node_start_daemon(node);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Unhealthy")));
	assert_false(process_has_said(node->daemon, "its resources stay at 0"));
	node_kubelet_says(node, LIST(SLOT("0", "Unhealthy") "," SLOT("1", "Unhealthy")));
	node_daemon_says(node, "its resources stay at 0");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void scans_that_fail_from_the_start_change_nothing(void **state)
{
	struct node *node = two_hcas(state);
	node_stop_daemon(node);
	node_mock(node, EARLIER_ONE_DOWN LATER_ONE "discover fail 5\n");
	node_start_daemon(node);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Unhealthy")));
	node_daemon_says(node, "scan failed");
	node_mock(node, EARLIER_ONE LATER_ONE);
	node_daemon_says(node, "scans work again");
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Healthy")));
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"list\"}"), 5);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* --- states that are of no use --- */

/* Starts on the state file as it is: the order is by address then, and that is saved. */
static void expect_anew(struct node *node, const char *said)
{
	node_start_daemon(node);
	node_daemon_says(node, said);
	node_kubelet_says(node, LIST(SLOT("0", "Unhealthy") "," SLOT("1", "Healthy")));
	await_state(node, "\"hcas\":[{\"identity\":\"0000:3b:00.0\"");
	node_stop_daemon(node);
}

static void a_state_of_another_boot_is_not_used(void **state)
{
	struct node *node = two_hcas(state);
	g_autofree char *text = NULL;
	char *boot;
	node_stop_daemon(node);
	text = state_text(node);
	boot = strstr(text, "\"bootId\":\"");
	assert_non_null(boot);
	boot[strlen("\"bootId\":\"")] ^= 1;
	fixture_write(node->root, "state/state.json", text);
	expect_anew(node, "state.json' is not used: it is of another boot");
	node_stop_kubelet(node, 0);
}

static void a_damaged_state_is_not_used(void **state)
{
	static const char *const texts[] = {"", "{\"version\":1,", "\177ELF", "{\"version\":2}",
					    "{\"version\":1,\"bootId\":7}"};
	struct node *node = two_hcas(state);
	node_stop_daemon(node);
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		fixture_write(node->root, "state/state.json", texts[i]);
		expect_anew(node, "warning: state: '");
		fixture_delete(node->root, "state/state.json");
	}
	node_stop_kubelet(node, 0);
}

static void a_fifo_in_its_place_stops_nothing(void **state)
{
	struct node *node = two_hcas(state);
	node_stop_daemon(node);
	fixture_delete(node->root, "state/state.json");
	fixture_apply(node->root, "fifo state/state.json\n");
	expect_anew(node, "state.json' is not used: it cannot be read: it is not a regular file");
	node_stop_kubelet(node, 0);
}

static void other_selectors_begin_anew(void **state)
{
	struct node *node = two_hcas(state);
	node_stop_daemon(node);
	node_resources(node, OTHER_SELECTORS);
	expect_anew(node, "its selectors have changed");
	node_stop_kubelet(node, 0);
}

static void a_directory_that_cannot_be_used_is_said_once(void **state)
{
	struct node *node = *state;
	fixture_delete(node->root, "state");
	fixture_write(node->root, "state", "");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy")));
	node_mock(node, EARLIER_ONE LATER_ONE);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Healthy")));
	assert_int_equal(process_count(node->daemon, "/state': it is no directory"), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_directory_is_made_where_its_parent_is(void **state)
{
	struct node *node = *state;
	fixture_delete(node->root, "state");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy")));
	await_state(node, "0000:af:00.0");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* --- devices in pods (F05) --- */

#define VFS                                                                                        \
	"{\"periodicUpdateInterval\":1,\"configList\":[{\"resourceName\":\"hca\",\"selectors\":["  \
	"{\"ifNames\":[\"ibs1v0\",\"ibs1v1\"],\"linkTypes\":[\"infiniband\"]},"                    \
	"{\"ifNames\":[\"ibs1v2\"]}]}]}"

#define IN_POD                                                                                     \
	"remove sys/class/net/ibs1v1\nremove sys/devices/pci0000:00/0000:12:00.2/net/ibs1v1\n"

/* F05 from before its pods: the first two VFs are in view, the third one is not ours. */
static struct node *vfs_at_work(void)
{
	struct node *node = node_new(MACHINES "f05-vf-netdev-in-pod.txt");
	fixture_apply(node->root, "net 0000:12:00.2 ibs1v1 type=32\n");
	node_resources(node, VFS);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Healthy")));
	return node;
}

static void a_vf_whose_interface_went_into_a_pod_stays(void **state)
{
	struct node *node = vfs_at_work();
	(void)state;
	fixture_apply(node->root, IN_POD);
	/* What appears together with that shows that a scan has seen both. */
	fixture_apply(node->root, "net 0000:12:00.3 ibs1v2 type=32\n");
	node_kubelet_says(
		node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Healthy") "," SLOT("2", "Healthy")));
	for (int i = 0; i < 2; i++) {
		node_stop_daemon(node);
		node_start_daemon(node);
		node_kubelet_says(node, LIST(SLOT("0", "Healthy") "," SLOT("1", "Healthy") "," SLOT(
						"2", "Healthy")));
		node_command(node, "allocate rdma/hca 1 pod-%d", i);
		node_kubelet_says(node, "{\"event\":\"allocated\",\"devices\":["
					"{\"host\":\"/dev/infiniband/rdma_cm\"},"
					"{\"host\":\"/dev/infiniband/uverbs1\"},"
					"{\"host\":\"/dev/infiniband/uverbs2\"},"
					"{\"host\":\"/dev/infiniband/uverbs3\"}]}");
	}
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_restart_changes_neither_ids_nor_health),
		TEST(a_daemon_that_is_killed_has_saved_its_state),
		TEST(saved_ids_do_not_wait_for_a_slow_scan),
		TEST(scans_that_fail_from_the_start_change_nothing),
		TEST(a_state_of_another_boot_is_not_used),
		TEST(a_damaged_state_is_not_used),
		TEST(a_fifo_in_its_place_stops_nothing),
		TEST(other_selectors_begin_anew),
		TEST(a_directory_that_cannot_be_used_is_said_once),
		TEST(a_directory_is_made_where_its_parent_is),
		cmocka_unit_test(a_vf_whose_interface_went_into_a_pod_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
