/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that go from one resource to another while pods hold them. */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fixture.h"

#define TWO_SOCKETS SOURCE_DIR "/test/fixtures/machines/two-sockets.txt"

#define SHARED(name, hcas)                                                                         \
	"{\"resourceName\":\"" name "\",\"rdmaHcaMax\":2,\"selectors\":{\"rdmaDevices\":[\"" hcas  \
	"\"]}}"
#define EXCLUSIVE(name, hcas)                                                                      \
	"{\"resourceName\":\"" name                                                                \
	"\",\"mode\":\"exclusive\",\"selectors\":{\"rdmaDevices\":[\"" hcas "\"]}}"
#define AUTO(name, hcas)                                                                           \
	"{\"resourceName\":\"" name "\",\"mode\":\"auto\",\"rdmaHcaMax\":2,"                       \
	"\"selectors\":{\"rdmaDevices\":[\"" hcas "\"]}}"
#define CONFIG(resources) "{\"configList\":[" resources "]}"

#define KEPT(resource, former)                                                                     \
	"custody: \"" resource "\" gets devices, such as '0000:3b:00.0', not before no pod can "   \
	"hold them through \"" former "\""

static struct node *begin(const char *config, gboolean with_pod_resources)
{
	struct node *node = node_new(TWO_SOCKETS);
	g_autofree char *settings =
		g_strdup_printf("mode_label_file = \"%s/labels\";\n", node->root);
	g_autofree char *pods = with_pod_resources ? node_pod_resources(node) : NULL;
	const char *const options[] = {"--pod-resources", pods, NULL};

	node_settings(node, settings);
	node_label(node, FALSE);
	node_resources(node, config);
	node_start_kubelet(node, with_pod_resources ? options : NULL);
	node_start_daemon(node);
	return node;
}

static void end(struct node *node)
{
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
}

/* Two resources that follow the label share an HCA; the one becomes exclusive while a pod
 * of the other has it. */
static void a_switch_waits_for_pods_of_other_resources(void **state)
{
	struct node *node =
		begin(CONFIG(AUTO("a", "mlx5_bond_0") "," AUTO("b", "mlx5_bond_*")), TRUE);

	(void)state;
	node_await_allocatable(node, "rdma/a", 2);
	node_await_allocatable(node, "rdma/b", 2);
	assert_non_null(node_allocate(node, "rdma/b", 1, "shared-pod"));
	node_label(node, TRUE);
	node_daemon_says(node, KEPT("rdma/a", "rdma/b"));
	node_await_allocatable(node, "rdma/a", 0);
	assert_null(node_allocate(node, "rdma/a", 1, "too-early"));
	node_free_pod(node, "shared-pod");
	node_await_allocatable(node, "rdma/a", 1);
	assert_non_null(node_allocate(node, "rdma/a", 1, "exclusive-pod"));
	/* and b has what is left */
	node_await_allocatable(node, "rdma/b", 1);
	end(node);
}

/* The first in the file gets the HCA back when it is shared again, and waits for the pod
 * that has it for itself. */
static void the_way_back_waits_as_well(void **state)
{
	struct node *node =
		begin(CONFIG(SHARED("s", "mlx5_bond_1") "," EXCLUSIVE("x", "mlx5_bond_0")), TRUE);

	(void)state;
	node_await_allocatable(node, "rdma/s", 2);
	node_await_allocatable(node, "rdma/x", 1);
	assert_non_null(node_allocate(node, "rdma/x", 1, "exclusive-pod"));
	node_resources(node, CONFIG(SHARED("s", "mlx5_bond_*") "," EXCLUSIVE("x", "mlx5_bond_0")));
	node_daemon_says(node, KEPT("rdma/s", "rdma/x"));
	node_command(node, "allocate rdma/s 1 p");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"pod\":\"p\",\"devices\":[{\"host\":"
				"\"/dev/infiniband/rdma_cm\"},{\"host\":"
				"\"/dev/infiniband/uverbs13\"}]}");
	node_free_pod(node, "exclusive-pod");
	/* Nothing of the list tells when the HCA is there: the next pods show it. */
	for (guint i = 0;; i++) {
		g_autofree char *pod = g_strdup_printf("q%u", i);
		const char *line = node_allocate(node, "rdma/s", 1, pod);

		assert_non_null(line);
		if (g_strstr_len(line, -1, "uverbs12") != NULL)
			break;
		node_command(node, "free %s\nsleep 200", pod);
	}
	end(node);
}

static void expect_status(const struct node *node, const char *text)
{
	const char *const options[] = {"status", NULL};
	Process *status = node_run_daemon(node, options);

	if (process_await(status, text) == NULL)
		fail_msg("status does not say '%s'", text);
	process_free(status);
}

/* A resource is renamed, and becomes exclusive by the way. */
static void another_resource_waits_for_the_pods_of_the_former(void **state)
{
	struct node *node = begin(CONFIG(SHARED("old", "mlx5_bond_*")), TRUE);

	(void)state;
	node_await_allocatable(node, "rdma/old", 2);
	assert_non_null(node_allocate(node, "rdma/old", 1, "pod"));
	node_resources(node, CONFIG(EXCLUSIVE("new", "mlx5_bond_*")));
	node_daemon_says(node, KEPT("rdma/new", "rdma/old"));
	node_await_allocatable(node, "rdma/new", 0);
	expect_status(node, "waits until no pod can hold devices, such as '0000:3b:00.0', through "
			    "\"rdma/old\"");
	node_free_pod(node, "pod");
	node_await_allocatable(node, "rdma/new", 2);
	end(node);
}

/* The same while the daemon is not there. */
static void a_restart_forgets_nobody(void **state)
{
	struct node *node = begin(CONFIG(SHARED("old", "mlx5_bond_*")), TRUE);

	(void)state;
	node_await_allocatable(node, "rdma/old", 2);
	assert_non_null(node_allocate(node, "rdma/old", 1, "pod"));
	node_stop_daemon(node);
	node_resources(node, CONFIG(EXCLUSIVE("new", "mlx5_bond_*")));
	node_start_daemon(node);
	node_daemon_says(node, KEPT("rdma/new", "rdma/old"));
	node_await_allocatable(node, "rdma/new", 0);
	/* and again, when the former resource is in no file any more */
	node_stop_daemon(node);
	node_start_daemon(node);
	node_daemon_says(node, KEPT("rdma/new", "rdma/old"));
	node_await_allocatable(node, "rdma/new", 0);
	node_free_pod(node, "pod");
	node_await_allocatable(node, "rdma/new", 2);
	end(node);
}

/* Where nobody can be asked the administrator has the last word. */
static void without_podresources_devices_go_over_in_the_end(void **state)
{
	struct node *node = begin(CONFIG(SHARED("old", "mlx5_bond_*")), FALSE);

	(void)state;
	node_await_allocatable(node, "rdma/old", 2);
	node_resources(node, CONFIG(EXCLUSIVE("new", "mlx5_bond_*")));
	node_daemon_says(node, "custody: devices go to other resources without knowing");
	node_await_allocatable(node, "rdma/new", 2);
	end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_waits_for_pods_of_other_resources),
		cmocka_unit_test(the_way_back_waits_as_well),
		cmocka_unit_test(another_resource_waits_for_the_pods_of_the_former),
		cmocka_unit_test(a_restart_forgets_nobody),
		cmocka_unit_test(without_podresources_devices_go_over_in_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
