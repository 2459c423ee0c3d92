/* SPDX-License-Identifier: Apache-2.0 */
/* What we send. messages_decode.c has what we receive. */
#include "kubelet/messages.h"

#include "deviceplugin.pb-c.h"
#include "pluginregistration.pb-c.h"

/* More NUMA nodes than this no kubelet can express. */
#define MAX_NUMA_NODES 64

/* The messages' strings are not const, though packing only reads them. */
static char *borrow(const char *text)
{
	return (char *)text;
}

static GBytes *pack(const void *message)
{
	gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *data = g_malloc(size + 1);

	protobuf_c_message_pack(message, data);
	return g_bytes_new_take(data, size);
}

GBytes *messages_pack_empty(void)
{
	return g_bytes_new_static("", 0);
}

GBytes *messages_pack_options(gboolean prefers)
{
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	options.get_preferred_allocation_available = prefers;
	return pack(&options);
}

GBytes *messages_pack_register(const char *endpoint, const char *resource, gboolean prefers)
{
	V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	options.get_preferred_allocation_available = prefers;
	request.version = borrow(MESSAGES_VERSION);
	request.endpoint = borrow(endpoint);
	request.resource_name = borrow(resource);
	request.options = &options;
	return pack(&request);
}

GBytes *messages_pack_plugin_info(const char *resource)
{
	Pluginregistration__PluginInfo info = PLUGINREGISTRATION__PLUGIN_INFO__INIT;
	char *versions[] = {borrow(MESSAGES_VERSION)};

	info.type = borrow("DevicePlugin");
	info.name = borrow(resource);
	info.n_supported_versions = G_N_ELEMENTS(versions);
	info.supported_versions = versions;
	return pack(&info);
}

/* One for each NUMA node, shared by all slots of it. */
struct topology {
	V1beta1__TopologyInfo info;
	V1beta1__NUMANode node;
	V1beta1__NUMANode *nodes[1];
};

static V1beta1__TopologyInfo *fill_topology(struct topology *topologies, int node)
{
	struct topology *topology;

	if (node < 0 || node >= MAX_NUMA_NODES)
		return NULL;
	topology = &topologies[node];
	topology->info = (V1beta1__TopologyInfo)V1BETA1__TOPOLOGY_INFO__INIT;
	topology->node = (V1beta1__NUMANode)V1BETA1__NUMANODE__INIT;
	topology->node.id = node;
	topology->nodes[0] = &topology->node;
	topology->info.n_nodes = 1;
	topology->info.nodes = topology->nodes;
	return &topology->info;
}

GBytes *messages_pack_list(const Snapshot *snapshot)
{
	guint n_slots = snapshot->slots->len;
	g_autofree V1beta1__Device *devices = g_new(V1beta1__Device, n_slots);
	g_autofree V1beta1__Device **pointers = g_new(V1beta1__Device *, n_slots);
	struct topology topologies[MAX_NUMA_NODES];
	V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;

	for (guint i = 0; i < n_slots; i++) {
		const struct slot *slot = g_ptr_array_index(snapshot->slots, i);

		devices[i] = (V1beta1__Device)V1BETA1__DEVICE__INIT;
		devices[i].id = slot->id;
		devices[i].health = borrow(slot->healthy ? "Healthy" : "Unhealthy");
		devices[i].topology = fill_topology(topologies, slot->numa_node);
		pointers[i] = &devices[i];
	}
	list.n_devices = n_slots;
	list.devices = pointers;
	return pack(&list);
}

/* The parts of one container's answer; the arrays own their elements. */
struct answer {
	V1beta1__ContainerAllocateResponse response;
	GPtrArray *devices, *mounts, *envs, *annotations, *cdi_devices;
};

static void fill_devices(struct answer *answer, const Allocation *allocation)
{
	for (guint i = 0; i < allocation->devices->len; i++) {
		const struct allocation_device *device = g_ptr_array_index(allocation->devices, i);
		V1beta1__DeviceSpec *spec = g_new(V1beta1__DeviceSpec, 1);

		*spec = (V1beta1__DeviceSpec)V1BETA1__DEVICE_SPEC__INIT;
		spec->container_path = device->container_path;
		spec->host_path = device->host_path;
		spec->permissions = borrow(device->permissions);
		g_ptr_array_add(answer->devices, spec);
	}
	answer->response.n_devices = answer->devices->len;
	answer->response.devices = (V1beta1__DeviceSpec **)answer->devices->pdata;
}

static void fill_mounts(struct answer *answer, const Allocation *allocation)
{
	for (guint i = 0; i < allocation->mounts->len; i++) {
		const struct allocation_mount *from = g_ptr_array_index(allocation->mounts, i);
		V1beta1__Mount *mount = g_new(V1beta1__Mount, 1);

		*mount = (V1beta1__Mount)V1BETA1__MOUNT__INIT;
		mount->container_path = from->container_path;
		mount->host_path = from->host_path;
		mount->read_only = from->read_only;
		g_ptr_array_add(answer->mounts, mount);
	}
	answer->response.n_mounts = answer->mounts->len;
	answer->response.mounts = (V1beta1__Mount **)answer->mounts->pdata;
}

static void fill_envs(struct answer *answer, const Allocation *allocation)
{
	for (guint i = 0; i < allocation->envs->len; i++) {
		const struct allocation_pair *pair = g_ptr_array_index(allocation->envs, i);
		V1beta1__ContainerAllocateResponse__EnvsEntry *entry =
			g_new(V1beta1__ContainerAllocateResponse__EnvsEntry, 1);

		v1beta1__container_allocate_response__envs_entry__init(entry);
		entry->key = pair->key;
		entry->value = pair->value;
		g_ptr_array_add(answer->envs, entry);
	}
	answer->response.n_envs = answer->envs->len;
	answer->response.envs =
		(V1beta1__ContainerAllocateResponse__EnvsEntry **)answer->envs->pdata;
}

static void fill_annotations(struct answer *answer, const Allocation *allocation)
{
	for (guint i = 0; i < allocation->annotations->len; i++) {
		const struct allocation_pair *pair = g_ptr_array_index(allocation->annotations, i);
		V1beta1__ContainerAllocateResponse__AnnotationsEntry *entry =
			g_new(V1beta1__ContainerAllocateResponse__AnnotationsEntry, 1);

		v1beta1__container_allocate_response__annotations_entry__init(entry);
		entry->key = pair->key;
		entry->value = pair->value;
		g_ptr_array_add(answer->annotations, entry);
	}
	answer->response.n_annotations = answer->annotations->len;
	answer->response.annotations =
		(V1beta1__ContainerAllocateResponse__AnnotationsEntry **)answer->annotations->pdata;
}

static void fill_cdi_devices(struct answer *answer, const Allocation *allocation)
{
	for (guint i = 0; i < allocation->cdi_names->len; i++) {
		V1beta1__CDIDevice *device = g_new(V1beta1__CDIDevice, 1);

		*device = (V1beta1__CDIDevice)V1BETA1__CDIDEVICE__INIT;
		device->name = g_ptr_array_index(allocation->cdi_names, i);
		g_ptr_array_add(answer->cdi_devices, device);
	}
	answer->response.n_cdi_devices = answer->cdi_devices->len;
	answer->response.cdi_devices = (V1beta1__CDIDevice **)answer->cdi_devices->pdata;
}

static struct answer *answer_new(const Allocation *allocation)
{
	struct answer *answer = g_new0(struct answer, 1);

	answer->response =
		(V1beta1__ContainerAllocateResponse)V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
	answer->devices = g_ptr_array_new_with_free_func(g_free);
	answer->mounts = g_ptr_array_new_with_free_func(g_free);
	answer->envs = g_ptr_array_new_with_free_func(g_free);
	answer->annotations = g_ptr_array_new_with_free_func(g_free);
	answer->cdi_devices = g_ptr_array_new_with_free_func(g_free);
	fill_devices(answer, allocation);
	fill_mounts(answer, allocation);
	fill_envs(answer, allocation);
	fill_annotations(answer, allocation);
	fill_cdi_devices(answer, allocation);
	return answer;
}

static void answer_free(gpointer data)
{
	struct answer *answer = data;

	g_ptr_array_unref(answer->devices);
	g_ptr_array_unref(answer->mounts);
	g_ptr_array_unref(answer->envs);
	g_ptr_array_unref(answer->annotations);
	g_ptr_array_unref(answer->cdi_devices);
	g_free(answer);
}

GBytes *messages_pack_allocations(GPtrArray *containers)
{
	g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(answer_free);
	g_autoptr(GPtrArray) responses = g_ptr_array_new();
	V1beta1__AllocateResponse message = V1BETA1__ALLOCATE_RESPONSE__INIT;

	for (guint i = 0; i < containers->len; i++) {
		struct answer *answer = answer_new(g_ptr_array_index(containers, i));

		g_ptr_array_add(answers, answer);
		g_ptr_array_add(responses, &answer->response);
	}
	message.n_container_responses = responses->len;
	message.container_responses = (V1beta1__ContainerAllocateResponse **)responses->pdata;
	return pack(&message);
}

GBytes *messages_pack_preferred(GPtrArray *containers)
{
	g_autoptr(GPtrArray) responses = g_ptr_array_new_with_free_func(g_free);
	V1beta1__PreferredAllocationResponse message = V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;

	for (guint i = 0; i < containers->len; i++) {
		const GPtrArray *ids = g_ptr_array_index(containers, i);
		V1beta1__ContainerPreferredAllocationResponse *response =
			g_new(V1beta1__ContainerPreferredAllocationResponse, 1);

		v1beta1__container_preferred_allocation_response__init(response);
		response->n_deviceids = ids->len;
		response->deviceids = (char **)ids->pdata;
		g_ptr_array_add(responses, response);
	}
	message.n_container_responses = responses->len;
	message.container_responses =
		(V1beta1__ContainerPreferredAllocationResponse **)responses->pdata;
	return pack(&message);
}
