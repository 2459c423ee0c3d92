/* SPDX-License-Identifier: Apache-2.0 */
/* What we send. */
#include "kubelet/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deviceplugin.pb-c.h"
#include "model/list_size.h"
#include "pluginregistration.pb-c.h"

#define UNPACK(prefix, bytes)                                                                      \
	prefix##__unpack(NULL, g_bytes_get_size(bytes), g_bytes_get_data(bytes, NULL))

static void assert_bytes(GBytes *bytes, const char *expected, gsize n_expected)
{
	assert_int_equal(g_bytes_get_size(bytes), n_expected);
	assert_memory_equal(g_bytes_get_data(bytes, NULL), expected, n_expected);
}
#define assert_bytes_are(bytes, literal) assert_bytes(bytes, literal, sizeof(literal) - 1)

static void a_list_has_exact_texts_and_order(G_GNUC_UNUSED void **state)
{
	g_autoptr(Snapshot) snapshot = snapshot_new("rdma/a");
	g_autoptr(GBytes) bytes = NULL;
	V1beta1__ListAndWatchResponse *list;

	snapshot_add_slot(snapshot, g_strdup("rdma/a-1"), TRUE, -1);
	snapshot_add_slot(snapshot, g_strdup("rdma/a-0"), FALSE, 3);
	bytes = messages_pack_list(snapshot);
	list = UNPACK(v1beta1__list_and_watch_response, bytes);
	assert_non_null(list);
	assert_int_equal(list->n_devices, 2);
	assert_string_equal(list->devices[0]->id, "rdma/a-1");
	assert_string_equal(list->devices[0]->health, "Healthy");
	assert_null(list->devices[0]->topology);
	assert_string_equal(list->devices[1]->id, "rdma/a-0");
	assert_string_equal(list->devices[1]->health, "Unhealthy");
	assert_int_equal(list->devices[1]->topology->n_nodes, 1);
	assert_int_equal(list->devices[1]->topology->nodes[0]->id, 3);
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
}

static void numa_node_zero_is_an_empty_message_that_is_there(G_GNUC_UNUSED void **state)
{
	g_autoptr(Snapshot) snapshot = snapshot_new("r");
	g_autoptr(GBytes) bytes = NULL;

	snapshot_add_slot(snapshot, g_strdup("x"), TRUE, 0);
	bytes = messages_pack_list(snapshot);
	assert_bytes_are(bytes, "\x0a\x10"
				"\x0a\x01x"
				"\x12\x07Healthy"
				"\x1a\x02\x0a\x00");
}

static void a_numa_node_that_no_kubelet_knows_is_left_out(G_GNUC_UNUSED void **state)
{
	static const int nodes[] = {-1, -2, 64, 100000};

	for (gsize i = 0; i < G_N_ELEMENTS(nodes); i++) {
		g_autoptr(Snapshot) snapshot = snapshot_new("r");
		g_autoptr(GBytes) bytes = NULL;

		snapshot_add_slot(snapshot, g_strdup("x"), TRUE, nodes[i]);
		bytes = messages_pack_list(snapshot);
		assert_bytes_are(bytes, "\x0a\x0c"
					"\x0a\x01x"
					"\x12\x07Healthy");
	}
}

static void an_empty_list_has_no_bytes(G_GNUC_UNUSED void **state)
{
	g_autoptr(Snapshot) snapshot = snapshot_new("r");
	g_autoptr(GBytes) bytes = messages_pack_list(snapshot);

	assert_int_equal(g_bytes_get_size(bytes), 0);
}

static void a_packed_list_has_the_size_that_was_computed(G_GNUC_UNUSED void **state)
{
	for (gboolean topology = FALSE; topology <= TRUE; topology++) {
		g_autoptr(Snapshot) snapshot = snapshot_new("rdma/hca_shared");
		g_autoptr(GBytes) bytes = NULL;

		for (int i = 0; i < 1234; i++)
			snapshot_add_slot(snapshot, g_strdup_printf("rdma/hca_shared-%d", i), FALSE,
					  topology ? 1 : -1);
		bytes = messages_pack_list(snapshot);
		assert_int_equal(g_bytes_get_size(bytes),
				 list_size_bytes("rdma/hca_shared", 1234, topology));
	}
}

static void register_and_options_say_the_same(G_GNUC_UNUSED void **state)
{
	for (gboolean prefers = FALSE; prefers <= TRUE; prefers++) {
		g_autoptr(GBytes) options = messages_pack_options(prefers);
		g_autoptr(GBytes) bytes = messages_pack_register("rdma_a.sock", "rdma/a", prefers);
		V1beta1__RegisterRequest *request = UNPACK(v1beta1__register_request, bytes);

		assert_string_equal(request->version, "v1beta1");
		assert_string_equal(request->endpoint, "rdma_a.sock");
		assert_string_equal(request->resource_name, "rdma/a");
		assert_false(request->options->pre_start_required);
		assert_int_equal(request->options->get_preferred_allocation_available, prefers);
		if (prefers)
			assert_bytes_are(options, "\x10\x01");
		else
			assert_int_equal(g_bytes_get_size(options), 0);
		v1beta1__register_request__free_unpacked(request, NULL);
	}
}

static void plugin_info_names_type_resource_and_version(G_GNUC_UNUSED void **state)
{
	g_autoptr(GBytes) bytes = messages_pack_plugin_info("rdma/a");
	Pluginregistration__PluginInfo *info = UNPACK(pluginregistration__plugin_info, bytes);

	assert_string_equal(info->type, "DevicePlugin");
	assert_string_equal(info->name, "rdma/a");
	assert_string_equal(info->endpoint, "");
	assert_int_equal(info->n_supported_versions, 1);
	assert_string_equal(info->supported_versions[0], "v1beta1");
	pluginregistration__plugin_info__free_unpacked(info, NULL);
}

static Allocation *full_allocation(void)
{
	Allocation *allocation = allocation_new();

	allocation_add_device(allocation, "/dev/infiniband/uverbs0");
	allocation_add_device(allocation, "/dev/infiniband/rdma_cm");
	allocation_add_mount(allocation, "/host/huge", "/huge", TRUE);
	allocation_add_env(allocation, "NCCL_IB_HCA", "mlx5_0");
	g_ptr_array_add(allocation->cdi_names, g_strdup("rdma/a=all"));
	allocation_finish(allocation);
	return allocation;
}

static void check_full_answer(const V1beta1__ContainerAllocateResponse *answer)
{
	assert_int_equal(answer->n_devices, 2);
	assert_string_equal(answer->devices[0]->host_path, "/dev/infiniband/rdma_cm");
	assert_string_equal(answer->devices[0]->container_path, "/dev/infiniband/rdma_cm");
	assert_string_equal(answer->devices[0]->permissions, "rw");
	assert_string_equal(answer->devices[1]->host_path, "/dev/infiniband/uverbs0");
	assert_int_equal(answer->n_mounts, 1);
	assert_string_equal(answer->mounts[0]->host_path, "/host/huge");
	assert_string_equal(answer->mounts[0]->container_path, "/huge");
	assert_true(answer->mounts[0]->read_only);
	assert_int_equal(answer->n_envs, 1);
	assert_string_equal(answer->envs[0]->key, "NCCL_IB_HCA");
	assert_string_equal(answer->envs[0]->value, "mlx5_0");
	assert_int_equal(answer->n_cdi_devices, 1);
	assert_string_equal(answer->cdi_devices[0]->name, "rdma/a=all");
}

static void an_answer_carries_everything_of_each_container(G_GNUC_UNUSED void **state)
{
	g_autoptr(GPtrArray) containers =
		g_ptr_array_new_with_free_func((GDestroyNotify)(void (*)(void))allocation_free);
	g_autoptr(GBytes) bytes = NULL;
	V1beta1__AllocateResponse *response;
	struct allocation_pair *pair = g_new(struct allocation_pair, 1);
	Allocation *second = allocation_new();

	*pair = (struct allocation_pair){g_strdup("key"), g_strdup("value")};
	g_ptr_array_add(second->annotations, pair);
	g_ptr_array_add(containers, full_allocation());
	g_ptr_array_add(containers, second);
	bytes = messages_pack_allocations(containers);
	response = UNPACK(v1beta1__allocate_response, bytes);
	assert_int_equal(response->n_container_responses, 2);
	check_full_answer(response->container_responses[0]);
	assert_int_equal(response->container_responses[1]->n_devices, 0);
	assert_int_equal(response->container_responses[1]->n_annotations, 1);
	assert_string_equal(response->container_responses[1]->annotations[0]->key, "key");
	assert_string_equal(response->container_responses[1]->annotations[0]->value, "value");
	v1beta1__allocate_response__free_unpacked(response, NULL);
}

static void preferred_keeps_one_entry_for_each_container(G_GNUC_UNUSED void **state)
{
	g_autoptr(GPtrArray) containers =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	GPtrArray *ids = g_ptr_array_new();
	g_autoptr(GBytes) bytes = NULL;
	g_autoptr(GBytes) empty = messages_pack_empty();

	g_ptr_array_add(ids, (char *)"a");
	g_ptr_array_add(ids, (char *)"b");
	g_ptr_array_add(containers, ids);
	g_ptr_array_add(containers, g_ptr_array_new());
	bytes = messages_pack_preferred(containers);
	assert_bytes_are(bytes, "\x0a\x06\x0a\x01"
				"a\x0a\x01"
				"b\x0a\x00");
	assert_int_equal(g_bytes_get_size(empty), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_exact_texts_and_order),
		cmocka_unit_test(numa_node_zero_is_an_empty_message_that_is_there),
		cmocka_unit_test(a_numa_node_that_no_kubelet_knows_is_left_out),
		cmocka_unit_test(an_empty_list_has_no_bytes),
		cmocka_unit_test(a_packed_list_has_the_size_that_was_computed),
		cmocka_unit_test(register_and_options_say_the_same),
		cmocka_unit_test(plugin_info_names_type_resource_and_version),
		cmocka_unit_test(an_answer_carries_everything_of_each_container),
		cmocka_unit_test(preferred_keeps_one_entry_for_each_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
