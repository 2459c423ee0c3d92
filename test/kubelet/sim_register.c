/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Registration service. Register is unary, but is answered as a stream of one
 * message: only a stream tells when its caller leaves, and the kubelet since 1.35 gives
 * up then.
 */
#include <string.h>

#include "kubelet/sim_names.h"
#include "kubelet/sim_private.h"

/* A Register on its way to its answer. */
struct registration {
	Sim *sim;
	RpcCall *call;
	struct sim_client *client; /* NULL once the outcome is known */
	guint delay;
};

/* --- the answer --- */

static void on_sent(RpcCall *call, gpointer data)
{
	(void)data;
	rpc_stream_end(call, RPC_OK, "");
}

/* The caller is gone, or has its answer. */
static void on_closed(RpcCall *call, gpointer data)
{
	struct registration *registration = data;
	(void)call;
	registration->call = NULL;
	g_clear_handle_id(&registration->delay, g_source_remove);
	if (!registration->client) {
		g_free(registration);
		return;
	}
	if (registration->sim->options.profile->register_context)
		sim_client_give_up(registration->client,
				   "failed to dial device plugin: context canceled");
}

static const struct rpc_stream_events call_events = {.closed = on_closed, .sent = on_sent};

static void send_answer(const struct registration *registration)
{
	g_autoptr(GBytes) empty = sim_pack_empty();
	rpc_stream_send(registration->call, empty);
}

static gboolean on_delay_over(gpointer data)
{
	struct registration *registration = data;
	registration->delay = 0;
	send_answer(registration);
	return G_SOURCE_REMOVE;
}

static void on_connected(enum rpc_status status, const char *text, gpointer data)
{
	struct registration *registration = data;
	guint delay = registration->sim->options.answer_delay_ms;
	registration->client = NULL;
	if (!registration->call)
		g_free(registration);
	else if (status != RPC_OK)
		rpc_stream_end(registration->call, status, text);
	else if (delay > 0)
		registration->delay = g_timeout_add(delay, on_delay_over, registration);
	else
		send_answer(registration);
}

/* --- the request --- */

static void refuse(Sim *sim, RpcCall *call, const SimRegister *request, const char *text)
{
	sim_emit(sim->events, "refused",
		 json_pack("{s:o, s:o, s:s, s:o}", "resource",
			   sim_json_text(request->resource_name), "endpoint",
			   sim_json_text(request->endpoint), "code", sim_code_name(RPC_UNKNOWN),
			   "message", sim_json_text(text)));
	sim_verdict(sim->events, FALSE, "refused", request->resource_name, text);
	rpc_fail(call, RPC_UNKNOWN, text);
}

static void emit_register(Sim *sim, const SimRegister *request)
{
	sim_emit(sim->events, "register",
		 json_pack("{s:o, s:o, s:o, s:f}", "resource",
			   sim_json_text(request->resource_name), "endpoint",
			   sim_json_text(request->endpoint), "version",
			   sim_json_text(request->version), "since_socket_ms",
			   sim_ms_since(sim->serving_us)));
}

/* As Go's filepath.Join: an absolute endpoint ends up below the directory as well. */
static char *socket_path(const Sim *sim, const char *endpoint)
{
	g_autofree char *joined = g_strconcat(sim->options.dir, "/", endpoint, NULL);
	return g_canonicalize_filename(joined, NULL);
}

/* 'call' is NULL where nobody waits for the outcome. */
static void connect_back(Sim *sim, const SimRegister *request, RpcCall *call)
{
	g_autofree char *path = socket_path(sim, request->endpoint);
	struct sim_peer peer = {.resource = request->resource_name,
				.endpoint = request->endpoint,
				.path = path,
				.has_request = TRUE};
	if (request->options) {
		peer.requested.pre_start_required = request->options->pre_start_required;
		peer.requested.preferred_available =
			request->options->get_preferred_allocation_available;
	}
	if (!call) {
		sim_client_connect(sim, &peer, NULL, NULL);
		return;
	}
	struct registration *registration = g_new0(struct registration, 1);
	registration->sim = sim;
	registration->call = call;
	rpc_stream_open(call, &call_events, registration);
	registration->client = sim_client_connect(sim, &peer, on_connected, registration);
}

void sim_register(RpcCall *call, GBytes *bytes, gpointer data)
{
	Sim *sim = data;
	const char *problem = NULL;
	g_autoptr(SimRegister) request =
		sim_unpack_register(bytes, sim->options.profile->checks_utf8, &problem);
	if (!request) {
		g_autofree char *text =
			g_strdup_printf("grpc: error unmarshalling request: %s", problem);
		sim_verdict(sim->events, FALSE, "malformed", NULL, text);
		rpc_fail(call, RPC_INTERNAL, text);
		return;
	}
	emit_register(sim, request);
	g_autofree char *refusal = sim_name_refuse(request->version, request->resource_name);
	if (refusal) {
		refuse(sim, call, request, refusal);
		return;
	}
	if (!sim->options.profile->register_async) {
		connect_back(sim, request, call);
		return;
	}
	g_autoptr(GBytes) empty = sim_pack_empty();
	rpc_reply(call, empty);
	connect_back(sim, request, NULL);
}
