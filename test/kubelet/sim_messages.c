/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_messages.h"

#include <string.h>

#define BAD_UTF8 "string field contains invalid UTF-8"
#define BAD_WIRE "cannot parse invalid wire-format data"

struct sim_device *sim_device_new(const char *id, const char *health)
{
	struct sim_device *device = g_new0(struct sim_device, 1);
	device->id = g_strdup(id);
	device->health = g_strdup(health);
	device->nodes = g_array_new(FALSE, FALSE, sizeof(gint64));
	return device;
}

void sim_device_free(struct sim_device *device)
{
	if (!device)
		return;
	g_free(device->id);
	g_free(device->health);
	g_array_unref(device->nodes);
	g_free(device);
}

gboolean sim_device_equal(const struct sim_device *a, const struct sim_device *b)
{
	if (strcmp(a->id, b->id) != 0 || strcmp(a->health, b->health) != 0 ||
	    a->has_topology != b->has_topology || a->nodes->len != b->nodes->len)
		return FALSE;
	for (guint i = 0; i < a->nodes->len; i++) {
		if (g_array_index(a->nodes, gint64, i) != g_array_index(b->nodes, gint64, i))
			return FALSE;
	}
	return TRUE;
}

/* --- pack --- */

static GBytes *pack(const ProtobufCMessage *message)
{
	gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *data = g_malloc(size + 1);
	protobuf_c_message_pack(message, data);
	return g_bytes_new_take(data, size);
}

GBytes *sim_pack_empty(void)
{
	return g_bytes_new_static("", 0);
}

/* protobuf-c's arrays are not const; packing does not write to them. */
static char **writable(const char *const *ids)
{
	union {
		const char *const *from;
		char **to;
	} strings = {.from = ids};
	return strings.to;
}

static gsize count(const char *const *ids)
{
	gsize n = 0;
	while (ids[n])
		n++;
	return n;
}

GBytes *sim_pack_allocate(const char *const *ids)
{
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = {&container};
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	container.n_devices_ids = count(ids);
	container.devices_ids = writable(ids);
	request.n_container_requests = 1;
	request.container_requests = containers;
	return pack(&request.base);
}

GBytes *sim_pack_preferred(const char *const *available, const char *const *must, int size)
{
	V1beta1__ContainerPreferredAllocationRequest container =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest *containers[] = {&container};
	V1beta1__PreferredAllocationRequest request = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
	container.n_available_deviceids = count(available);
	container.available_deviceids = writable(available);
	container.n_must_include_deviceids = count(must);
	container.must_include_deviceids = writable(must);
	container.allocation_size = size;
	request.n_container_requests = 1;
	request.container_requests = containers;
	return pack(&request.base);
}

GBytes *sim_pack_pre_start(const char *const *ids)
{
	V1beta1__PreStartContainerRequest request = V1BETA1__PRE_START_CONTAINER_REQUEST__INIT;
	request.n_devices_ids = count(ids);
	request.devices_ids = writable(ids);
	return pack(&request.base);
}

/* --- unpack --- */

static gboolean message_is_utf8(const ProtobufCMessage *message);

static gboolean value_is_utf8(const ProtobufCFieldDescriptor *field, const void *value)
{
	if (field->type == PROTOBUF_C_TYPE_STRING) {
		const char *text = *(const char *const *)value;
		return !text || g_utf8_validate(text, -1, NULL);
	}
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const ProtobufCMessage *sub = *(const ProtobufCMessage *const *)value;
		return !sub || message_is_utf8(sub);
	}
	return TRUE;
}

static gboolean field_is_utf8(const ProtobufCMessage *message,
			      const ProtobufCFieldDescriptor *field)
{
	const char *base = (const char *)message;
	const void *member = base + field->offset;
	if (field->label != PROTOBUF_C_LABEL_REPEATED)
		return value_is_utf8(field, member);
	if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
		return TRUE;
	gsize n;
	memcpy(&n, base + field->quantifier_offset, sizeof(n));
	const void *const *items = *(const void *const *const *)member;
	for (gsize i = 0; i < n; i++) {
		if (!value_is_utf8(field, &items[i]))
			return FALSE;
	}
	return TRUE;
}

static gboolean message_is_utf8(const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;
	for (unsigned int i = 0; i < descriptor->n_fields; i++) {
		if (!field_is_utf8(message, &descriptor->fields[i]))
			return FALSE;
	}
	return TRUE;
}

static ProtobufCMessage *unpack(const ProtobufCMessageDescriptor *descriptor, GBytes *bytes,
				gboolean check_utf8, const char **ret_problem)
{
	gsize size;
	const guint8 *data = g_bytes_get_data(bytes, &size);
	ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, NULL, size, data);
	if (!message) {
		*ret_problem = BAD_WIRE;
		return NULL;
	}
	if (!check_utf8 || message_is_utf8(message))
		return message;
	protobuf_c_message_free_unpacked(message, NULL);
	*ret_problem = BAD_UTF8;
	return NULL;
}

SimRegister *sim_unpack_register(GBytes *bytes, gboolean check_utf8, const char **ret_problem)
{
	return (SimRegister *)unpack(&v1beta1__register_request__descriptor, bytes, check_utf8,
				     ret_problem);
}

void sim_register_free(SimRegister *message)
{
	v1beta1__register_request__free_unpacked(message, NULL);
}

gboolean sim_unpack_options(GBytes *bytes, struct sim_options_answer *ret_options,
			    const char **ret_problem)
{
	V1beta1__DevicePluginOptions *options = (V1beta1__DevicePluginOptions *)unpack(
		&v1beta1__device_plugin_options__descriptor, bytes, FALSE, ret_problem);
	if (!options)
		return FALSE;
	ret_options->pre_start_required = options->pre_start_required;
	ret_options->preferred_available = options->get_preferred_allocation_available;
	v1beta1__device_plugin_options__free_unpacked(options, NULL);
	return TRUE;
}

static struct sim_device *device_from(const V1beta1__Device *message)
{
	struct sim_device *device = sim_device_new(message->id, message->health);
	if (!message->topology)
		return device;
	device->has_topology = TRUE;
	for (gsize i = 0; i < message->topology->n_nodes; i++) {
		gint64 node = message->topology->nodes[i]->id;
		g_array_append_val(device->nodes, node);
	}
	return device;
}

GPtrArray *sim_unpack_list(GBytes *bytes, gboolean check_utf8, const char **ret_problem)
{
	V1beta1__ListAndWatchResponse *list = (V1beta1__ListAndWatchResponse *)unpack(
		&v1beta1__list_and_watch_response__descriptor, bytes, check_utf8, ret_problem);
	if (!list)
		return NULL;
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)sim_device_free);
	for (gsize i = 0; i < list->n_devices; i++)
		g_ptr_array_add(devices, device_from(list->devices[i]));
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
	return devices;
}

GStrv sim_unpack_preferred(GBytes *bytes, gboolean check_utf8, const char **ret_problem)
{
	V1beta1__PreferredAllocationResponse *response =
		(V1beta1__PreferredAllocationResponse *)unpack(
			&v1beta1__preferred_allocation_response__descriptor, bytes, check_utf8,
			ret_problem);
	if (!response)
		return NULL;
	GStrv ids = NULL;
	if (response->n_container_responses > 0) {
		const V1beta1__ContainerPreferredAllocationResponse *first =
			response->container_responses[0];
		ids = g_new0(char *, first->n_deviceids + 1);
		for (gsize i = 0; i < first->n_deviceids; i++)
			ids[i] = g_strdup(first->deviceids[i]);
	}
	v1beta1__preferred_allocation_response__free_unpacked(response, NULL);
	return ids;
}

SimAllocated *sim_unpack_allocated(GBytes *bytes, gboolean check_utf8, const char **ret_problem)
{
	return (SimAllocated *)unpack(&v1beta1__allocate_response__descriptor, bytes, check_utf8,
				      ret_problem);
}

void sim_allocated_free(SimAllocated *message)
{
	v1beta1__allocate_response__free_unpacked(message, NULL);
}
