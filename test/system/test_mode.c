/* SPDX-License-Identifier: Apache-2.0 */
/* Mode "auto": a resource is shared or exclusive as a label of the node says, while pods
 * come and go. */
#include "system/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "support/fixture.h"

#define TWO_SOCKETS SOURCE_DIR "/test/fixtures/machines/two-sockets.txt"
#define RES "rdma/hca"

#define N_SHARED 3
#define N_EXCLUSIVE 2
#define CONFIG                                                                                     \
	"{\"configList\":[{\"resourceName\":\"hca\",\"mode\":\"auto\",\"rdmaHcaMax\":3,"           \
	"\"selectors\":{\"rdmaDevices\":[\"mlx5_bond_*\"]}}]}"

static void start_kubelet_late(struct node *node, const char *pods_late)
{
	g_autofree char *pods = node_pod_resources(node);
	const char *const options[] = {"--pod-resources", pods, "--pods-late", pods_late, NULL};
	node_start_kubelet(node, options);
}

static void start_kubelet(struct node *node)
{
	start_kubelet_late(node, "0");
}

static struct node *node_with_label(gboolean exclusive)
{
	struct node *node = node_new(TWO_SOCKETS);
	g_autofree char *settings =
		g_strdup_printf("mode_label_file = \"%s/labels\";\n", node->root);
	g_setenv("NODE_NAME", "node-7", TRUE);
	node_label(node, exclusive);
	node_settings(node, settings);
	node_resources(node, CONFIG);
	return node;
}

static void end(struct node *node)
{
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

static void await_allocatable(const struct node *node, int n)
{
	node_await_allocatable(node, RES, n);
}

/* TRUE: the pod is there and holds what it has asked for. */
static gboolean allocate(const struct node *node, int n, const char *pod)
{
	return node_allocate(node, RES, n, pod) != NULL;
}

static void expect_status(const struct node *node, const char *part)
{
	const char *const options[] = {"status", NULL};
	Process *process = node_run_daemon(node, options);
	int status;
	assert_true(process_await_exit(process, &status));
	assert_int_equal(status, 0);
	assert_true(process_has_said(process, part));
	process_free(process);
}

/* --- one after the other --- */

static void the_mode_follows_the_label(void **state)
{
	struct node *node = node_with_label(FALSE);
	(void)state;
	start_kubelet(node);
	node_start_daemon(node);
	await_allocatable(node, N_SHARED);
	assert_true(allocate(node, 1, "shared-pod"));
	node_label(node, TRUE);
	node_daemon_says(node, "node node-7 has exclusive label, enabling exclusive mode");
	node_daemon_says(node,
			 RES ": the switch to exclusive mode waits for the pods that hold 1 of "
			     "the devices, such as '");
	await_allocatable(node, 0);
	assert_false(allocate(node, 1, "late-pod"));
	expect_status(node, "shared; exclusive mode is wanted and waits for the pods that hold 1");
	node_free_pod(node, "shared-pod");
	node_daemon_says(node, RES ": hca-exclusive mode");
	node_daemon_says(node, "discovered RDMA device: mlx5_bond_0 (PCI=0000:3b:00.0, NUMA=0, "
			       "uverbs=uverbs12, pcieRoot=pci0000:3a)");
	await_allocatable(node, N_EXCLUSIVE);
	assert_true(allocate(node, 2, "exclusive-pod"));
	assert_true(process_has_said(node->kubelet, "{\"event\":\"preferred\"}"));
	node_label(node, FALSE);
	node_daemon_says(node, "node node-7 has no exclusive label, enabling shared mode");
	await_allocatable(node, 0);
	/* a kubelet that restarts meanwhile changes nothing */
	node_command(node, "restart 50");
	node_daemon_says(node, "Registered device plugin with Kubelet");
	node_free_pod(node, "exclusive-pod");
	await_allocatable(node, N_SHARED);
	end(node);
}

static void an_exclusive_node_is_so_from_the_start(void **state)
{
	static const char *const lines[] = {
		"node node-7 has exclusive label, enabling exclusive mode",
		RES ": hca-exclusive mode",
		"discovered RDMA device: mlx5_bond_0 (PCI=0000:3b:00.0, NUMA=0, uverbs=uverbs12, "
		"pcieRoot=pci0000:3a)",
		"discovered RDMA device: mlx5_bond_1 (PCI=0000:d8:00.0, NUMA=1, uverbs=uverbs13, "
		"pcieRoot=pci0000:d7)",
		"Registered device plugin with Kubelet",
	};
	struct node *node = node_with_label(TRUE);
	(void)state;
	start_kubelet(node);
	process_free(node->daemon);
	node->daemon = node_run_daemon(node, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
		node_daemon_says(node, lines[i]);
	await_allocatable(node, N_EXCLUSIVE);
	end(node);
}

/* Pods hold what a former process has given them: the label has changed meanwhile. */
static void what_pods_hold_decides_at_the_start(void **state)
{
	struct node *node = node_with_label(FALSE);
	(void)state;
	start_kubelet(node);
	node_start_daemon(node);
	await_allocatable(node, N_SHARED);
	assert_true(allocate(node, 2, "shared-pod"));
	node_stop_daemon(node);
	node_label(node, TRUE);
	node_start_daemon(node);
	node_daemon_says(node, RES ": hca-shared mode");
	node_daemon_says(node, "the switch to exclusive mode waits for the pods that hold 2");
	await_allocatable(node, 0);
	node_free_pod(node, "shared-pod");
	await_allocatable(node, N_EXCLUSIVE);
	end(node);
}

/* The kubelet's first words name no pods, because it has not heard of them yet. */
static void a_kubelet_that_has_just_started_is_not_believed(void **state)
{
	struct node *node = node_with_label(FALSE);
	(void)state;
	node_kubelet_settings(node, "settle_time = 3.0;\n");
	start_kubelet_late(node, "1500");
	node_start_daemon(node);
	await_allocatable(node, N_SHARED);
	assert_true(allocate(node, 1, "shared-pod"));
	node_label(node, TRUE);
	await_allocatable(node, 0);
	node_command(node, "restart 50\nsleep 5000\nresources");
	node_kubelet_says(node, "{\"event\":\"serving\"}");
	node_kubelet_says(node, "{\"event\":\"resource\"}");
	assert_false(process_has_said(node->daemon, "hca-exclusive mode"));
	node_free_pod(node, "shared-pod");
	await_allocatable(node, N_EXCLUSIVE);
	end(node);
}

/* The label's file is written by somebody who starts later: nothing is switched there and
 * back meanwhile. */
static void a_label_that_comes_late_changes_nothing(void **state)
{
	struct node *node = node_with_label(TRUE);
	(void)state;
	start_kubelet(node);
	node_start_daemon(node);
	await_allocatable(node, N_EXCLUSIVE);
	node_stop_daemon(node);
	fixture_delete(node->root, "labels");
	node_start_daemon(node);
	node_daemon_says(node, "stay as they were, or shared");
	node_daemon_says(node, RES ": hca-exclusive mode");
	await_allocatable(node, N_EXCLUSIVE);
	node_label(node, TRUE);
	node_daemon_says(node, "node node-7 has exclusive label, enabling exclusive mode");
	assert_true(allocate(node, 2, "pod"));
	end(node);
}

/* The daemon was started before somebody wrote where the labels are. */
static void the_labels_file_may_be_named_later(void **state)
{
	struct node *node = node_with_label(TRUE);
	g_autofree char *settings =
		g_strdup_printf("mode_label_file = \"%s/labels\";\n", node->root);
	(void)state;
	node_settings(node, "");
	start_kubelet(node);
	node_start_daemon(node);
	node_daemon_says(node, RES ": its mode is \"auto\", and mode_label_file is not set");
	await_allocatable(node, N_SHARED);
	node_settings(node, settings);
	node_daemon_says(node, "node node-7 has exclusive label, enabling exclusive mode");
	await_allocatable(node, N_EXCLUSIVE);
	end(node);
}

/* There is no podresources socket: the node's label at the start is all there is, and a
 * change of it is not followed. */
static void without_podresources_nothing_is_switched(void **state)
{
	struct node *node = node_with_label(TRUE);
	(void)state;
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_daemon_says(node, "starts in exclusive mode without knowing what pods hold");
	await_allocatable(node, N_EXCLUSIVE);
	node_label(node, FALSE);
	node_daemon_says(node,
			 "stays in exclusive mode although shared mode is wanted: cannot ask");
	assert_true(allocate(node, 2, "pod"));
	end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mode_follows_the_label),
		cmocka_unit_test(an_exclusive_node_is_so_from_the_start),
		cmocka_unit_test(what_pods_hold_decides_at_the_start),
		cmocka_unit_test(a_kubelet_that_has_just_started_is_not_believed),
		cmocka_unit_test(a_label_that_comes_late_changes_nothing),
		cmocka_unit_test(the_labels_file_may_be_named_later),
		cmocka_unit_test(without_podresources_nothing_is_switched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
