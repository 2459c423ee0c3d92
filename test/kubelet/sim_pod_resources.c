/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The podresources service, as far as it tells of devices: who holds which (List, Get),
 * and which there are (GetAllocatableResources). One entry for each device id, as the
 * kubelet has it, and its limit of calls. Asking who holds them has the kubelet's side
 * effect: it counts again what is taken.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kubelet/sim_private.h"
#include "podresources.pb-c.h"

/* Calls a second, and how many may come at once. */
#define RATE 100
#define BURST 10
#define MAX_REQUEST 65536

struct sim_pod_resources {
	Sim *sim;
	RpcServer *server;
	SimListener *listener;
	double tokens;
	gint64 filled_us, started_us;
};

/* --- the answer --- */

static void *grow(void *array, gsize n)
{
	return g_realloc(array, (n + 1) * sizeof(void *));
}

static void add_node(V1__TopologyInfo *topology, gint64 id)
{
	V1__NUMANode *node = g_new(V1__NUMANode, 1);
	v1__numanode__init(node);
	node->id = id;
	topology->nodes = grow(topology->nodes, topology->n_nodes);
	topology->nodes[topology->n_nodes++] = node;
}

/* NULL for a device that is on no node, or no longer listed. */
static V1__TopologyInfo *topology_of(const SimState *state, const char *name, const char *id)
{
	const struct sim_resource *resource = sim_state_find(state, name);
	const struct sim_device *device =
		resource ? g_hash_table_lookup(resource->devices, id) : NULL;
	if (!device || device->nodes->len == 0)
		return NULL;
	V1__TopologyInfo *topology = g_new(V1__TopologyInfo, 1);
	v1__topology_info__init(topology);
	for (guint i = 0; i < device->nodes->len; i++)
		add_node(topology, g_array_index(device->nodes, gint64, i));
	return topology;
}

static V1__ContainerDevices *device_new(const SimState *state, const char *resource, const char *id)
{
	V1__ContainerDevices *devices = g_new(V1__ContainerDevices, 1);
	v1__container_devices__init(devices);
	devices->resource_name = g_strdup(resource);
	devices->n_device_ids = 1;
	devices->device_ids = g_new(char *, 1);
	devices->device_ids[0] = g_strdup(id);
	devices->topology = topology_of(state, resource, id);
	return devices;
}

static V1__PodResources *find_pod(V1__ListPodResourcesResponse *list, const char *name)
{
	for (gsize i = 0; i < list->n_pod_resources; i++) {
		if (strcmp(list->pod_resources[i]->name, name) == 0)
			return list->pod_resources[i];
	}
	V1__PodResources *pod = g_new(V1__PodResources, 1);
	v1__pod_resources__init(pod);
	pod->name = g_strdup(name);
	pod->namespace_ = g_strdup("default");
	list->pod_resources = grow(list->pod_resources, list->n_pod_resources);
	list->pod_resources[list->n_pod_resources++] = pod;
	return pod;
}

static V1__ContainerResources *find_container(V1__PodResources *pod, const char *name)
{
	for (gsize i = 0; i < pod->n_containers; i++) {
		if (strcmp(pod->containers[i]->name, name) == 0)
			return pod->containers[i];
	}
	V1__ContainerResources *container = g_new(V1__ContainerResources, 1);
	v1__container_resources__init(container);
	container->name = g_strdup(name);
	pod->containers = grow(pod->containers, pod->n_containers);
	pod->containers[pod->n_containers++] = container;
	return container;
}

static void add_grant(V1__ListPodResourcesResponse *list, const SimState *state,
		      const struct sim_grant *grant)
{
	V1__ContainerResources *container =
		find_container(find_pod(list, grant->pod), grant->container);
	for (gsize i = 0; grant->ids[i]; i++) {
		container->devices = grow(container->devices, container->n_devices);
		container->devices[container->n_devices++] =
			device_new(state, grant->resource, grant->ids[i]);
	}
}

static GBytes *pack(const ProtobufCMessage *message)
{
	gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *data = g_malloc(size + 1);
	protobuf_c_message_pack(message, data);
	return g_bytes_new_take(data, size);
}

/* 'pod' NULL: of all. */
static V1__ListPodResourcesResponse *list_grants(const SimState *state, const char *pod)
{
	V1__ListPodResourcesResponse empty = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	V1__ListPodResourcesResponse *list = g_memdup2(&empty, sizeof(empty));
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		gboolean shown = !grant->ended || !state->profile->list_active_only;
		if (shown && (!pod || strcmp(pod, grant->pod) == 0))
			add_grant(list, state, grant);
	}
	return list;
}

/* Only what is healthy can be allocated. */
static void add_allocatable(V1__AllocatableResourcesResponse *answer, const SimState *state,
			    const char *name)
{
	const struct sim_resource *resource = sim_state_find(state, name);
	if (!resource->healthy)
		return;
	g_autoptr(GPtrArray) ids = sim_set_sorted(resource->healthy);
	/* The set ends with a NULL. */
	for (guint i = 0; i < ids->len && g_ptr_array_index(ids, i); i++) {
		answer->devices = grow(answer->devices, answer->n_devices);
		answer->devices[answer->n_devices++] =
			device_new(state, name, g_ptr_array_index(ids, i));
	}
}

/* --- calls --- */

static gboolean take_token(struct sim_pod_resources *service)
{
	gint64 now = sim_clock(service->sim);
	double filled = (double)(now - service->filled_us) * RATE / G_USEC_PER_SEC;
	service->tokens = MIN(BURST, service->tokens + filled);
	service->filled_us = now;
	if (service->tokens < 1)
		return FALSE;
	service->tokens -= 1;
	return TRUE;
}

/* FALSE, and the call is answered, if there were too many. */
static gboolean admit(struct sim_pod_resources *service, RpcCall *call, const char *name)
{
	if (!take_token(service)) {
		rpc_fail(call, RPC_RESOURCE_EXHAUSTED, "rejected by rate limit");
		return FALSE;
	}
	sim_emit(service->sim->events, "pod-resources", json_pack("{s:s}", "call", name));
	return TRUE;
}

static void on_list(RpcCall *call, GBytes *request, gpointer data)
{
	struct sim_pod_resources *service = data;
	SimState *state = service->sim->state;
	(void)request;
	if (!admit(service, call, "List"))
		return;
	/* A kubelet restores its devices from a file, but hears of its pods from the API. */
	gboolean early = sim_ms_since(service->started_us) < service->sim->options.pods_late_ms;
	V1__ListPodResourcesResponse *list = list_grants(state, NULL);
	g_autoptr(GBytes) reply = early ? g_bytes_new(NULL, 0) : pack(&list->base);
	v1__list_pod_resources_response__free_unpacked(list, NULL);
	sim_state_clean_up(state);
	rpc_reply(call, reply);
}

static void on_allocatable(RpcCall *call, GBytes *request, gpointer data)
{
	struct sim_pod_resources *service = data;
	SimState *state = service->sim->state;
	(void)request;
	if (!admit(service, call, "GetAllocatableResources"))
		return;
	V1__AllocatableResourcesResponse empty = V1__ALLOCATABLE_RESOURCES_RESPONSE__INIT;
	V1__AllocatableResourcesResponse *answer = g_memdup2(&empty, sizeof(empty));
	g_autoptr(GPtrArray) names = sim_state_names(state);
	for (guint i = 0; i < names->len; i++)
		add_allocatable(answer, state, g_ptr_array_index(names, i));
	g_autoptr(GBytes) reply = pack(&answer->base);
	v1__allocatable_resources_response__free_unpacked(answer, NULL);
	rpc_reply(call, reply);
}

static void answer_get(SimState *state, RpcCall *call, const V1__GetPodResourcesRequest *asked)
{
	V1__ListPodResourcesResponse *list = list_grants(state, asked->pod_name);
	V1__GetPodResourcesResponse answer = V1__GET_POD_RESOURCES_RESPONSE__INIT;
	sim_state_clean_up(state);
	if (list->n_pod_resources > 0 && strcmp(asked->pod_namespace, "default") == 0) {
		answer.pod_resources = list->pod_resources[0];
		g_autoptr(GBytes) reply = pack(&answer.base);
		rpc_reply(call, reply);
	} else {
		g_autofree char *text = g_strdup_printf("pod %s in namespace %s not found",
							asked->pod_name, asked->pod_namespace);
		rpc_fail(call, RPC_UNKNOWN, text);
	}
	v1__list_pod_resources_response__free_unpacked(list, NULL);
}

static void on_get(RpcCall *call, GBytes *request, gpointer data)
{
	struct sim_pod_resources *service = data;
	SimState *state = service->sim->state;
	if (!admit(service, call, "Get"))
		return;
	V1__GetPodResourcesRequest *asked = v1__get_pod_resources_request__unpack(
		NULL, g_bytes_get_size(request), g_bytes_get_data(request, NULL));
	if (!state->profile->pod_resources_get)
		rpc_fail(call, RPC_UNKNOWN, "PodResources API Get method disabled");
	else if (!asked)
		rpc_fail(call, RPC_INTERNAL, "grpc: failed to unmarshal the received message");
	else
		answer_get(state, call, asked);
	if (asked)
		v1__get_pod_resources_request__free_unpacked(asked, NULL);
}

static const struct rpc_method methods[] = {
	{"/v1.PodResourcesLister/List", on_list, MAX_REQUEST, 2},
	{"/v1.PodResourcesLister/GetAllocatableResources", on_allocatable, MAX_REQUEST, 1},
	{"/v1.PodResourcesLister/Get", on_get, MAX_REQUEST, 1},
};

/* --- life --- */

static void on_connection(int fd, gpointer data)
{
	struct sim_pod_resources *service = data;
	rpc_server_adopt(service->server, fd);
}

gboolean sim_pod_resources_start(Sim *sim, GError **error)
{
	const char *path = sim->options.pod_resources;
	if (!path)
		return TRUE;
	g_autofree char *dir = g_path_get_dirname(path);
	(void)g_mkdir_with_parents(dir, 0750);
	(void)unlink(path);
	struct sim_pod_resources *service = g_new0(struct sim_pod_resources, 1);
	service->sim = sim;
	service->tokens = BURST;
	service->filled_us = sim_clock(sim);
	service->started_us = g_get_monotonic_time();
	service->listener = sim_listener_new(path, on_connection, service, error);
	if (!service->listener) {
		g_free(service);
		return FALSE;
	}
	service->server = rpc_server_new(sim->rpc, methods, G_N_ELEMENTS(methods), service);
	sim->pod_resources = service;
	return TRUE;
}

static void on_stopped(gpointer data)
{
	struct sim_pod_resources *service = data;
	Sim *sim = service->sim;
	g_free(service);
	sim_server_ended(sim);
}

void sim_pod_resources_stop(Sim *sim)
{
	struct sim_pod_resources *service = g_steal_pointer(&sim->pod_resources);
	if (!service)
		return;
	sim_listener_free(service->listener, FALSE);
	sim->stopping++;
	rpc_server_stop(service->server, 0, on_stopped, service);
}
