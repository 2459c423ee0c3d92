/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between kubelets, as far as a device plugin can see it: one row a
 * range of versions. Code asks for a property, never for a version.
 */
#pragma once

#include <glib.h>

/* The :authority of the kubelet's connection to a plugin. */
enum sim_authority { SIM_AUTHORITY_PATH, SIM_AUTHORITY_LOCALHOST };

/* How the kubelet finds the client that an ended stream belonged to. NAME is the
 * takeover race: the end of an old instance's stream disconnects the new one. */
enum sim_client_key { SIM_KEY_POINTER, SIM_KEY_NAME, SIM_KEY_SOCKET };

struct sim_profile {
	int first_minor, last_minor; /* 1.first to 1.last */
	gboolean register_async; /* answers Register before it connects back */
	gboolean request_options; /* believes RegisterRequest.options */
	gboolean deprecation_file; /* leaves an empty file DEPRECATION in the directory */
	gboolean wipes_files; /* its start removes files, not only sockets */
	enum sim_authority authority;
	enum sim_client_key client_key;
	gboolean empty_topology_rejects; /* an empty TopologyInfo is "no node suits" */
	gboolean checks_health; /* refuses unregistered and unhealthy before it looks for free */
	gboolean cdi_field; /* reads cdi_devices */
	gboolean checks_utf8; /* a message with invalid UTF-8 does not decode */
	gboolean panics; /* crashes when an allocated id has left the list meanwhile */
	gboolean register_context; /* the caller's deadline and departure end the dial */
	gboolean drops_unknown_nodes; /* unknown NUMA nodes are ignored, not "no node suits" */
	gboolean list_active_only; /* podresources shows no terminated pods */
	gboolean pod_resources_get; /* podresources answers Get */
};

/* 'version' is "1.36" or "36"; NULL if there is no such profile. */
const struct sim_profile *sim_profile_find(const char *version);

/* The profiles as a table for people, one line a range. */
char *sim_profile_table(void);
