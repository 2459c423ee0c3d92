/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/fake_plugin.h"

#include <string.h>
#include <unistd.h>

#include "kubelet/fake_messages.h"

#define MAX_REQUEST 8388608

/* --- unary methods --- */

static void send_answer(RpcCall *call, const struct fake_answer *answer)
{
	if (answer->status == RPC_OK)
		rpc_reply(call, answer->reply);
	else
		rpc_fail(call, answer->status, answer->message);
}

static void handle(FakePlugin *plugin, enum fake_method method, RpcCall *call, GBytes *request)
{
	const struct fake_answer *answer = &plugin->answers[method];
	plugin->calls[method]++;
	g_clear_pointer(&plugin->last_request[method], g_bytes_unref);
	plugin->last_request[method] = g_bytes_ref(request);
	if (!answer->held) {
		send_answer(call, answer);
		return;
	}
	plugin->held_method = method;
	g_ptr_array_add(plugin->held, call);
}

static void on_options(RpcCall *call, GBytes *request, gpointer data)
{
	handle(data, FAKE_OPTIONS, call, request);
}

static void on_preferred(RpcCall *call, GBytes *request, gpointer data)
{
	handle(data, FAKE_PREFERRED, call, request);
}

static void on_allocate(RpcCall *call, GBytes *request, gpointer data)
{
	handle(data, FAKE_ALLOCATE, call, request);
}

static void on_pre_start(RpcCall *call, GBytes *request, gpointer data)
{
	handle(data, FAKE_PRE_START, call, request);
}

static void on_info(RpcCall *call, GBytes *request, gpointer data)
{
	handle(data, FAKE_INFO, call, request);
}

static void on_notify(RpcCall *call, GBytes *request, gpointer data)
{
	handle(data, FAKE_NOTIFY, call, request);
}

void fake_plugin_release(FakePlugin *plugin)
{
	for (guint i = 0; i < plugin->held->len; i++)
		send_answer(g_ptr_array_index(plugin->held, i),
			    &plugin->answers[plugin->held_method]);
	g_ptr_array_set_size(plugin->held, 0);
	plugin->answers[plugin->held_method].held = FALSE;
}

/* --- ListAndWatch --- */

static void send_list(struct fake_stream *stream)
{
	stream->dirty = stream->sending;
	if (stream->sending || stream->ended)
		return;
	stream->sending = TRUE;
	rpc_stream_send(stream->call, stream->plugin->list);
}

static void on_stream_closed(RpcCall *call, gpointer data)
{
	struct fake_stream *stream = data;
	(void)call;
	g_ptr_array_remove_fast(stream->plugin->streams, stream);
	g_free(stream);
}

static void on_stream_sent(RpcCall *call, gpointer data)
{
	struct fake_stream *stream = data;
	(void)call;
	stream->sending = FALSE;
	if (stream->dirty)
		send_list(stream);
}

static const struct rpc_stream_events stream_events = {.closed = on_stream_closed,
						       .sent = on_stream_sent};

static void on_list(RpcCall *call, GBytes *request, gpointer data)
{
	FakePlugin *plugin = data;
	(void)request;
	plugin->calls[FAKE_LIST]++;
	if (plugin->answers[FAKE_LIST].status != RPC_OK) {
		send_answer(call, &plugin->answers[FAKE_LIST]);
		return;
	}
	struct fake_stream *stream = g_new0(struct fake_stream, 1);
	stream->plugin = plugin;
	stream->call = call;
	g_ptr_array_add(plugin->streams, stream);
	rpc_stream_open(call, &stream_events, stream);
	if (!plugin->answers[FAKE_LIST].held)
		send_list(stream);
}

void fake_plugin_list_bytes(FakePlugin *plugin, GBytes *bytes)
{
	g_bytes_unref(plugin->list);
	plugin->list = g_bytes_ref(bytes);
	for (guint i = 0; i < plugin->streams->len; i++)
		send_list(g_ptr_array_index(plugin->streams, i));
}

void fake_plugin_list(FakePlugin *plugin, const char *devices)
{
	g_autoptr(GBytes) bytes = fake_pack_list(devices);
	fake_plugin_list_bytes(plugin, bytes);
}

void fake_plugin_end_streams(FakePlugin *plugin, enum rpc_status status, const char *message)
{
	for (guint i = 0; i < plugin->streams->len; i++) {
		struct fake_stream *stream = g_ptr_array_index(plugin->streams, i);
		stream->ended = TRUE;
		rpc_stream_end(stream->call, status, message);
	}
}

/* --- answers --- */

static void set_reply(FakePlugin *plugin, enum fake_method method, GBytes *reply)
{
	struct fake_answer *answer = &plugin->answers[method];
	g_clear_pointer(&answer->reply, g_bytes_unref);
	answer->reply = reply;
	answer->status = RPC_OK;
}

void fake_plugin_answer_allocate(FakePlugin *plugin, const char *response)
{
	set_reply(plugin, FAKE_ALLOCATE, fake_pack_allocated(response));
}

void fake_plugin_answer_options(FakePlugin *plugin, gboolean preferred, gboolean pre_start)
{
	set_reply(plugin, FAKE_OPTIONS, fake_pack_options(preferred, pre_start));
	plugin->request_preferred = preferred;
	plugin->request_pre_start = pre_start;
}

void fake_plugin_answer_preferred(FakePlugin *plugin, const char *ids)
{
	set_reply(plugin, FAKE_PREFERRED, fake_pack_preferred(ids));
}

void fake_plugin_answer_info(FakePlugin *plugin, const char *type, const char *version)
{
	set_reply(plugin, FAKE_INFO, fake_pack_info(type, plugin->resource, version));
}

char *fake_plugin_notified(const FakePlugin *plugin)
{
	return fake_unpack_status(plugin->last_request[FAKE_NOTIFY]);
}

void fake_plugin_answer_error(FakePlugin *plugin, enum fake_method method, enum rpc_status status,
			      const char *message)
{
	plugin->answers[method].status = status;
	plugin->answers[method].message = message;
}

/* --- life --- */

static const struct rpc_method methods[] = {
	{"/v1beta1.DevicePlugin/GetDevicePluginOptions", on_options, MAX_REQUEST, 1},
	{"/v1beta1.DevicePlugin/ListAndWatch", on_list, MAX_REQUEST, 2},
	{"/v1beta1.DevicePlugin/GetPreferredAllocation", on_preferred, MAX_REQUEST, 1},
	{"/v1beta1.DevicePlugin/Allocate", on_allocate, MAX_REQUEST, 4},
	{"/v1beta1.DevicePlugin/PreStartContainer", on_pre_start, MAX_REQUEST, 1},
	{"/pluginregistration.Registration/GetInfo", on_info, MAX_REQUEST, 1},
	{"/pluginregistration.Registration/NotifyRegistrationStatus", on_notify, MAX_REQUEST, 1},
};

FakePlugin *fake_plugin_new(Rpc *rpc, const char *dir, const char *resource, const char *endpoint)
{
	FakePlugin *plugin = g_new0(FakePlugin, 1);
	plugin->rpc = rpc;
	plugin->dir = g_strdup(dir);
	plugin->resource = g_strdup(resource);
	plugin->endpoint = g_strdup(endpoint);
	plugin->version = "v1beta1";
	plugin->deadline_ms = 20000;
	plugin->held = g_ptr_array_new();
	plugin->streams = g_ptr_array_new();
	plugin->list = g_bytes_new_static("", 0);
	for (gsize i = 0; i < FAKE_N_METHODS; i++)
		plugin->answers[i].reply = g_bytes_new_static("", 0);
	fake_plugin_answer_allocate(plugin, "dev /dev/null:/dev/null:rw");
	fake_plugin_answer_info(plugin, "DevicePlugin", "v1beta1");
	return plugin;
}

static void on_accept(int fd, gpointer data)
{
	FakePlugin *plugin = data;
	rpc_server_adopt(plugin->server, fd);
}

static char *socket_path(const FakePlugin *plugin)
{
	return g_build_filename(plugin->dir, plugin->endpoint, NULL);
}

void fake_plugin_serve(FakePlugin *plugin)
{
	g_autofree char *path = socket_path(plugin);
	g_autoptr(GError) error = NULL;
	unlink(path);
	if (!plugin->server)
		plugin->server =
			rpc_server_new(plugin->rpc, methods, G_N_ELEMENTS(methods), plugin);
	sim_listener_free(plugin->listener, FALSE);
	plugin->listener = sim_listener_new(path, on_accept, plugin, &error);
	if (!plugin->listener)
		g_error("%s", error->message);
}

static void on_registered(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	FakePlugin *plugin = data;
	(void)reply;
	plugin->registration = NULL;
	plugin->registered = TRUE;
	plugin->register_status = status;
	g_free(plugin->register_message);
	plugin->register_message = g_strdup(message);
}

void fake_plugin_register(FakePlugin *plugin)
{
	g_autofree char *path = g_build_filename(plugin->dir, "kubelet.sock", NULL);
	g_autoptr(GBytes) message = fake_pack_register(plugin);
	struct rpc_target target = {.path = path,
				    .method = "/v1beta1.Registration/Register",
				    .deadline_ms = plugin->deadline_ms};
	plugin->registered = FALSE;
	plugin->registration = rpc_request(plugin->rpc, &target, message, on_registered, plugin);
}

void fake_plugin_hang_up(FakePlugin *plugin)
{
	rpc_request_cancel(g_steal_pointer(&plugin->registration));
}

static void free_now(gpointer data)
{
	FakePlugin *plugin = data;
	for (gsize i = 0; i < FAKE_N_METHODS; i++) {
		g_bytes_unref(plugin->answers[i].reply);
		g_clear_pointer(&plugin->last_request[i], g_bytes_unref);
	}
	g_bytes_unref(plugin->list);
	g_ptr_array_unref(plugin->held);
	g_ptr_array_unref(plugin->streams);
	g_free(plugin->register_message);
	g_free(plugin->dir);
	g_free(plugin->resource);
	g_free(plugin->endpoint);
	*plugin->stopped = TRUE;
	g_free(plugin);
}

void fake_plugin_free(FakePlugin *plugin, gboolean *ret_stopped)
{
	plugin->stopped = ret_stopped;
	fake_plugin_hang_up(plugin);
	sim_listener_free(plugin->listener, TRUE);
	for (guint i = 0; i < plugin->held->len; i++)
		rpc_fail(g_ptr_array_index(plugin->held, i), RPC_UNAVAILABLE, "stopped");
	if (plugin->server)
		rpc_server_stop(plugin->server, 0, free_now, plugin);
	else
		free_now(plugin);
}
