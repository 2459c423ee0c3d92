/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The podresources service, as far as it tells who holds which device: List. One entry
 * for each device id, as the kubelet has it, and its limit of calls. Asking has the
 * kubelet's side effect: it counts again what is taken.
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
	gint64 filled_us;
};

/* --- the answer --- */

static void *grow(void *array, gsize n)
{
	return g_realloc(array, (n + 1) * sizeof(void *));
}

static void add_device(V1__ContainerResources *container, const char *resource, const char *id)
{
	V1__ContainerDevices *devices = g_new(V1__ContainerDevices, 1);
	v1__container_devices__init(devices);
	devices->resource_name = g_strdup(resource);
	devices->n_device_ids = 1;
	devices->device_ids = g_new(char *, 1);
	devices->device_ids[0] = g_strdup(id);
	container->devices = grow(container->devices, container->n_devices);
	container->devices[container->n_devices++] = devices;
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

static void add_grant(V1__ListPodResourcesResponse *list, const struct sim_grant *grant)
{
	V1__ContainerResources *container =
		find_container(find_pod(list, grant->pod), grant->container);
	for (gsize i = 0; grant->ids[i]; i++)
		add_device(container, grant->resource, grant->ids[i]);
}

/* Packs and frees. */
static GBytes *pack(ProtobufCMessage *message)
{
	gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *data = g_malloc(size + 1);
	protobuf_c_message_pack(message, data);
	protobuf_c_message_free_unpacked(message, NULL);
	return g_bytes_new_take(data, size);
}

static GBytes *list_grants(const SimState *state)
{
	V1__ListPodResourcesResponse *list = g_new(V1__ListPodResourcesResponse, 1);
	v1__list_pod_resources_response__init(list);
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		if (!grant->ended || !state->profile->list_active_only)
			add_grant(list, grant);
	}
	return pack(&list->base);
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

static void on_list(RpcCall *call, GBytes *request, gpointer data)
{
	struct sim_pod_resources *service = data;
	SimState *state = service->sim->state;
	(void)request;
	if (!take_token(service)) {
		rpc_fail(call, RPC_RESOURCE_EXHAUSTED, "rejected by rate limit");
		return;
	}
	g_autoptr(GBytes) reply = list_grants(state);
	sim_state_clean_up(state);
	rpc_reply(call, reply);
	sim_emit(service->sim->events, "pod-resources", json_pack("{s:s}", "call", "List"));
}

static const struct rpc_method methods[] = {
	{"/v1.PodResourcesLister/List", on_list, MAX_REQUEST, 2},
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
