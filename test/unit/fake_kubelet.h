/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small kubelet for the tests of core/kubelet: it serves Registration, dials back
 * within Register as kubelets since 1.25 do, and keeps what it is shown. Include after
 * cmocka.h. The simulator in test/kubelet is the big one.
 */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "deviceplugin.pb-c.h"
#include "edge/rpc.h"
#include "kubelet/listener.h"
#include "kubelet/messages.h"

/* ctest's time limit ends a wait for what never comes. */
#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		while (!(condition))                                                               \
			g_main_context_iteration(NULL, TRUE);                                      \
	} while (0)

struct fake_kubelet {
	Rpc *rpc;
	char *dir;
	Listener *listener;
	RpcServer *server;
	gboolean is_down;
	guint registers; /* calls of Register */
	const char *refusal; /* answers Register with this error */
	gboolean ignores; /* never answers Register */
	gboolean opens_no_stream;
	GPtrArray *connections; /* struct connection *, in the order of their making */
};

/* One connection back to a plugin. */
struct connection {
	struct fake_kubelet *owner;
	char *path, *endpoint, *resource;
	RpcCall *call; /* the Register that is not answered yet */
	RpcChannel *channel;
	gboolean prefers;
	gboolean streams; /* ListAndWatch is open */
	gboolean has_ended; /* ... and the plugin has ended it */
	guint n_lists;
	V1beta1__ListAndWatchResponse *list; /* the last one */
};

/* --- a connection --- */

static inline void on_list(GBytes *message, gpointer data)
{
	struct connection *connection = data;
	gsize size;
	const guint8 *bytes = g_bytes_get_data(message, &size);

	if (connection->list)
		v1beta1__list_and_watch_response__free_unpacked(connection->list, NULL);
	connection->list = v1beta1__list_and_watch_response__unpack(NULL, size, bytes);
	assert_non_null(connection->list);
	connection->n_lists++;
}

static inline void on_list_end(G_GNUC_UNUSED enum rpc_status status,
			       G_GNUC_UNUSED const char *message, G_GNUC_UNUSED GBytes *reply,
			       gpointer data)
{
	struct connection *connection = data;

	connection->streams = FALSE;
	connection->has_ended = TRUE;
}

static inline void connection_subscribe(struct connection *connection)
{
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

	connection->streams = TRUE;
	connection->has_ended = FALSE;
	rpc_subscribe(connection->channel, METHOD_LIST_AND_WATCH, empty, on_list, on_list_end,
		      connection);
}

static inline void connection_answer(struct connection *connection, enum rpc_status status,
				     const char *problem)
{
	RpcCall *call = g_steal_pointer(&connection->call);
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

	if (call && status == RPC_OK)
		rpc_reply(call, empty);
	else if (call)
		rpc_fail(call, RPC_UNKNOWN, problem);
}

static inline void on_options(enum rpc_status status, const char *message, GBytes *reply,
			      gpointer data)
{
	struct connection *connection = data;
	gsize size;

	connection_answer(connection, status, message);
	if (status != RPC_OK)
		return;
	g_bytes_get_data(reply, &size);
	connection->prefers = size > 0;
	if (!connection->owner->opens_no_stream)
		connection_subscribe(connection);
}

static inline void on_connected(enum rpc_status status, const char *message,
				G_GNUC_UNUSED GBytes *reply, gpointer data)
{
	struct connection *connection = data;
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);

	if (status == RPC_OK)
		rpc_channel_request(connection->channel, METHOD_OPTIONS, empty, 10000, on_options,
				    connection);
	else
		connection_answer(connection, status, message);
}

static inline struct connection *connection_new(struct fake_kubelet *fake, const char *path)
{
	struct connection *connection = g_new0(struct connection, 1);

	connection->owner = fake;
	connection->path = g_strdup(path);
	connection->channel = rpc_channel_new(fake->rpc, path, "localhost", 0);
	g_ptr_array_add(fake->connections, connection);
	return connection;
}

static inline void connection_close(struct connection *connection)
{
	connection_answer(connection, RPC_UNAVAILABLE, "the kubelet goes away");
	g_clear_pointer(&connection->channel, rpc_channel_free);
	connection->streams = FALSE;
}

static inline void connection_free(gpointer data)
{
	struct connection *connection = data;

	connection_close(connection);
	if (connection->list)
		v1beta1__list_and_watch_response__free_unpacked(connection->list, NULL);
	g_free(connection->path);
	g_free(connection->endpoint);
	g_free(connection->resource);
	g_free(connection);
}

/* --- Register --- */

static inline void on_register(RpcCall *call, GBytes *request, gpointer data)
{
	struct fake_kubelet *fake = data;
	gsize size;
	const guint8 *bytes = g_bytes_get_data(request, &size);
	V1beta1__RegisterRequest *message = v1beta1__register_request__unpack(NULL, size, bytes);
	g_autofree char *path = g_build_filename(fake->dir, message->endpoint, NULL);
	struct connection *connection;

	fake->registers++;
	assert_string_equal(message->version, "v1beta1");
	if (fake->refusal) {
		rpc_fail(call, RPC_UNKNOWN, fake->refusal);
	} else {
		connection = connection_new(fake, path);
		connection->endpoint = g_strdup(message->endpoint);
		connection->resource = g_strdup(message->resource_name);
		connection->call = call;
		if (!fake->ignores)
			rpc_channel_wait_connected(connection->channel, 10000, on_connected,
						   connection);
	}
	v1beta1__register_request__free_unpacked(message, NULL);
}

/* --- life --- */

static inline void on_fake_accepted(int fd, gpointer data)
{
	struct fake_kubelet *fake = data;

	rpc_server_adopt(fake->server, fd);
}

static inline void on_fake_down(gpointer data)
{
	struct fake_kubelet *fake = data;

	fake->is_down = TRUE;
}

static inline struct fake_kubelet *fake_new(Rpc *rpc, const char *dir)
{
	struct fake_kubelet *fake = g_new0(struct fake_kubelet, 1);

	fake->rpc = rpc;
	fake->dir = g_strdup(dir);
	fake->connections = g_ptr_array_new_with_free_func(connection_free);
	return fake;
}

/* As a kubelet does: removes every socket of the directory, then makes its own. */
static inline void fake_start(struct fake_kubelet *fake)
{
	static const struct rpc_method methods[] = {{METHOD_REGISTER, on_register, 65536, 2}};
	g_autoptr(GDir) listing = g_dir_open(fake->dir, 0, NULL);
	g_autoptr(GError) error = NULL;
	const char *name;

	while ((name = g_dir_read_name(listing)) != NULL) {
		g_autofree char *path = g_build_filename(fake->dir, name, NULL);

		g_unlink(path);
	}
	fake->is_down = FALSE;
	fake->server = rpc_server_new(fake->rpc, methods, G_N_ELEMENTS(methods), fake);
	fake->listener = listener_new(fake->dir, "kubelet.sock", "fake kubelet", on_fake_accepted,
				      fake, &error);
	assert_null(error);
}

static inline void fake_stop(struct fake_kubelet *fake)
{
	if (!fake->server)
		return;
	for (guint i = 0; i < fake->connections->len; i++)
		connection_close(g_ptr_array_index(fake->connections, i));
	g_clear_pointer(&fake->listener, listener_free);
	rpc_server_stop(g_steal_pointer(&fake->server), 0, on_fake_down, fake);
	WAIT_FOR(fake->is_down);
}

static inline void fake_free(struct fake_kubelet *fake)
{
	fake_stop(fake);
	g_ptr_array_unref(fake->connections);
	g_free(fake->dir);
	g_free(fake);
}

/* The newest connection, or NULL. */
static inline struct connection *fake_last(const struct fake_kubelet *fake)
{
	guint n = fake->connections->len;

	return n > 0 ? g_ptr_array_index(fake->connections, n - 1) : NULL;
}

/* TRUE if the newest connection streams and has been shown so many devices. */
static inline gboolean fake_sees(const struct fake_kubelet *fake, gsize n_devices)
{
	const struct connection *last = fake_last(fake);

	return last && last->streams && last->list && last->list->n_devices == n_devices;
}

/* --- calls of the kubelet --- */

struct answer {
	gboolean is_over;
	enum rpc_status status;
	char *text;
	GBytes *reply;
};

static inline void answer_clear(struct answer *answer)
{
	g_free(answer->text);
	g_clear_pointer(&answer->reply, g_bytes_unref);
	*answer = (struct answer){0};
}

static inline void on_answer(enum rpc_status status, const char *message, GBytes *reply,
			     gpointer data)
{
	struct answer *answer = data;

	answer->is_over = TRUE;
	answer->status = status;
	answer->text = g_strdup(message);
	answer->reply = reply ? g_bytes_ref(reply) : NULL;
}

/* Takes the request over, waits for the answer. */
static inline struct answer ask(const struct connection *connection, const char *method,
				GBytes *request)
{
	struct answer answer = {0};

	rpc_channel_request(connection->channel, method, request, 0, on_answer, &answer);
	g_bytes_unref(request);
	WAIT_FOR(answer.is_over);
	return answer;
}

static inline GBytes *pack_message(const void *message)
{
	gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *data = g_malloc(size + 1);

	protobuf_c_message_pack(message, data);
	return g_bytes_new_take(data, size);
}

/* An AllocateRequest of one container; 'ids' separated by blanks. */
static inline GBytes *allocate_request(const char *ids)
{
	g_auto(GStrv) list = g_strsplit_set(ids, " ", -1);
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = {&container};

	container.devices_ids = list;
	container.n_devices_ids = g_strv_length(list);
	request.container_requests = containers;
	request.n_container_requests = 1;
	return pack_message(&request);
}
