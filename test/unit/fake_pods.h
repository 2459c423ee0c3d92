/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubelet of which only podresources is there, in the test's own main loop: says who
 * holds what, as the test has told it.
 */
#pragma once

#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "edge/rpc.h"
#include "kubelet/listener.h"
#include "kubelet/messages.h"
#include "podresources.pb-c.h"

struct fake_pod {
	char *name;
	char *container;
	char *resource;
	GStrv ids;
};

struct fake_pods {
	Rpc *rpc;
	char *dir, *path;
	Listener *listener;
	RpcServer *server;
	GPtrArray *pods; /* struct fake_pod * */
	guint lists; /* calls of List */
	gboolean fails; /* List is refused */
	RpcCall *held;
	gboolean holds; /* List is not answered, but held */
	gboolean is_down;
};

static inline void fake_pod_free(gpointer data)
{
	struct fake_pod *pod = data;

	g_free(pod->name);
	g_free(pod->container);
	g_free(pod->resource);
	g_strfreev(pod->ids);
	g_free(pod);
}

/* 'ids' separated by spaces. */
static inline void fake_pods_add(struct fake_pods *self, const char *name, const char *container,
				 const char *resource, const char *ids)
{
	struct fake_pod *pod = g_new0(struct fake_pod, 1);

	pod->name = g_strdup(name);
	pod->container = g_strdup(container);
	pod->resource = g_strdup(resource);
	pod->ids = g_strsplit(ids, " ", -1);
	g_ptr_array_add(self->pods, pod);
}

static inline void fake_pods_end(struct fake_pods *self, const char *name)
{
	for (guint i = self->pods->len; i > 0; i--)
		if (strcmp(((struct fake_pod *)self->pods->pdata[i - 1])->name, name) == 0)
			g_ptr_array_remove_index(self->pods, i - 1);
}

/* One message for each pod, so that nothing has to be merged. */
struct fake_pod_message {
	V1__PodResources pod;
	V1__ContainerResources container, *containers[1];
	V1__ContainerDevices devices, *device_list[1];
};

static inline void fake_pod_fill(struct fake_pod_message *message, const struct fake_pod *pod)
{
	message->pod = (V1__PodResources)V1__POD_RESOURCES__INIT;
	message->container = (V1__ContainerResources)V1__CONTAINER_RESOURCES__INIT;
	message->devices = (V1__ContainerDevices)V1__CONTAINER_DEVICES__INIT;
	message->containers[0] = &message->container;
	message->device_list[0] = &message->devices;
	message->pod.name = pod->name;
	message->pod.namespace_ = (char *)"hpc";
	message->pod.n_containers = 1;
	message->pod.containers = message->containers;
	message->container.name = pod->container;
	message->container.n_devices = 1;
	message->container.devices = message->device_list;
	message->devices.resource_name = pod->resource;
	message->devices.n_device_ids = g_strv_length(pod->ids);
	message->devices.device_ids = pod->ids;
}

static inline GBytes *fake_pods_message(const struct fake_pods *self)
{
	struct fake_pod_message *messages = g_new0(struct fake_pod_message, self->pods->len + 1);
	V1__PodResources **pods = g_new0(V1__PodResources *, self->pods->len + 1);
	V1__ListPodResourcesResponse response = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	guint8 *data;
	gsize size;

	for (guint i = 0; i < self->pods->len; i++) {
		fake_pod_fill(&messages[i], self->pods->pdata[i]);
		pods[i] = &messages[i].pod;
	}
	response.n_pod_resources = self->pods->len;
	response.pod_resources = pods;
	size = v1__list_pod_resources_response__get_packed_size(&response);
	data = g_malloc(size + 1);
	v1__list_pod_resources_response__pack(&response, data);
	g_free(messages);
	g_free(pods);
	return g_bytes_new_take(data, size);
}

static inline void fake_pods_reply(struct fake_pods *self, RpcCall *call)
{
	g_autoptr(GBytes) message = fake_pods_message(self);

	rpc_reply(call, message);
}

static inline void fake_pods_on_list(RpcCall *call, GBytes *request, gpointer data)
{
	struct fake_pods *self = data;

	assert_int_equal(g_bytes_get_size(request), 0);
	self->lists++;
	if (self->holds)
		self->held = call;
	else if (self->fails)
		rpc_fail(call, RPC_RESOURCE_EXHAUSTED, "rejected by rate limit");
	else
		fake_pods_reply(self, call);
}

static inline void fake_pods_accepted(int fd, gpointer data)
{
	struct fake_pods *self = data;

	rpc_server_adopt(self->server, fd);
}

static inline void fake_pods_down(gpointer data)
{
	*(gboolean *)data = TRUE;
}

static inline struct fake_pods *fake_pods_new(void)
{
	static const struct rpc_method methods[] = {
		{METHOD_POD_RESOURCES, fake_pods_on_list, 65536, 2}};
	struct fake_pods *self = g_new0(struct fake_pods, 1);

	self->rpc = rpc_new();
	self->dir = g_dir_make_tmp("rdmadp-pods-XXXXXX", NULL);
	self->path = g_build_filename(self->dir, "kubelet.sock", NULL);
	self->pods = g_ptr_array_new_with_free_func(fake_pod_free);
	self->server = rpc_server_new(self->rpc, methods, G_N_ELEMENTS(methods), self);
	self->listener =
		listener_new(self->dir, "kubelet.sock", "test", fake_pods_accepted, self, NULL);
	assert_non_null(self->listener);
	return self;
}

/* The kubelet goes away; its socket with it. */
static inline void fake_pods_vanish(struct fake_pods *self)
{
	g_clear_pointer(&self->listener, listener_free);
}

static inline void fake_pods_free(struct fake_pods *self)
{
	fake_pods_vanish(self);
	if (self->held)
		rpc_fail(self->held, RPC_UNAVAILABLE, "the end");
	rpc_server_stop(self->server, 0, fake_pods_down, &self->is_down);
	while (!self->is_down)
		g_main_context_iteration(NULL, TRUE);
	rpc_free(self->rpc);
	g_ptr_array_unref(self->pods);
	g_rmdir(self->dir);
	g_free(self->dir);
	g_free(self->path);
	g_free(self);
}
