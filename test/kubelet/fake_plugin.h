/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device plugin that does what a test tells it, wrong things included: the proof that
 * the simulator refuses and notices what it should.
 */
#pragma once

#include "edge/rpc.h"
#include "kubelet/sim_listener.h"

enum fake_method {
	FAKE_OPTIONS,
	FAKE_LIST,
	FAKE_PREFERRED,
	FAKE_ALLOCATE,
	FAKE_PRE_START,
	FAKE_INFO,
	FAKE_NOTIFY,
	FAKE_N_METHODS
};

/* What a method answers. */
struct fake_answer {
	gboolean held; /* not at all, until fake_plugin_release */
	enum rpc_status status;
	const char *message; /* with a status other than RPC_OK */
	GBytes *reply;
};

typedef struct fake_plugin FakePlugin;

struct fake_stream {
	FakePlugin *plugin;
	RpcCall *call;
	gboolean sending, dirty, ended;
};

struct fake_plugin {
	Rpc *rpc;
	char *dir, *resource, *endpoint;
	const char *version; /* "v1beta1" */
	gboolean request_preferred, request_pre_start; /* in RegisterRequest.options */
	guint deadline_ms; /* of Register */

	struct fake_answer answers[FAKE_N_METHODS];
	guint calls[FAKE_N_METHODS];
	GPtrArray *held; /* RpcCall * */
	enum fake_method held_method;
	GBytes *last_request[FAKE_N_METHODS];

	SimListener *listener;
	RpcServer *server;
	GBytes *list;
	GPtrArray *streams; /* struct fake_stream * */

	RpcRequest *registration; /* under way */
	gboolean registered; /* the answer came: */
	enum rpc_status register_status;
	char *register_message;

	gboolean *stopped; /* set when it has gone */
};

/* Neither serves nor registers yet; its list is empty, it answers everything well. */
FakePlugin *fake_plugin_new(Rpc *rpc, const char *dir, const char *resource, const char *endpoint);
/* Ends streams and sockets; *ret_stopped becomes TRUE when all has ended and the plugin
 * is freed. */
void fake_plugin_free(FakePlugin *plugin, gboolean *ret_stopped);

void fake_plugin_serve(FakePlugin *plugin);
void fake_plugin_register(FakePlugin *plugin);
/* Gives up a Register that is under way. */
void fake_plugin_hang_up(FakePlugin *plugin);

/* "a=Healthy b=Unhealthy@1 c=Healthy@0,1 d=Healthy@": devices with health and NUMA
 * nodes; a bare @ is a TopologyInfo without nodes. Sent to all streams. */
void fake_plugin_list(FakePlugin *plugin, const char *devices);
/* Any bytes, as the list. */
void fake_plugin_list_bytes(FakePlugin *plugin, GBytes *bytes);
void fake_plugin_end_streams(FakePlugin *plugin, enum rpc_status status, const char *message);

/* "dev /dev/a:/dev/b:rw mount /x:/y env K=V ann K=V cdi NAME": one container response,
 * "|" begins the next; "" is a response of none. */
void fake_plugin_answer_allocate(FakePlugin *plugin, const char *response);
void fake_plugin_answer_options(FakePlugin *plugin, gboolean preferred, gboolean pre_start);
/* Ids separated by blanks; NULL: no container response. */
void fake_plugin_answer_preferred(FakePlugin *plugin, const char *ids);
void fake_plugin_answer_error(FakePlugin *plugin, enum fake_method method, enum rpc_status status,
			      const char *message);
/* What the plugin watcher is told: "DevicePlugin", "v1beta1". */
void fake_plugin_answer_info(FakePlugin *plugin, const char *type, const char *version);
/* What the watcher has told: NULL is "registered". Only after a call of it. */
char *fake_plugin_notified(const FakePlugin *plugin);
/* Answers what was held. */
void fake_plugin_release(FakePlugin *plugin);
