/* SPDX-License-Identifier: Apache-2.0 */
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
#include "podresources.pb-c.h"

#define UNPACK(prefix, bytes)                                                                      \
	prefix##__unpack(NULL, g_bytes_get_size(bytes), g_bytes_get_data(bytes, NULL))

static GBytes *pack_message(const void *message)
{
	gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *data = g_malloc(size + 1);

	protobuf_c_message_pack(message, data);
	return g_bytes_new_take(data, size);
}

static void assert_bytes(GBytes *bytes, const char *expected, gsize n_expected)
{
	assert_int_equal(g_bytes_get_size(bytes), n_expected);
	assert_memory_equal(g_bytes_get_data(bytes, NULL), expected, n_expected);
}
#define assert_bytes_are(bytes, literal) assert_bytes(bytes, literal, sizeof(literal) - 1)

/* --- out --- */

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

/* --- in --- */

static void an_allocate_request_gives_the_ids_of_each_container(G_GNUC_UNUSED void **state)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static("\x0a\x06\x0a\x01"
						     "a\x0a\x01"
						     "b\x0a\x03\x0a\x01"
						     "c\x0a\x00",
						     15);
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) containers = messages_unpack_allocate(bytes, &error);
	GStrv ids;

	assert_null(error);
	assert_int_equal(containers->len, 3);
	ids = g_ptr_array_index(containers, 0);
	assert_int_equal(g_strv_length(ids), 2);
	assert_string_equal(ids[0], "a");
	assert_string_equal(ids[1], "b");
	ids = g_ptr_array_index(containers, 1);
	assert_string_equal(ids[0], "c");
	ids = g_ptr_array_index(containers, 2);
	assert_int_equal(g_strv_length(ids), 0);
}

static const struct {
	const char *name;
	const char *id;
	gsize length;
	const char *problem;
} bad_ids[] = {
	{"empty", "", 0, "is empty"},
	{"NUL inside", "rdma/a-0\0x", 10, "device id 'rdma/a-0' continues after a NUL byte"},
	{"only a NUL", "\0", 1, "continues after a NUL byte"},
	{"bad UTF-8", "a\xff", 2, "is not valid UTF-8"},
	{"control characters", "a\n\xc0", 3, "device id 'a\\n"},
};

static GBytes *allocate_with_id(const char *id, gsize length)
{
	GByteArray *bytes = g_byte_array_new();
	guint8 head[] = {0x0a, (guint8)(length + 2), 0x0a, (guint8)length};

	g_byte_array_append(bytes, head, sizeof(head));
	g_byte_array_append(bytes, (const guint8 *)id, (guint)length);
	return g_byte_array_free_to_bytes(bytes);
}

static void a_bad_id_is_refused_and_named(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(bad_ids); i++) {
		g_autoptr(GBytes) bytes = allocate_with_id(bad_ids[i].id, bad_ids[i].length);
		g_autoptr(GError) error = NULL;

		assert_null(messages_unpack_allocate(bytes, &error));
		assert_true(g_error_matches(error, MESSAGES_ERROR, MESSAGES_ERROR_ID));
		assert_true(g_utf8_validate(error->message, -1, NULL));
		if (!strstr(error->message, bad_ids[i].problem))
			fail_msg("%s: %s", bad_ids[i].name, error->message);
	}
}

static void an_id_as_long_as_a_page_is_refused_in_one_line(G_GNUC_UNUSED void **state)
{
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = {&container};
	g_autofree char *id = g_strnfill(4096, 'x');
	g_autoptr(GBytes) bytes = NULL;
	g_autoptr(GError) error = NULL;

	container.devices_ids = &id;
	container.n_devices_ids = 1;
	request.container_requests = containers;
	request.n_container_requests = 1;
	bytes = pack_message(&request);
	assert_null(messages_unpack_allocate(bytes, &error));
	assert_true(g_error_matches(error, MESSAGES_ERROR, MESSAGES_ERROR_ID));
	assert_true(strlen(error->message) < 200);
}

static const struct {
	const char *bytes;
	gsize length;
} malformed[] = {
	{"\xff", 1}, /* a tag that does not end */
	{"\x0a", 1}, /* no length */
	{"\x0a\x05\x0a", 3}, /* shorter than it says */
	{"\x08\x01", 2}, /* a number where a message belongs */
	{"\x0f", 1}, /* wire type 7 */
	{"\x0b\x0c", 2}, /* a group */
	{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* an absurd length */
};

static void malformed_bytes_are_refused(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(malformed); i++) {
		g_autoptr(GBytes) bytes =
			g_bytes_new_static(malformed[i].bytes, malformed[i].length);
		g_autoptr(GError) allocate = NULL, preferred = NULL, pods = NULL, status = NULL;
		char *refusal = NULL;

		assert_null(messages_unpack_allocate(bytes, &allocate));
		assert_true(g_error_matches(allocate, MESSAGES_ERROR, MESSAGES_ERROR_MALFORMED));
		assert_null(messages_unpack_preferred(bytes, &preferred));
		assert_non_null(preferred);
		assert_null(messages_unpack_pod_resources(bytes, &pods));
		assert_non_null(pods);
		if (malformed[i].bytes[0] == 0x08)
			continue; /* there a number is what belongs */
		assert_false(messages_unpack_status(bytes, &refusal, &status));
		assert_non_null(status);
		assert_null(refusal);
	}
}

static void unknown_fields_are_no_harm(G_GNUC_UNUSED void **state)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static("\x0a\x03\x0a\x01"
						     "a\x7a\x02hi\xf8\x01\x07",
						     12);
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) containers = messages_unpack_allocate(bytes, &error);

	assert_null(error);
	assert_int_equal(containers->len, 1);
}

static void a_message_that_blows_up_in_memory_is_refused(G_GNUC_UNUSED void **state)
{
	gsize size = (gsize)8 * 1024 * 1024;
	guint8 *data = g_malloc(size);
	g_autoptr(GBytes) bytes = NULL;
	g_autoptr(GError) error = NULL;

	for (gsize i = 0; i < size; i += 2) {
		data[i] = 0x0a;
		data[i + 1] = 0;
	}
	bytes = g_bytes_new_take(data, size);
	assert_null(messages_unpack_preferred(bytes, &error));
	assert_true(g_error_matches(error, MESSAGES_ERROR, MESSAGES_ERROR_MALFORMED));
}

static void a_hundred_thousand_ids_are_accepted(G_GNUC_UNUSED void **state)
{
	V1beta1__PreferredAllocationRequest request = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest container =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest *containers[] = {&container};
	g_autoptr(GPtrArray) ids = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) unpacked = NULL;
	g_autoptr(GBytes) bytes = NULL;
	g_autoptr(GError) error = NULL;
	struct preference *preference;

	for (int i = 0; i < 100000; i++)
		g_ptr_array_add(ids, g_strdup_printf("rdma/shared-%d", i));
	container.n_available_deviceids = ids->len;
	container.available_deviceids = (char **)ids->pdata;
	container.n_must_include_deviceids = 1;
	container.must_include_deviceids = (char **)ids->pdata;
	container.allocation_size = 7;
	request.n_container_requests = 1;
	request.container_requests = containers;
	bytes = pack_message(&request);
	unpacked = messages_unpack_preferred(bytes, &error);
	assert_null(error);
	assert_int_equal(unpacked->len, 1);
	preference = g_ptr_array_index(unpacked, 0);
	assert_int_equal(g_strv_length(preference->available), 100000);
	assert_string_equal(preference->available[99999], "rdma/shared-99999");
	assert_int_equal(g_strv_length(preference->must), 1);
	assert_int_equal(preference->size, 7);
}

static void a_bad_id_in_a_preference_is_refused(G_GNUC_UNUSED void **state)
{
	static const char *const requests[] = {"\x0a\x02\x0a\x00", "\x0a\x02\x12\x00"};

	for (gsize i = 0; i < G_N_ELEMENTS(requests); i++) {
		g_autoptr(GBytes) bytes = g_bytes_new_static(requests[i], 4);
		g_autoptr(GError) error = NULL;

		assert_null(messages_unpack_preferred(bytes, &error));
		assert_true(g_error_matches(error, MESSAGES_ERROR, MESSAGES_ERROR_ID));
	}
}

static void a_status_is_taken_or_refused(G_GNUC_UNUSED void **state)
{
	g_autoptr(GBytes) taken = g_bytes_new_static("\x08\x01", 2);
	g_autoptr(GBytes) refused = g_bytes_new_static("\x12\x02no", 4);
	g_autofree char *refusal = NULL;
	g_autoptr(GError) error = NULL;

	assert_true(messages_unpack_status(refused, &refusal, &error));
	assert_string_equal(refusal, "no");
	g_clear_pointer(&refusal, g_free);
	assert_true(messages_unpack_status(taken, &refusal, &error));
	assert_null(refusal);
	assert_null(error);
}

/* What the kubelet sends: one entry for each device. */
static GBytes *pod_resources(void)
{
	static char *ids[] = {(char *)"a-1", (char *)"a-7", (char *)"b-0"};
	V1__ContainerDevices devices[] = {V1__CONTAINER_DEVICES__INIT, V1__CONTAINER_DEVICES__INIT,
					  V1__CONTAINER_DEVICES__INIT};
	V1__ContainerDevices *pointers[] = {&devices[0], &devices[2], &devices[1]};
	V1__ContainerResources container = V1__CONTAINER_RESOURCES__INIT;
	V1__ContainerResources other = V1__CONTAINER_RESOURCES__INIT;
	V1__ContainerResources *containers[] = {&container, &other};
	V1__PodResources pod = V1__POD_RESOURCES__INIT;
	V1__PodResources *pods[] = {&pod};
	V1__ListPodResourcesResponse response = V1__LIST_POD_RESOURCES_RESPONSE__INIT;

	for (int i = 0; i < 3; i++) {
		devices[i].resource_name = (char *)(i < 2 ? "rdma/a" : "rdma/b");
		devices[i].n_device_ids = 1;
		devices[i].device_ids = &ids[i];
	}
	container.name = (char *)"main";
	container.n_devices = 3;
	container.devices = pointers;
	other.name = (char *)"side";
	other.n_devices = 1;
	other.devices = pointers;
	pod.name = (char *)"job-0";
	pod.namespace_ = (char *)"hpc";
	pod.n_containers = 2;
	pod.containers = containers;
	response.n_pod_resources = 1;
	response.pod_resources = pods;
	return pack_message(&response);
}

static void assert_holding(const struct holding *holding, const char *container,
			   const char *resource, const char *ids)
{
	g_autoptr(GString) joined = g_string_new(NULL);

	for (guint i = 0; i < holding->ids->len; i++)
		g_string_append_printf(joined, "%s ", (char *)g_ptr_array_index(holding->ids, i));
	assert_string_equal(holding->name_space, "hpc");
	assert_string_equal(holding->pod, "job-0");
	assert_string_equal(holding->container, container);
	assert_string_equal(holding->resource, resource);
	assert_string_equal(joined->str, ids);
}

static void pod_resources_are_merged_by_container_and_resource(G_GNUC_UNUSED void **state)
{
	g_autoptr(GBytes) bytes = pod_resources();
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) holdings = messages_unpack_pod_resources(bytes, &error);

	assert_null(error);
	assert_int_equal(holdings->len, 3);
	assert_holding(g_ptr_array_index(holdings, 0), "main", "rdma/a", "a-1 a-7 ");
	assert_holding(g_ptr_array_index(holdings, 1), "main", "rdma/b", "b-0 ");
	assert_holding(g_ptr_array_index(holdings, 2), "side", "rdma/a", "a-1 ");
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
		cmocka_unit_test(an_allocate_request_gives_the_ids_of_each_container),
		cmocka_unit_test(a_bad_id_is_refused_and_named),
		cmocka_unit_test(an_id_as_long_as_a_page_is_refused_in_one_line),
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(unknown_fields_are_no_harm),
		cmocka_unit_test(a_message_that_blows_up_in_memory_is_refused),
		cmocka_unit_test(a_hundred_thousand_ids_are_accepted),
		cmocka_unit_test(a_bad_id_in_a_preference_is_refused),
		cmocka_unit_test(a_status_is_taken_or_refused),
		cmocka_unit_test(pod_resources_are_merged_by_container_and_resource),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
