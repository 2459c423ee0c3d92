/* SPDX-License-Identifier: Apache-2.0 */
/* What we receive. */
#include "kubelet/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deviceplugin.pb-c.h"
#include "podresources.pb-c.h"

static GBytes *pack_message(const void *message)
{
	gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *data = g_malloc(size + 1);

	protobuf_c_message_pack(message, data);
	return g_bytes_new_take(data, size);
}

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
