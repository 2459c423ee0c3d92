/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet side: one Kubelet for the process, one Plugin for each resource. A
 * Plugin listens on its own socket, registers, serves the DevicePlugin service and
 * registers again whenever the kubelet has lost it. core/kubelet/README.md has the
 * state machine as a table.
 */
#pragma once

#include <glib.h>

#include "edge/rpc.h"
#include "kubelet/preference.h"
#include "model/allocation.h"
#include "model/snapshot.h"

struct kubelet_options {
	const char *device_plugins_dir; /* "/var/lib/kubelet/device-plugins" */
	const char *plugins_registry_dir;
	int registration; /* enum registration_mode of edge/settings.h */
	gboolean unique_socket_names;
};

/* How a resource answers. All are called in the main loop and must not block. */
struct plugin_ops {
	/* The container's devices, or NULL and an error whose text a pod author will
	 * read in the pod's events. 'snapshot' is what the kubelet was shown last. ids:
	 * at least one, each of them known to the snapshot, in the kubelet's order. */
	Allocation *(*allocate)(Snapshot *snapshot, const char *const *ids, gsize n_ids,
				gpointer data, GError **error);
	/* Picks wanted->size of the available ids, all of 'must' among them; NULL where the
	 * resource does not offer GetPreferredAllocation. What is wanted makes sense and
	 * all ids are known to the snapshot. Returns borrowed ids; another number of them
	 * than wanted leaves the choice to the kubelet. Never fails. */
	GPtrArray *(*prefer)(Snapshot *snapshot, const struct preference *wanted, gpointer data);
	/* May be NULL. plugin_get_status has something new. */
	void (*changed)(gpointer data);
};

enum plugin_state {
	PLUGIN_IDLE,
	PLUGIN_LISTENING,
	PLUGIN_REGISTERING,
	PLUGIN_STREAMING,
	PLUGIN_STOPPING
};

struct plugin_status {
	enum plugin_state state;
	gint64 since_us; /* g_get_monotonic_time of the last change of state */
	guint streams;
	guint64 registrations, lists_sent, allocations, failed_allocations;
	const char *socket_path;
	const char *last_error; /* of the last failed attempt; NULL when streaming */
};

typedef struct kubelet Kubelet;
typedef struct plugin Plugin;

Kubelet *kubelet_new(Rpc *rpc, const struct kubelet_options *options);

/* 'resource' is "prefix/name". Starts idle: nothing is served or registered before
 * the first plugin_publish. */
Plugin *kubelet_add(Kubelet *kubelet, const char *resource, const struct plugin_ops *ops,
		    gpointer data);
/* The list to show from now on. Sent only if the kubelet would see a difference;
 * Allocate answers from it at once. */
void plugin_publish(Plugin *plugin, Snapshot *snapshot);
void plugin_get_status(const Plugin *plugin, struct plugin_status *ret_status);
/* Ends streams, removes the socket; no empty list is sent. Frees the plugin. */
void plugin_remove(Plugin *plugin);

/* Removes all plugins and calls 'done' when everything has ended, within two seconds
 * at the latest. Frees the Kubelet. */
void kubelet_stop(Kubelet *kubelet, void (*done)(gpointer data), gpointer data);
