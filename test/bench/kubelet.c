/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kubelet.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "deviceplugin.pb-c.h"

struct bench_kubelet {
	Rpc *rpc;
	RpcServer *server;
	char *dir, *path;
	int listener;
	guint watch;
	GPtrArray *plugins; /* struct watched */
	gboolean stopped;
};

static void watched_free(gpointer data)
{
	struct watched *watched = data;

	rpc_channel_free(watched->channel);
	if (watched->registering)
		rpc_fail(watched->registering, RPC_UNAVAILABLE, "the kubelet stops");
	g_free(watched->resource);
	g_free(watched->endpoint);
	g_free(watched->device);
	g_free(watched);
}

/* --- lists --- */

static void on_list(GBytes *message, gpointer data)
{
	struct watched *watched = data;
	gsize size;
	const guint8 *bytes = g_bytes_get_data(message, &size);
	V1beta1__ListAndWatchResponse *list =
		v1beta1__list_and_watch_response__unpack(NULL, size, bytes);

	if (!list)
		g_error("'%s' sent a list that is none", watched->resource);
	watched->n_healthy = 0;
	for (gsize i = 0; i < list->n_devices; i++)
		watched->n_healthy += g_str_equal(list->devices[i]->health, "Healthy");
	watched->listed_us = g_get_monotonic_time();
	watched->n_devices = list->n_devices;
	watched->lists++;
	if (list->n_devices > 0 && !watched->device)
		watched->device = g_strdup(list->devices[0]->id);
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
}

static void on_stream_end(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	(void)status;
	(void)message;
	(void)reply;
	(void)data;
}

static void on_connected(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct watched *watched = data;
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);
	RpcCall *call = g_steal_pointer(&watched->registering);

	(void)reply;
	if (status != RPC_OK) {
		rpc_fail(call, RPC_UNKNOWN, message);
		return;
	}
	rpc_reply(call, empty);
	rpc_subscribe(watched->channel, "/v1beta1.DevicePlugin/ListAndWatch", empty, on_list,
		      on_stream_end, watched);
}

/* --- Register --- */

static struct watched *find(BenchKubelet *kubelet, const char *resource)
{
	for (guint i = 0; i < kubelet->plugins->len; i++) {
		struct watched *watched = g_ptr_array_index(kubelet->plugins, i);

		if (g_str_equal(watched->resource, resource))
			return watched;
	}
	struct watched *watched = g_new0(struct watched, 1);

	watched->resource = g_strdup(resource);
	g_ptr_array_add(kubelet->plugins, watched);
	return watched;
}

static void handle_register(RpcCall *call, GBytes *message, gpointer data)
{
	BenchKubelet *kubelet = data;
	gint64 now = g_get_monotonic_time();
	gsize size;
	const guint8 *bytes = g_bytes_get_data(message, &size);
	V1beta1__RegisterRequest *request = v1beta1__register_request__unpack(NULL, size, bytes);

	if (!request)
		g_error("a Register request that is none");
	struct watched *watched = find(kubelet, request->resource_name);

	if (watched->registering)
		g_error("'%s' registers while it registers", watched->resource);
	watched->registered_us = now;
	watched->registering = call;
	g_free(watched->endpoint);
	watched->endpoint = g_build_filename(kubelet->dir, request->endpoint, NULL);
	rpc_channel_free(watched->channel);
	watched->channel = rpc_channel_new(kubelet->rpc, watched->endpoint, NULL, 0);
	rpc_channel_wait_connected(watched->channel, 10000, on_connected, watched);
	v1beta1__register_request__free_unpacked(request, NULL);
}

/* --- the socket --- */

static gboolean on_connection(int fd, GIOCondition condition, gpointer data)
{
	BenchKubelet *kubelet = data;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)condition;
	if (client >= 0)
		rpc_server_adopt(kubelet->server, client);
	return G_SOURCE_CONTINUE;
}

static void listen_on(BenchKubelet *kubelet)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	g_strlcpy(address.sun_path, kubelet->path, sizeof(address.sun_path));
	kubelet->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(kubelet->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(kubelet->listener, 128) < 0)
		g_error("cannot listen on '%s': %s", kubelet->path, g_strerror(errno));
	kubelet->watch = g_unix_fd_add(kubelet->listener, G_IO_IN, on_connection, kubelet);
}

BenchKubelet *bench_kubelet_new(Rpc *rpc, const char *dir)
{
	static const struct rpc_method methods[] = {
		{"/v1beta1.Registration/Register", handle_register, 65536, 4}};
	BenchKubelet *kubelet = g_new0(BenchKubelet, 1);

	kubelet->rpc = rpc;
	kubelet->dir = g_strdup(dir);
	kubelet->path = g_build_filename(dir, "kubelet.sock", NULL);
	kubelet->plugins = g_ptr_array_new_with_free_func(watched_free);
	kubelet->server = rpc_server_new(rpc, methods, G_N_ELEMENTS(methods), kubelet);
	listen_on(kubelet);
	return kubelet;
}

static void on_stopped(gpointer data)
{
	((BenchKubelet *)data)->stopped = TRUE;
}

void bench_kubelet_free(BenchKubelet *kubelet)
{
	g_source_remove(kubelet->watch);
	close(kubelet->listener);
	g_unlink(kubelet->path);
	g_ptr_array_unref(kubelet->plugins);
	rpc_server_stop(kubelet->server, 0, on_stopped, kubelet);
	while (!kubelet->stopped)
		g_main_context_iteration(NULL, TRUE);
	g_free(kubelet->path);
	g_free(kubelet->dir);
	g_free(kubelet);
}

const GPtrArray *bench_kubelet_plugins(const BenchKubelet *kubelet)
{
	return kubelet->plugins;
}
