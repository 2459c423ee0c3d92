/* SPDX-License-Identifier: Apache-2.0 */
/* The node's kubelet: what all resources have in common. */
#include "kubelet/kubelet.h"

#include "edge/log.h"
#include "edge/settings.h"
#include "kubelet/plugin.h"
#include "model/socket_name.h"

/* A kubelet that restarts is without a socket for a moment. */
#define ABSENT_S 3

/* Called with every burst of changes in a directory, and every few seconds. Our own
 * sockets come first: a kubelet that starts removes them before it makes its own. */
static void look(gpointer data)
{
	Kubelet *kubelet = data;

	for (guint i = 0; i < kubelet->plugins->len; i++)
		plugin_look(g_ptr_array_index(kubelet->plugins, i));
	kubelet_look_for_socket(kubelet, NULL);
}

void kubelet_look_for_socket(Kubelet *kubelet, const Plugin *except)
{
	if (!kubelet_socket_look(kubelet->socket))
		return;
	log_debug("kubelet", "there is a new '%s'", kubelet_socket_path(kubelet->socket));
	for (guint i = 0; i < kubelet->plugins->len; i++) {
		Plugin *plugin = g_ptr_array_index(kubelet->plugins, i);

		if (plugin != except)
			plugin_kubelet_seen(plugin);
	}
}

static gboolean tell_absent(gpointer data)
{
	Kubelet *kubelet = data;
	g_autoptr(GError) error = NULL;

	kubelet->absent_timer = 0;
	if (!kubelet_socket_check(kubelet->socket, &error))
		log_info("kubelet", "%s", error->message);
	return G_SOURCE_REMOVE;
}

void kubelet_note_absent(Kubelet *kubelet)
{
	if (!kubelet->absent_timer)
		kubelet->absent_timer = g_timeout_add_seconds(ABSENT_S, tell_absent, kubelet);
}

Kubelet *kubelet_new(Rpc *rpc, const struct kubelet_options *options)
{
	Kubelet *kubelet = g_new0(Kubelet, 1);

	kubelet->rpc = rpc;
	kubelet->device_plugins_dir = g_strdup(options->device_plugins_dir);
	kubelet->plugins_registry_dir = g_strdup(options->plugins_registry_dir);
	kubelet->registration = options->registration;
	if (options->unique_socket_names)
		kubelet->instance = g_strdup_printf("%0*x", SOCKET_NAME_INSTANCE, g_random_int());
	kubelet->plugins = g_ptr_array_new();
	kubelet->socket = kubelet_socket_new(kubelet->device_plugins_dir);
	kubelet_socket_look(kubelet->socket);
	if (kubelet->registration != REGISTRATION_WATCHER)
		kubelet->device_plugins_watch =
			watch_new(kubelet->device_plugins_dir, look, kubelet);
	if (kubelet->registration != REGISTRATION_REGISTER)
		kubelet->plugins_registry_watch =
			watch_new(kubelet->plugins_registry_dir, look, kubelet);
	return kubelet;
}

Plugin *kubelet_add(Kubelet *kubelet, const char *resource, const struct plugin_ops *ops,
		    gpointer data)
{
	Plugin *plugin = plugin_new(kubelet, resource, ops, data);

	g_ptr_array_add(kubelet->plugins, plugin);
	return plugin;
}

/* --- the end --- */

static void finish_if_empty(Kubelet *kubelet)
{
	void (*done)(gpointer data) = kubelet->done;
	gpointer data = kubelet->done_data;

	if (!kubelet->stopping || kubelet->leaving > 0)
		return;
	nag_over(&kubelet->nag);
	kubelet_socket_free(kubelet->socket);
	g_ptr_array_unref(kubelet->plugins);
	g_free(kubelet->device_plugins_dir);
	g_free(kubelet->plugins_registry_dir);
	g_free(kubelet->instance);
	g_free(kubelet);
	if (done)
		done(data);
}

void kubelet_plugin_gone(Kubelet *kubelet)
{
	kubelet->leaving--;
	finish_if_empty(kubelet);
}

static gboolean finish_later(gpointer data)
{
	kubelet_plugin_gone(data);
	return G_SOURCE_REMOVE;
}

void kubelet_stop(Kubelet *kubelet, void (*done)(gpointer data), gpointer data)
{
	kubelet->stopping = TRUE;
	kubelet->done = done;
	kubelet->done_data = data;
	if (kubelet->absent_timer)
		g_source_remove(kubelet->absent_timer);
	kubelet->absent_timer = 0;
	g_clear_pointer(&kubelet->device_plugins_watch, watch_free);
	g_clear_pointer(&kubelet->plugins_registry_watch, watch_free);
	while (kubelet->plugins->len > 0)
		plugin_remove(g_ptr_array_index(kubelet->plugins, 0));
	/* 'done' never comes before this function returns. */
	kubelet->leaving++;
	g_idle_add(finish_later, kubelet);
}
