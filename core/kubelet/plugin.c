/* SPDX-License-Identifier: Apache-2.0 */
/* One resource: carries out what its state machine decides. */
#include "kubelet/plugin.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "edge/log.h"
#include "edge/settings.h"
#include "kubelet/listener.h"
#include "kubelet/messages.h"
#include "model/text.h"

/* The kubelet dials back within Register and takes up to ten seconds for it. */
#define REGISTER_DEADLINE_MS 15000
/* A kubelet that restarts leaves its socket's file behind, and makes a new one before it
 * listens: for some seconds it is no news that nobody answers there. */
#define QUIET_ATTEMPTS 15
#define STOP_GRACE_MS 1000

/* --- the endpoint --- */

static void on_served(gboolean replaces, gpointer data)
{
	plugin_feed(data, REGISTRATION_SERVED, NULL);
	if (replaces)
		plugin_feed(data, REGISTRATION_REPLACED, NULL);
}

static void on_unserved(gpointer data)
{
	Plugin *plugin = data;

	plugin_feed(plugin, REGISTRATION_UNSERVED, endpoint_trouble(plugin->endpoint));
}

static void on_accepted(int fd, gpointer data)
{
	Plugin *plugin = data;

	rpc_server_adopt(plugin->server, fd);
}

static const struct endpoint_events endpoint_events = {on_served, on_unserved, on_accepted};

static void make_endpoint(Plugin *plugin)
{
	Kubelet *kubelet = plugin->kubelet;
	gboolean registers = plugin->machine.way == REGISTRATION_BY_REGISTER;
	g_autoptr(GError) error = NULL;

	endpoint_free(plugin->endpoint);
	plugin->endpoint = endpoint_new(
		registers ? kubelet->device_plugins_dir : kubelet->plugins_registry_dir,
		plugin->resource, kubelet->instance, &endpoint_events, plugin, &error);
	g_clear_pointer(&plugin->endpoint_problem, g_free);
	if (plugin->endpoint)
		return;
	plugin->endpoint_problem = g_strdup(error->message);
	log_error(plugin->resource, "%s", error->message);
}

/* --- streams --- */

static void on_stream_opened(gpointer data)
{
	plugin_feed(data, REGISTRATION_STREAM, NULL);
}

static void on_stream_lost(gpointer data)
{
	plugin_feed(data, REGISTRATION_STREAM_LOST, NULL);
}

static const struct streams_events streams_events = {on_stream_opened, on_stream_lost};

/* --- Register --- */

static gboolean is_denied(const char *message)
{
	return strstr(message, "ermission denied") != NULL;
}

static char *describe_failure(const Plugin *plugin, enum rpc_status status, const char *message)
{
	const char *path = kubelet_socket_path(plugin->kubelet->socket);
	g_autoptr(GString) text = g_string_new(message);

	g_string_replace(text, plugin->dialled, path, 0);
	if (plugin->is_unanswered)
		return g_strdup_printf("no kubelet answers at '%s': %s", path, text->str);
	return g_strdup_printf("the kubelet at '%s' does not register '%s': %s (status %d)%s", path,
			       plugin->resource, text->str, (int)status,
			       is_denied(message) ? listener_access_hint(EACCES) : "");
}

static void forget_dialled(Plugin *plugin)
{
	if (plugin->dialled_fd >= 0)
		close(plugin->dialled_fd);
	plugin->dialled_fd = -1;
	g_clear_pointer(&plugin->dialled, g_free);
}

static void cancel_register(Plugin *plugin)
{
	rpc_request_cancel(g_steal_pointer(&plugin->request));
	forget_dialled(plugin);
}

static void on_register_done(enum rpc_status status, const char *message, GBytes *reply,
			     gpointer data)
{
	Plugin *plugin = data;
	g_autofree char *problem = NULL;

	(void)reply;
	plugin->request = NULL;
	/* A kubelet that goes away in the middle of the call cancels it. */
	plugin->is_unanswered =
		(status == RPC_UNAVAILABLE || status == RPC_CANCELLED) && !is_denied(message);
	if (status != RPC_OK)
		problem = describe_failure(plugin, status, message);
	forget_dialled(plugin);
	if (!problem) {
		plugin->registrations++;
		plugin_feed(plugin, REGISTRATION_ACCEPTED, NULL);
		return;
	}
	plugin_feed(plugin, REGISTRATION_REFUSED, problem);
}

static void call_register(Plugin *plugin)
{
	Kubelet *kubelet = plugin->kubelet;
	struct rpc_target target = {NULL, METHOD_REGISTER, REGISTER_DEADLINE_MS, 0};
	g_autoptr(GBytes) message = NULL;
	g_autoptr(GError) error = NULL;

	plugin->is_unanswered = FALSE;
	kubelet_look_for_socket(kubelet, plugin);
	/* A kubelet removes our socket before it makes its own. Whoever comes to see the new
	 * one first must not name it a socket that is gone: it would dial for ten seconds. */
	plugin_look(plugin);
	if (plugin->machine.state != PLUGIN_REGISTERING) {
		plugin_kubelet_seen(plugin);
		return;
	}
	plugin->generation = kubelet_socket_generation(kubelet->socket);
	if (!kubelet_socket_check(kubelet->socket, &error)) {
		gboolean absent =
			g_error_matches(error, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_ABSENT);

		plugin_feed(plugin, absent ? REGISTRATION_ABSENT : REGISTRATION_REFUSED,
			    error->message);
		return;
	}
	message = messages_pack_register(endpoint_name(plugin->endpoint), plugin->resource,
					 plugin->ops.prefer != NULL);
	plugin->dialled = kubelet_socket_pin(kubelet->socket, &plugin->dialled_fd);
	target.path = plugin->dialled;
	plugin->request = rpc_request(kubelet->rpc, &target, message, on_register_done, plugin);
}

/* --- the other way --- */

static void switch_way(Plugin *plugin, enum registration_way way)
{
	registration_switch(&plugin->machine, way);
	plugin->since_us = g_get_monotonic_time();
	make_endpoint(plugin);
	plugin_feed(plugin, REGISTRATION_PUBLISH, NULL);
}

static void handle_no_stream(Plugin *plugin)
{
	Kubelet *kubelet = plugin->kubelet;
	const char *registry = kubelet->plugins_registry_dir;

	if (kubelet->registration == REGISTRATION_AUTO &&
	    plugin->machine.way == REGISTRATION_BY_REGISTER &&
	    g_file_test(registry, G_FILE_TEST_IS_DIR)) {
		log_warning(
			plugin->resource,
			"registered, but the kubelet opened no stream: offering the resource in "
			"'%s' until the kubelet restarts",
			registry);
		switch_way(plugin, REGISTRATION_BY_WATCHER);
		return;
	}
	if (nag_again(&plugin->nag, "no stream", g_get_monotonic_time()))
		log_warning(plugin->resource, "the kubelet knows the resource but opened no stream "
					      "within 10 s: offering it again");
}

/* --- the state machine --- */

static gboolean on_timer(gpointer data)
{
	Plugin *plugin = data;

	plugin->timer = 0;
	plugin_feed(plugin, REGISTRATION_TIMER, NULL);
	return G_SOURCE_REMOVE;
}

static void set_timer(Plugin *plugin, int timer_ms)
{
	if (timer_ms == REGISTRATION_TIMER_KEEP)
		return;
	if (plugin->timer)
		g_source_remove(plugin->timer);
	plugin->timer = timer_ms < 0 ? 0 : g_timeout_add((guint)timer_ms, on_timer, plugin);
}

/* Register has failed, and yet the kubelet has its stream: it was too busy to answer. */
static gboolean is_late_answer(const Plugin *plugin, enum registration_event event)
{
	return event == REGISTRATION_REFUSED && plugin->machine.state == PLUGIN_STREAMING &&
	       plugin->machine.way == REGISTRATION_BY_REGISTER;
}

/* What is wrong with the kubelet is the same for all resources: it is told once. */
static void note_trouble(Plugin *plugin, enum registration_event event, const char *detail)
{
	gboolean is_ours = !plugin->is_unanswered;
	struct nag *nag = is_ours ? &plugin->nag : &plugin->kubelet->nag;

	if (!detail || is_late_answer(plugin, event))
		return;
	g_free(plugin->last_error);
	plugin->last_error = g_strdup(detail);
	if (event == REGISTRATION_ABSENT)
		kubelet_note_absent(plugin->kubelet);
	if (event != REGISTRATION_REFUSED) /* the endpoint has told about UNSERVED */
		return;
	if (!is_ours && plugin->machine.attempts <= QUIET_ATTEMPTS)
		return;
	if (nag_again(nag, detail, g_get_monotonic_time()))
		log_warning(is_ours ? plugin->resource : "kubelet", "%s; trying again", detail);
}

/* Once a second for as long as it goes on: that is for the debug log. */
static void note_streaming(Plugin *plugin)
{
	g_autofree char *count = text_count(plugin->snapshot->slots->len, "device");
	gboolean restless = registration_is_restless(&plugin->machine);

	nag_over(&plugin->nag);
	nag_over(&plugin->kubelet->nag);
	g_clear_pointer(&plugin->last_error, g_free);
	log_message(restless ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, plugin->resource,
		    "Registered device plugin with Kubelet; the kubelet has the list: %s, "
		    "%" G_GSIZE_FORMAT " healthy",
		    count, snapshot_n_healthy(plugin->snapshot));
}

static void note_loss(Plugin *plugin, enum registration_event event)
{
	if (event == REGISTRATION_KUBELET)
		log_info(plugin->resource,
			 "the kubelet has restarted: offering the resource again");
	else if (event == REGISTRATION_REPLACED)
		log_info(plugin->resource,
			 "the kubelet may listen to the instance that was replaced: offering the "
			 "resource again");
	else if (!registration_is_restless(&plugin->machine))
		log_info(plugin->resource,
			 "the kubelet has ended its stream: offering the resource again");
	else if (nag_again(&plugin->restless_nag, "restless", g_get_monotonic_time()))
		log_warning(plugin->resource,
			    "the kubelet ends each stream soon after it has opened it: does "
			    "another plugin register '%s', too? offering it again and again",
			    plugin->resource);
}

static void note_change(Plugin *plugin, enum plugin_state before, enum registration_event event)
{
	enum plugin_state now = plugin->machine.state;

	if (now == before)
		return;
	plugin->since_us = g_get_monotonic_time();
	log_debug(plugin->resource, "%s: %s -> %s", registration_event_name(event),
		  registration_state_name(before), registration_state_name(now));
	if (now == PLUGIN_STREAMING)
		note_streaming(plugin);
	else if (before == PLUGIN_STREAMING && now != PLUGIN_STOPPING)
		note_loss(plugin, event);
}

static void carry_out(Plugin *plugin, guint actions)
{
	if (actions & REGISTRATION_CANCEL)
		cancel_register(plugin);
	if (actions & REGISTRATION_END_STREAMS)
		streams_end(plugin->streams, "rdmadp ends this stream");
	if ((actions & REGISTRATION_LISTEN) && plugin->endpoint)
		endpoint_open(plugin->endpoint);
	if (actions & REGISTRATION_CLOSE)
		g_clear_pointer(&plugin->endpoint, endpoint_free);
	if (actions & REGISTRATION_RENEW)
		endpoint_renew(plugin->endpoint);
	if (actions & REGISTRATION_CALL)
		call_register(plugin);
	if (actions & REGISTRATION_NO_STREAM)
		handle_no_stream(plugin);
}

void plugin_feed(Plugin *plugin, enum registration_event event, const char *detail)
{
	enum plugin_state before = plugin->machine.state;
	struct registration_orders orders = registration_handle(
		&plugin->machine, event, g_get_monotonic_time(), g_random_double());

	note_trouble(plugin, event, detail);
	note_change(plugin, before, event);
	if (plugin->ops.changed && (detail || plugin->machine.state != before))
		plugin->ops.changed(plugin->data);
	set_timer(plugin, orders.timer_ms);
	carry_out(plugin, orders.actions);
}

void plugin_look(Plugin *plugin)
{
	if (plugin->endpoint)
		endpoint_look(plugin->endpoint);
}

void plugin_kubelet_seen(Plugin *plugin)
{
	guint generation = kubelet_socket_generation(plugin->kubelet->socket);

	if (generation == plugin->generation)
		return;
	if (plugin->kubelet->registration == REGISTRATION_AUTO &&
	    plugin->machine.way == REGISTRATION_BY_WATCHER) {
		log_info(plugin->resource, "the kubelet has restarted: registering again");
		streams_end(plugin->streams, "rdmadp registers again");
		switch_way(plugin, REGISTRATION_BY_REGISTER);
	}
	plugin_feed(plugin, REGISTRATION_KUBELET, NULL);
}

/* --- life --- */

Plugin *plugin_new(Kubelet *kubelet, const char *resource, const struct plugin_ops *ops,
		   gpointer data)
{
	Plugin *plugin = g_new0(Plugin, 1);

	plugin->kubelet = kubelet;
	plugin->resource = g_strdup(resource);
	plugin->ops = *ops;
	plugin->data = data;
	plugin->since_us = g_get_monotonic_time();
	plugin->dialled_fd = -1;
	plugin->streams = streams_new(&streams_events, plugin);
	plugin->server = service_new(plugin);
	registration_switch(&plugin->machine, kubelet->registration == REGISTRATION_WATCHER
						      ? REGISTRATION_BY_WATCHER
						      : REGISTRATION_BY_REGISTER);
	make_endpoint(plugin);
	return plugin;
}

void plugin_publish(Plugin *plugin, Snapshot *snapshot)
{
	gboolean first = plugin->snapshot == NULL;

	snapshot_ref(snapshot);
	snapshot_unref(plugin->snapshot);
	plugin->snapshot = snapshot;
	streams_show(plugin->streams, snapshot);
	if (first)
		plugin_feed(plugin, REGISTRATION_PUBLISH, NULL);
}

void plugin_get_status(const Plugin *plugin, struct plugin_status *ret_status)
{
	const char *problem = plugin->endpoint_problem;

	if (!problem && plugin->endpoint)
		problem = endpoint_trouble(plugin->endpoint);
	*ret_status = (struct plugin_status){
		.state = plugin->machine.state,
		.since_us = plugin->since_us,
		.streams = streams_count(plugin->streams),
		.registrations = plugin->registrations,
		.lists_sent = streams_lists_sent(plugin->streams),
		.allocations = plugin->allocations,
		.failed_allocations = plugin->failed_allocations,
		.socket_path = plugin->endpoint ? endpoint_path(plugin->endpoint) : NULL,
		.last_error = problem ? problem : plugin->last_error,
	};
}

static void plugin_free(gpointer data)
{
	Plugin *plugin = data;
	Kubelet *kubelet = plugin->kubelet;

	streams_free(plugin->streams);
	snapshot_unref(plugin->snapshot);
	nag_over(&plugin->nag);
	nag_over(&plugin->allocate_nag);
	nag_over(&plugin->restless_nag);
	g_free(plugin->last_error);
	g_free(plugin->endpoint_problem);
	g_free(plugin->resource);
	g_free(plugin);
	kubelet_plugin_gone(kubelet);
}

void plugin_remove(Plugin *plugin)
{
	plugin_feed(plugin, REGISTRATION_STOP, NULL);
	g_ptr_array_remove(plugin->kubelet->plugins, plugin);
	plugin->kubelet->leaving++;
	rpc_server_stop(plugin->server, STOP_GRACE_MS, plugin_free, plugin);
}
