/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's connection to one registered plugin: dial, GetDevicePluginOptions,
 * ListAndWatch. Which connection the end of a stream takes down depends on the profile:
 * the takeover race is here.
 */
#include <string.h>

#include "kubelet/sim_client.h"
#include "kubelet/sim_lint.h"

#define METHOD_OPTIONS "/v1beta1.DevicePlugin/GetDevicePluginOptions"
#define METHOD_LIST "/v1beta1.DevicePlugin/ListAndWatch"

/* --- the maps --- */

static const char *map_key(const struct sim_client *client)
{
	return client->sim->options.profile->client_key == SIM_KEY_SOCKET ? client->path
									  : client->resource;
}

static gboolean is_endpoint(const struct sim_client *client)
{
	return g_hash_table_lookup(client->sim->endpoints, client->resource) == client;
}

/* Forgets the connection under whatever name it is known; it stays open. */
static void forget(struct sim_client *client)
{
	Sim *sim = client->sim;
	if (g_hash_table_lookup(sim->client_map, map_key(client)) == client)
		g_hash_table_remove(sim->client_map, map_key(client));
}

/* Tells whoever waits for the connection, once. */
static void report(struct sim_client *client, enum rpc_status status, const char *text)
{
	sim_connected_fn done = client->done;
	client->done = NULL;
	if (done)
		done(status, text, client->done_data);
}

static void client_free(struct sim_client *client)
{
	report(client, RPC_UNAVAILABLE, "the kubelet has dropped the connection");
	forget(client);
	if (is_endpoint(client))
		g_hash_table_remove(client->sim->endpoints, client->resource);
	g_ptr_array_remove_fast(client->sim->clients, client);
	sim_allocation_closed(client->sim, client->channel);
	rpc_channel_free(client->channel);
	g_clear_pointer(&client->last_list, g_ptr_array_unref);
	g_free(client->resource);
	g_free(client->endpoint);
	g_free(client->path);
	g_free(client);
}

static void emit_ended(const struct sim_client *client, const char *by, enum rpc_status status,
		       const char *message)
{
	sim_emit(client->sim->events, "stream-ended",
		 json_pack("{s:o, s:o, s:s, s:s, s:o}", "resource", sim_json_text(client->resource),
			   "endpoint", sim_json_text(client->endpoint), "by", by, "code",
			   sim_code_name(status), "message", sim_json_text(message)));
}

/* The kubelet closes a connection and holds the resource for stopped. */
static void disconnect(struct sim_client *client)
{
	Sim *sim = client->sim;
	gboolean counts = sim->options.profile->client_key != SIM_KEY_SOCKET || is_endpoint(client);
	if (counts)
		sim_state_stopped(sim->state, client->resource, sim_clock(sim));
	if (client->streaming)
		emit_ended(client, "kubelet", RPC_CANCELLED, "the kubelet closed the connection");
	client_free(client);
}

/* The stream of 'client' is over, for whatever reason. */
static void stream_over(struct sim_client *client)
{
	Sim *sim = client->sim;
	client->streaming = FALSE;
	client->stream = NULL;
	if (sim->options.profile->client_key == SIM_KEY_POINTER) {
		if (is_endpoint(client))
			sim_state_stopped(sim->state, client->resource, sim_clock(sim));
		client_free(client);
		return;
	}
	struct sim_client *found = g_hash_table_lookup(sim->client_map, map_key(client));
	if (found == client) {
		disconnect(client);
		return;
	}
	/* The race: somebody else's connection is closed, ours stays open, forgotten. */
	if (found)
		disconnect(found);
	else
		sim_emit(sim->events, "forgotten",
			 json_pack("{s:o, s:s}", "resource", sim_json_text(client->resource),
				   "text",
				   "the kubelet no longer knows this connection: its devices "
				   "keep their last health"));
}

/* --- lists --- */

static json_t *device_json(const struct sim_device *device)
{
	json_t *nodes = json_array();
	for (guint i = 0; i < device->nodes->len; i++)
		json_array_append_new(nodes, json_integer(g_array_index(device->nodes, gint64, i)));
	json_t *object = json_pack("{s:o, s:o}", "id", sim_json_text(device->id), "health",
				   sim_json_text(device->health));
	if (device->has_topology)
		json_object_set(object, "nodes", nodes);
	json_decref(nodes);
	return object;
}

static void emit_list(const struct sim_client *client, GPtrArray *devices, gsize bytes)
{
	const Sim *sim = client->sim;
	const struct sim_resource *resource = sim_state_find(sim->state, client->resource);
	json_t *fields = json_pack("{s:o, s:i, s:I, s:I, s:I, s:b, s:f}", "resource",
				   sim_json_text(client->resource), "devices", (int)devices->len,
				   "healthy", (json_int_t)sim_resource_allocatable(resource),
				   "capacity", (json_int_t)sim_resource_capacity(resource), "bytes",
				   (json_int_t)bytes, "first", client->lists == 1,
				   "since_socket_ms", sim_ms_since(sim->serving_us));
	if (devices->len <= sim->options.show_devices) {
		json_t *list = json_array();
		for (guint i = 0; i < devices->len; i++)
			json_array_append_new(list, device_json(g_ptr_array_index(devices, i)));
		json_object_set_new(fields, "list", list);
	}
	sim_emit(sim->events, "list", fields);
}

/* The same socket is served by one plugin: it knew that its stream was alive. */
static void check_second_stream(const struct sim_client *client)
{
	const Sim *sim = client->sim;
	for (guint i = 0; i < sim->clients->len; i++) {
		const struct sim_client *other = g_ptr_array_index(sim->clients, i);
		if (other == client || !other->streaming ||
		    strcmp(other->path, client->path) != 0 ||
		    strcmp(other->resource, client->resource) != 0)
			continue;
		sim_verdict(sim->events, FALSE, "second-register", client->resource,
			    "registered again while its stream was alive: the kubelet leaks a "
			    "connection, and the end of the old stream takes the new one down");
		return;
	}
}

static void lint(struct sim_client *client, GPtrArray *devices)
{
	Sim *sim = client->sim;
	g_autoptr(GPtrArray) problems = sim_problems_new();
	sim_lint_list(sim->state, client->resource, devices, client->last_list, problems);
	sim_verdicts(sim->events, client->resource, problems);
}

/* The message does not decode: the stream is over from the kubelet's side. */
static void fail_list(struct sim_client *client, const char *rule, const char *problem)
{
	g_autofree char *text =
		g_strdup_printf("grpc: failed to unmarshal the received message: %s", problem);
	sim_verdict(client->sim->events, FALSE, rule, client->resource, text);
	emit_ended(client, "kubelet", RPC_INTERNAL, text);
	rpc_request_cancel(client->stream);
	stream_over(client);
}

static void on_list(GBytes *message, gpointer data)
{
	struct sim_client *client = data;
	Sim *sim = client->sim;
	const char *problem = NULL;
	g_autoptr(GPtrArray) devices =
		sim_unpack_list(message, sim->options.profile->checks_utf8, &problem);
	if (!devices) {
		fail_list(client, "malformed", problem);
		return;
	}
	lint(client, devices);
	if (++client->lists == 1)
		check_second_stream(client);
	sim_state_update(sim->state, client->resource, devices);
	/* Before the disk, which may be slow, so that its time is that of the list. */
	emit_list(client, devices, g_bytes_get_size(message));
	sim_checkpoint_write(sim);
	g_clear_pointer(&client->last_list, g_ptr_array_unref);
	client->last_list = g_steal_pointer(&devices);
}

static void on_stream_end(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct sim_client *client = data;
	(void)reply;
	g_autofree char *text = sim_error_message(status, message);
	if (status == RPC_RESOURCE_EXHAUSTED)
		sim_verdict(client->sim->events, FALSE, "list-too-large", client->resource, text);
	emit_ended(client, "plugin", status, text);
	stream_over(client);
}

static void subscribe(struct sim_client *client)
{
	g_autoptr(GBytes) empty = sim_pack_empty();
	client->streaming = TRUE;
	client->stream =
		rpc_subscribe(client->channel, METHOD_LIST, empty, on_list, on_stream_end, client);
}

/* --- connecting --- */

void sim_client_give_up(struct sim_client *client, const char *text)
{
	sim_emit(client->sim->events, "refused",
		 json_pack("{s:o, s:o, s:s, s:o}", "resource", sim_json_text(client->resource),
			   "endpoint", sim_json_text(client->endpoint), "code",
			   sim_code_name(RPC_UNKNOWN), "message", sim_json_text(text)));
	report(client, RPC_UNKNOWN, text);
	client_free(client);
}

static void check_options(const struct sim_client *client)
{
	if (!client->has_request ||
	    (client->options.pre_start_required == client->requested.pre_start_required &&
	     client->options.preferred_available == client->requested.preferred_available))
		return;
	sim_verdict(client->sim->events, FALSE, "options-differ", client->resource,
		    "RegisterRequest.options and GetDevicePluginOptions differ: kubelets up to "
		    "1.24 believe the one, later ones the other");
}

static void connected(struct sim_client *client)
{
	Sim *sim = client->sim;
	g_hash_table_insert(sim->endpoints, g_strdup(client->resource), client);
	sim_state_connected(sim->state, client->resource);
	sim_emit(sim->events, "registered",
		 json_pack("{s:o, s:o, s:f, s:f}", "resource", sim_json_text(client->resource),
			   "endpoint", sim_json_text(client->endpoint), "ms",
			   sim_ms_since(client->start_us), "since_socket_ms",
			   sim_ms_since(sim->serving_us)));
	report(client, RPC_OK, "");
	subscribe(client);
}

static void on_options(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct sim_client *client = data;
	const char *problem = NULL;
	if (status != RPC_OK) {
		g_autofree char *error = sim_error_text(status, message);
		g_autofree char *text =
			g_strdup_printf("failed to get device plugin options: %s", error);
		sim_client_give_up(client, text);
		return;
	}
	if (!sim_unpack_options(reply, &client->options, &problem)) {
		sim_client_give_up(client, "failed to get device plugin options: rpc error: code = "
					   "Internal desc = grpc: failed to unmarshal the received "
					   "message");
		return;
	}
	check_options(client);
	connected(client);
}

static void on_connected(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct sim_client *client = data;
	(void)message;
	(void)reply;
	if (status != RPC_OK) {
		sim_client_give_up(client,
				   "failed to dial device plugin: context deadline exceeded");
		return;
	}
	if (client->sim->options.profile->request_options && client->has_request) {
		client->options = client->requested;
		connected(client);
		return;
	}
	g_autoptr(GBytes) empty = sim_pack_empty();
	rpc_channel_request(client->channel, METHOD_OPTIONS, empty, 0, on_options, client);
}

struct sim_client *sim_client_connect(Sim *sim, const struct sim_peer *peer, sim_connected_fn done,
				      gpointer data)
{
	const struct sim_profile *profile = sim->options.profile;
	struct sim_client *client = g_new0(struct sim_client, 1);
	client->sim = sim;
	client->start_us = g_get_monotonic_time();
	client->resource = g_strdup(peer->resource);
	client->endpoint = g_strdup(peer->endpoint);
	client->path = g_strdup(peer->path);
	client->has_request = peer->has_request;
	client->requested = peer->requested;
	client->done = done;
	client->done_data = data;
	client->channel =
		rpc_channel_new(sim->rpc, client->path,
				profile->authority == SIM_AUTHORITY_PATH ? client->path : NULL, 0);
	g_ptr_array_add(sim->clients, client);
	g_hash_table_insert(sim->client_map, g_strdup(map_key(client)), client);
	rpc_channel_wait_connected(client->channel, sim->options.dial_ms, on_connected, client);
	return client;
}

/* --- for the others --- */

void sim_clients_drop(Sim *sim)
{
	g_autoptr(GPtrArray) clients = g_steal_pointer(&sim->clients);
	sim->clients = g_ptr_array_new();
	for (guint i = 0; i < clients->len; i++)
		client_free(g_ptr_array_index(clients, i));
}

static struct sim_client *endpoint_of(const Sim *sim, const char *resource)
{
	return g_hash_table_lookup(sim->endpoints, resource);
}

RpcChannel *sim_client_channel(Sim *sim, const char *resource)
{
	struct sim_client *client = endpoint_of(sim, resource);
	return client ? client->channel : NULL;
}

const char *sim_client_path(Sim *sim, const char *resource)
{
	struct sim_client *client = endpoint_of(sim, resource);
	return client ? client->path : NULL;
}

const struct sim_options_answer *sim_client_options(Sim *sim, const char *resource)
{
	struct sim_client *client = endpoint_of(sim, resource);
	return client ? &client->options : NULL;
}

gboolean sim_is_streaming(const Sim *sim, const char *resource)
{
	const struct sim_client *client = endpoint_of(sim, resource);
	return client && client->streaming && client->lists > 0;
}

guint sim_n_connections(const Sim *sim)
{
	return sim->clients->len;
}

void sim_client_deregister(Sim *sim, const char *key)
{
	struct sim_client *client = g_hash_table_lookup(sim->client_map, key);
	if (client)
		disconnect(client);
}

guint sim_n_streams(const Sim *sim)
{
	guint n = 0;
	for (guint i = 0; i < sim->clients->len; i++)
		n += ((const struct sim_client *)g_ptr_array_index(sim->clients, i))->streaming ? 1
												: 0;
	return n;
}

gboolean sim_disconnect(Sim *sim, const char *resource)
{
	struct sim_client *client = endpoint_of(sim, resource);
	if (!client || !client->streaming)
		return FALSE;
	disconnect(client);
	return TRUE;
}
