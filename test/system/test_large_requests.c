/* SPDX-License-Identifier: Apache-2.0 */
/* GetPreferredAllocation with as many ids as there can be, over a real connection, and
 * machines with many devices. What is allocated then is another matter: these machines
 * have no device nodes. */
#include "system/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/list_size.h"

/* Enough that the order of a hash table shows. */
#define DEVICES 100
/* Virtual functions of a large node. */
#define MANY_DEVICES 4000

static struct node *begin(const char *devices, const char *resources)
{
	struct node *node = node_new("");

	node_mock(node, devices);
	node_resources(node, resources);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	return node;
}

/* How long the daemon takes to end with so many is no matter here. */
static void end(struct node *node)
{
	node_stop_kubelet(node, 0);
	node_free(node);
}

static void add_device(GString *text, guint i)
{
	g_string_append_printf(text,
			       "device 0000:%02x:%02x.0\ndriver mlx5_core\nattribute vendor 15b3\n"
			       "numa %u\nrdma mlx5_%u mlx5_ib\nport 1 ethernet active\n"
			       "uverbs infiniband/uverbs%u 231:%u\n"
			       "rdma_cm infiniband/rdma_cm 10:121\n",
			       i % 256, i / 256, i % 2, i, i, 192 + i);
}

/* The largest list that the configuration may ask for: the kubelet names all of its ids
 * for a single one, and gets an answer. */
static void the_largest_list_is_no_request_too_large(void **state)
{
	guint most = list_size_max_slots("rdma/hca", TRUE);
	g_autoptr(GString) devices = g_string_new(NULL);
	g_autofree char *resources =
		g_strdup_printf("{\"faultDetectPeriod\":0,\"configList\":[{\"resourceName\":"
				"\"hca\",\"mode\":\"auto\",\"topology\":true,"
				"\"rdmaHcaMax\":%u,\"selectors\":{\"buses\":[\"mock\"]}}]}",
				most);
	struct node *node;

	(void)state;
	assert_true(most > 50000);
	add_device(devices, 0);
	node = begin(devices->str, resources);
	node_await_allocatable(node, "rdma/hca", (int)most);
	node_command(node, "allocate rdma/hca 1 pod");
	node_kubelet_says(node, "{\"event\":\"preferred\",\"pod\":\"pod\"}");
	end(node);
}

static char *all_preferred(void)
{
	GString *text = g_string_new("{\"event\":\"preferred\",\"ids\":[");

	for (guint i = 0; i < DEVICES; i++)
		g_string_append_printf(text, "%s\"0000:%02x:00.0\"", i > 0 ? "," : "", i);
	g_string_append(text, "]}");
	return g_string_free(text, FALSE);
}

/* Every device of a node for one container. */
static void all_devices_are_given_at_once(void **state)
{
	g_autoptr(GString) devices = g_string_new(NULL);
	g_autofree char *pattern = all_preferred();
	struct node *node;

	(void)state;
	for (guint i = 0; i < DEVICES; i++)
		add_device(devices, i);
	node = begin(devices->str,
		     "{\"faultDetectPeriod\":0,\"configList\":[{\"resourceName\":\"hca\",\"mode\":"
		     "\"exclusive\",\"selectors\":{\"buses\":[\"mock\"]}}]}");
	node_await_allocatable(node, "rdma/hca", DEVICES);
	/* all of the even ones are on one NUMA node */
	node_command(node, "allocate rdma/hca 3 some");
	node_kubelet_says(node, "{\"event\":\"preferred\",\"ids\":[\"0000:00:00.0\","
				"\"0000:02:00.0\",\"0000:04:00.0\"]}");
	node_command(node, "allocate rdma/hca %u all", DEVICES);
	node_kubelet_says(node, pattern);
	end(node);
}

/* What each look at a device costs must not grow with their number: the daemon had no
 * time for anything else. */
static void many_devices_that_are_polled_leave_time_for_pods(void **state)
{
	g_autoptr(GString) devices = g_string_new(NULL);
	struct node *node;

	(void)state;
	for (guint i = 0; i < MANY_DEVICES; i++)
		add_device(devices, i);
	node = begin(devices->str,
		     "{\"faultDetectPeriod\":2,\"configList\":[{\"resourceName\":\"hca\",\"mode\":"
		     "\"exclusive\",\"selectors\":{\"buses\":[\"mock\"]}}]}");
	node_await_allocatable(node, "rdma/hca", MANY_DEVICES);
	for (int i = 0; i < 3; i++) {
		node_command(node, "allocate rdma/hca 2 pod%d", i);
		node_kubelet_says(node, "{\"event\":\"preferred\"}");
	}
	node_stop_daemon(node);
	end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_list_is_no_request_too_large),
		cmocka_unit_test(all_devices_are_given_at_once),
		cmocka_unit_test(many_devices_that_are_polled_leave_time_for_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
