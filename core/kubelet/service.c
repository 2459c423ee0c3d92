/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services of one resource, all on one socket: DevicePlugin and, for the plugin
 * watcher, Registration. Everything is answered from memory and at once: the kubelet
 * admits one pod after the other and waits for us without a limit.
 */
#include "edge/log.h"
#include "kubelet/messages.h"
#include "kubelet/plugin.h"
#include "model/text.h"

#define SMALL_REQUEST ((gsize)64 * 1024)
/* Names every free device, 2.3 MB at 100,000 of them. */
#define PREFERRED_REQUEST ((gsize)8 * 1024 * 1024)
/* So many ids an error text names. */
#define NAMED_IDS 5
/* So many connections may wait without a call. */
#define MAX_IDLE 8

static void reply(RpcCall *call, GBytes *message)
{
	rpc_reply(call, message);
	g_bytes_unref(message);
}

static void answer_options(RpcCall *call, GBytes *request, gpointer data)
{
	Plugin *plugin = data;

	(void)request;
	reply(call, messages_pack_options(plugin->ops.prefer != NULL));
}

static void answer_list(RpcCall *call, GBytes *request, gpointer data)
{
	Plugin *plugin = data;

	(void)request;
	if (plugin->machine.state == PLUGIN_STOPPING || !plugin->snapshot)
		rpc_fail(call, RPC_UNAVAILABLE, "the resource is not offered now");
	else
		streams_open(plugin->streams, call, registration_expects_stream(&plugin->machine));
}

/* --- Allocate --- */

#define SERVICE_ERROR (service_error_quark())
static G_DEFINE_QUARK(rdmadp - service - error, service_error)

	static gboolean check_ids(const Plugin *plugin, const char *const *ids, GError **error)
{
	g_autoptr(GString) unknown = g_string_new(NULL);
	guint n_unknown = 0;

	if (!ids[0]) {
		g_set_error(error, SERVICE_ERROR, RPC_INVALID_ARGUMENT,
			    "a container asks for '%s' without naming a device", plugin->resource);
		return FALSE;
	}
	for (gsize i = 0; ids[i]; i++) {
		if (snapshot_find(plugin->snapshot, ids[i]))
			continue;
		if (n_unknown++ < NAMED_IDS)
			g_string_append_printf(unknown, "%s'%s'", n_unknown > 1 ? ", " : "",
					       ids[i]);
	}
	if (n_unknown == 0)
		return TRUE;
	g_set_error(error, SERVICE_ERROR, RPC_NOT_FOUND,
		    "resource '%s' has no device %s%s: the list has changed, or the kubelet means "
		    "another instance",
		    plugin->resource, unknown->str, n_unknown > NAMED_IDS ? ", …" : "");
	return FALSE;
}

static Allocation *allocate_container(Plugin *plugin, GStrv ids, GError **error)
{
	const char *const *borrowed = (const char *const *)ids;
	g_autoptr(GError) problem = NULL;
	Allocation *allocation;

	if (!check_ids(plugin, borrowed, error))
		return NULL;
	allocation = plugin->ops.allocate(plugin->snapshot, borrowed, g_strv_length(ids),
					  plugin->data, &problem);
	if (!allocation)
		g_set_error(error, SERVICE_ERROR, RPC_FAILED_PRECONDITION, "%s", problem->message);
	return allocation;
}

static void allocation_release(gpointer allocation)
{
	allocation_free(allocation);
}

static GPtrArray *allocate_all(Plugin *plugin, GPtrArray *containers, GError **error)
{
	g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(allocation_release);

	if (containers->len == 0) {
		g_set_error(error, SERVICE_ERROR, RPC_INVALID_ARGUMENT,
			    "a request for '%s' names no container", plugin->resource);
		return NULL;
	}
	for (guint i = 0; i < containers->len; i++) {
		Allocation *allocation =
			allocate_container(plugin, g_ptr_array_index(containers, i), error);

		if (!allocation)
			return NULL;
		g_ptr_array_add(answers, allocation);
	}
	return g_steal_pointer(&answers);
}

static enum rpc_status status_of(const GError *error)
{
	if (error->domain == SERVICE_ERROR)
		return (enum rpc_status)error->code;
	return error->code == MESSAGES_ERROR_ID ? RPC_INVALID_ARGUMENT : RPC_INTERNAL;
}

static void fail_allocate(RpcCall *call, Plugin *plugin, const GError *error)
{
	plugin->failed_allocations++;
	if (nag_again(&plugin->allocate_nag, error->message, g_get_monotonic_time()))
		log_warning(plugin->resource, "a pod is refused: %s", error->message);
	rpc_fail(call, status_of(error), error->message);
}

static void say_allocated(const Plugin *plugin, guint n)
{
	g_autofree char *containers = text_count(n, "container");

	log_debug(plugin->resource, "allocated devices to %s", containers);
}

static void answer_allocate(RpcCall *call, GBytes *request, gpointer data)
{
	Plugin *plugin = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) containers = messages_unpack_allocate(request, &error);
	g_autoptr(GPtrArray) answers = NULL;

	if (containers && plugin->snapshot)
		answers = allocate_all(plugin, containers, &error);
	else if (containers)
		g_set_error(&error, SERVICE_ERROR, RPC_UNAVAILABLE, "'%s' is not offered yet",
			    plugin->resource);
	if (!answers) {
		fail_allocate(call, plugin, error);
		return;
	}
	plugin->allocations++;
	if (log_enabled(LOG_LEVEL_DEBUG))
		say_allocated(plugin, answers->len);
	reply(call, messages_pack_allocations(answers));
}

/* --- GetPreferredAllocation: an error would cost the pod its admission --- */

static gboolean all_known(const Plugin *plugin, GStrv ids)
{
	for (gsize i = 0; ids[i]; i++)
		if (!snapshot_find(plugin->snapshot, ids[i]))
			return FALSE;
	return TRUE;
}

static gboolean is_sensible(const Plugin *plugin, const struct preference *preference)
{
	guint n_must = g_strv_length(preference->must);
	guint n_available = g_strv_length(preference->available);

	return preference->size > 0 && n_must <= (guint)preference->size &&
	       (guint)preference->size <= n_available && all_known(plugin, preference->available) &&
	       all_known(plugin, preference->must);
}

static GPtrArray *prefer(Plugin *plugin, const struct preference *preference)
{
	GPtrArray *chosen = NULL;

	if (plugin->ops.prefer && plugin->snapshot && is_sensible(plugin, preference))
		chosen = plugin->ops.prefer(plugin->snapshot, preference, plugin->data);
	if (chosen && chosen->len == (guint)preference->size)
		return chosen;
	g_clear_pointer(&chosen, g_ptr_array_unref);
	return g_ptr_array_new();
}

static void ids_release(gpointer ids)
{
	g_ptr_array_unref(ids);
}

static void answer_preferred(RpcCall *call, GBytes *request, gpointer data)
{
	Plugin *plugin = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) preferences = messages_unpack_preferred(request, &error);
	g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(ids_release);

	if (!preferences)
		log_debug(plugin->resource, "GetPreferredAllocation: %s", error->message);
	for (guint i = 0; preferences && i < preferences->len; i++)
		g_ptr_array_add(answers, prefer(plugin, g_ptr_array_index(preferences, i)));
	reply(call, messages_pack_preferred(answers));
}

static void answer_pre_start(RpcCall *call, GBytes *request, gpointer data)
{
	(void)request;
	(void)data;
	reply(call, messages_pack_empty());
}

/* --- the plugin watcher --- */

static void answer_info(RpcCall *call, GBytes *request, gpointer data)
{
	Plugin *plugin = data;

	(void)request;
	reply(call, messages_pack_plugin_info(plugin->resource));
	plugin_feed(plugin, REGISTRATION_ASKED, NULL);
}

static void answer_notify(RpcCall *call, GBytes *request, gpointer data)
{
	Plugin *plugin = data;
	g_autofree char *refusal = NULL, *problem = NULL;
	g_autoptr(GError) error = NULL;

	if (!messages_unpack_status(request, &refusal, &error)) {
		rpc_fail(call, RPC_INTERNAL, error->message);
		return;
	}
	reply(call, messages_pack_empty());
	if (!refusal) {
		plugin->registrations++;
		plugin_feed(plugin, REGISTRATION_ACCEPTED, NULL);
		return;
	}
	problem = g_strdup_printf("the kubelet refused plugin '%s': %s", plugin->resource, refusal);
	plugin_feed(plugin, REGISTRATION_REFUSED, problem);
}

/* --- the table --- */

static const struct rpc_method methods[] = {
	{METHOD_OPTIONS, answer_options, SMALL_REQUEST, 1},
	{METHOD_LIST_AND_WATCH, answer_list, SMALL_REQUEST, 1},
	{METHOD_ALLOCATE, answer_allocate, SMALL_REQUEST, 4},
	{METHOD_PREFERRED, answer_preferred, PREFERRED_REQUEST, 1},
	{METHOD_PRE_START, answer_pre_start, SMALL_REQUEST, 1},
	{METHOD_GET_INFO, answer_info, SMALL_REQUEST, 1},
	{METHOD_NOTIFY, answer_notify, SMALL_REQUEST, 1},
};

RpcServer *service_new(Plugin *plugin)
{
	RpcServer *server =
		rpc_server_new(plugin->kubelet->rpc, methods, G_N_ELEMENTS(methods), plugin);

	/* The kubelet's connection always has its stream. */
	rpc_server_limit_idle(server, MAX_IDLE);
	return server;
}
