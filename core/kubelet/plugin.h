/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by plugin.c, service.c and kubelet.c only; everybody else uses kubelet.h. */
#pragma once

#include "kubelet/endpoint.h"
#include "kubelet/kubelet.h"
#include "kubelet/kubelet_socket.h"
#include "kubelet/nag.h"
#include "kubelet/registration.h"
#include "kubelet/streams.h"
#include "kubelet/watch.h"

struct kubelet {
	Rpc *rpc;
	char *device_plugins_dir;
	char *plugins_registry_dir;
	int registration; /* enum registration_mode */
	char *instance; /* NULL: socket names are not unique */
	KubeletSocket *socket;
	Watch *device_plugins_watch, *plugins_registry_watch;
	GPtrArray *plugins; /* struct plugin *, borrowed */
	struct nag nag; /* that nobody answers at kubelet.sock */
	guint absent_timer; /* to tell that there is no kubelet.sock */
	guint leaving; /* plugins that were removed and have not ended yet */
	gboolean stopping;
	void (*done)(gpointer data);
	gpointer done_data;
};

struct plugin {
	Kubelet *kubelet;
	char *resource;
	struct plugin_ops ops;
	gpointer data;
	Snapshot *snapshot; /* NULL before the first plugin_publish */
	struct registration machine;
	guint timer;
	gint64 since_us;
	Endpoint *endpoint;
	char *endpoint_problem; /* why there is no endpoint */
	RpcServer *server;
	Streams *streams;
	RpcRequest *request; /* the Register that is under way */
	char *dialled; /* where to; NULL: none is */
	int dialled_fd; /* that it needs; -1: none */
	guint generation; /* of the kubelet.sock that was tried last */
	gboolean is_unanswered; /* the last Register reached nobody */
	struct nag nag;
	struct nag allocate_nag;
	struct nag restless_nag;
	char *last_error;
	guint64 registrations, allocations, failed_allocations;
};

/* --- plugin.c --- */

Plugin *plugin_new(Kubelet *kubelet, const char *resource, const struct plugin_ops *ops,
		   gpointer data);
/* Something may have happened in the directories. */
void plugin_look(Plugin *plugin);
/* There is a new kubelet.sock. */
void plugin_kubelet_seen(Plugin *plugin);
/* An event for the state machine; 'detail' (may be NULL) says why, for REFUSED and ABSENT. */
void plugin_feed(Plugin *plugin, enum registration_event event, const char *detail);

/* --- service.c --- */

/* The DevicePlugin and the Registration service of a resource. */
RpcServer *service_new(Plugin *plugin);

/* --- kubelet.c --- */

/* Looks for a new kubelet.sock now and tells all plugins about it, but not 'except'. */
void kubelet_look_for_socket(Kubelet *kubelet, const Plugin *except);
/* There is no kubelet.sock. That is told once for all resources, if it lasts. */
void kubelet_note_absent(Kubelet *kubelet);
/* A removed plugin has ended. */
void kubelet_plugin_gone(Kubelet *kubelet);
