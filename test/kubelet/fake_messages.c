/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/fake_messages.h"

#include <string.h>

#include "deviceplugin.pb-c.h"
#include "pluginregistration.pb-c.h"

static GBytes *pack(ProtobufCMessage *message)
{
	gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *data = g_malloc(size + 1);
	protobuf_c_message_pack(message, data);
	return g_bytes_new_take(data, size);
}

/* Frees a message that was built on the heap. */
static GBytes *pack_heap(ProtobufCMessage *message)
{
	GBytes *bytes = pack(message);
	protobuf_c_message_free_unpacked(message, NULL);
	return bytes;
}

/* GLib's memory is malloc's, so that protobuf-c can free the messages. */
static char *text(const char *value)
{
	return g_strdup(value);
}

static void *grow(void *array, gsize n)
{
	return g_realloc(array, (n + 1) * sizeof(void *));
}

GBytes *fake_pack_register(const FakePlugin *plugin)
{
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
	V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;
	options.pre_start_required = plugin->request_pre_start;
	options.get_preferred_allocation_available = plugin->request_preferred;
	request.version = (char *)plugin->version;
	request.endpoint = plugin->endpoint;
	request.resource_name = plugin->resource;
	request.options = &options;
	return pack(&request.base);
}

GBytes *fake_pack_options(gboolean preferred, gboolean pre_start)
{
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
	options.pre_start_required = pre_start;
	options.get_preferred_allocation_available = preferred;
	return pack(&options.base);
}

/* --- lists --- */

static V1beta1__TopologyInfo *topology(const char *nodes)
{
	V1beta1__TopologyInfo *info = g_malloc(sizeof(*info));
	g_auto(GStrv) words = g_strsplit(nodes, ",", -1);
	v1beta1__topology_info__init(info);
	for (gsize i = 0; words[i]; i++) {
		V1beta1__NUMANode *node = g_malloc(sizeof(*node));
		v1beta1__numanode__init(node);
		node->id = g_ascii_strtoll(words[i], NULL, 10);
		info->nodes = grow(info->nodes, info->n_nodes);
		info->nodes[info->n_nodes++] = node;
	}
	return info;
}

/* "id=health[@nodes]" */
static V1beta1__Device *device(const char *word)
{
	V1beta1__Device *message = g_malloc(sizeof(*message));
	g_auto(GStrv) sides = g_strsplit(word, "=", 2);
	g_auto(GStrv) state = g_strsplit(sides[1] ? sides[1] : "", "@", 2);
	v1beta1__device__init(message);
	message->id = text(sides[0]);
	message->health = text(state[0] ? state[0] : "");
	if (state[0] && state[1])
		message->topology = topology(state[1]);
	return message;
}

GBytes *fake_pack_list(const char *devices)
{
	V1beta1__ListAndWatchResponse *list = g_malloc(sizeof(*list));
	g_auto(GStrv) words = g_strsplit(devices, " ", -1);
	v1beta1__list_and_watch_response__init(list);
	for (gsize i = 0; words[i]; i++) {
		if (!*words[i])
			continue;
		list->devices = grow(list->devices, list->n_devices);
		list->devices[list->n_devices++] = device(words[i]);
	}
	return pack_heap(&list->base);
}

/* --- allocations --- */

typedef V1beta1__ContainerAllocateResponse Container;

static void add_device(Container *container, const char *word)
{
	V1beta1__DeviceSpec *spec = g_malloc(sizeof(*spec));
	g_auto(GStrv) parts = g_strsplit(word, ":", 3);
	v1beta1__device_spec__init(spec);
	spec->host_path = text(parts[0]);
	spec->container_path = text(parts[1]);
	spec->permissions = text(parts[2]);
	container->devices = grow(container->devices, container->n_devices);
	container->devices[container->n_devices++] = spec;
}

static void add_mount(Container *container, const char *word)
{
	V1beta1__Mount *mount = g_malloc(sizeof(*mount));
	g_auto(GStrv) parts = g_strsplit(word, ":", 2);
	v1beta1__mount__init(mount);
	mount->host_path = text(parts[0]);
	mount->container_path = text(parts[1]);
	container->mounts = grow(container->mounts, container->n_mounts);
	container->mounts[container->n_mounts++] = mount;
}

static void add_env(Container *container, const char *word)
{
	V1beta1__ContainerAllocateResponse__EnvsEntry *entry = g_malloc(sizeof(*entry));
	g_auto(GStrv) sides = g_strsplit(word, "=", 2);
	v1beta1__container_allocate_response__envs_entry__init(entry);
	entry->key = text(sides[0]);
	entry->value = text(sides[1]);
	container->envs = grow(container->envs, container->n_envs);
	container->envs[container->n_envs++] = entry;
}

static void add_annotation(Container *container, const char *word)
{
	V1beta1__ContainerAllocateResponse__AnnotationsEntry *entry = g_malloc(sizeof(*entry));
	g_auto(GStrv) sides = g_strsplit(word, "=", 2);
	v1beta1__container_allocate_response__annotations_entry__init(entry);
	entry->key = text(sides[0]);
	entry->value = text(sides[1]);
	container->annotations = grow(container->annotations, container->n_annotations);
	container->annotations[container->n_annotations++] = entry;
}

static void add_cdi(Container *container, const char *word)
{
	V1beta1__CDIDevice *cdi = g_malloc(sizeof(*cdi));
	v1beta1__cdidevice__init(cdi);
	cdi->name = text(word);
	container->cdi_devices = grow(container->cdi_devices, container->n_cdi_devices);
	container->cdi_devices[container->n_cdi_devices++] = cdi;
}

static const struct {
	const char *word;
	void (*add)(Container *container, const char *word);
} parts[] = {
	{"dev", add_device},	 {"mount", add_mount}, {"env", add_env},
	{"ann", add_annotation}, {"cdi", add_cdi},
};

static Container *container(const char *response)
{
	Container *message = g_malloc(sizeof(*message));
	g_auto(GStrv) words = g_strsplit(response, " ", -1);
	v1beta1__container_allocate_response__init(message);
	for (gsize i = 0; words[i] && words[i + 1]; i++) {
		for (gsize j = 0; j < G_N_ELEMENTS(parts); j++) {
			if (strcmp(words[i], parts[j].word) == 0)
				parts[j].add(message, words[i + 1]);
		}
	}
	return message;
}

GBytes *fake_pack_allocated(const char *response)
{
	V1beta1__AllocateResponse *message = g_malloc(sizeof(*message));
	g_auto(GStrv) containers = g_strsplit(response, "|", -1);
	v1beta1__allocate_response__init(message);
	for (gsize i = 0; containers[i]; i++) {
		message->container_responses =
			grow(message->container_responses, message->n_container_responses);
		message->container_responses[message->n_container_responses++] =
			container(containers[i]);
	}
	return pack_heap(&message->base);
}

GBytes *fake_pack_preferred(const char *ids)
{
	V1beta1__ContainerPreferredAllocationResponse container_response =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_RESPONSE__INIT;
	V1beta1__ContainerPreferredAllocationResponse *responses[] = {&container_response};
	V1beta1__PreferredAllocationResponse message = V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
	g_auto(GStrv) words = g_strsplit(ids ? ids : "", " ", -1);
	container_response.deviceids = words;
	container_response.n_deviceids = g_strv_length(words);
	message.container_responses = responses;
	message.n_container_responses = ids ? 1 : 0;
	return pack(&message.base);
}

/* --- the plugin watcher --- */

GBytes *fake_pack_info(const char *type, const char *name, const char *version)
{
	Pluginregistration__PluginInfo info = PLUGINREGISTRATION__PLUGIN_INFO__INIT;
	char *versions[] = {(char *)version};
	info.type = (char *)type;
	info.name = (char *)name;
	info.supported_versions = versions;
	info.n_supported_versions = 1;
	return pack(&info.base);
}

char *fake_unpack_status(GBytes *message)
{
	Pluginregistration__RegistrationStatus *status =
		pluginregistration__registration_status__unpack(NULL, g_bytes_get_size(message),
								g_bytes_get_data(message, NULL));
	char *error = status->plugin_registered ? NULL : g_strdup(status->error);
	pluginregistration__registration_status__free_unpacked(status, NULL);
	return error;
}
