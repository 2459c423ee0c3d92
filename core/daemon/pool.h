/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One resource at work: its HCAs, their health and its plugin towards the kubelet.
 * Fed by its bus; publishes a new list whenever the kubelet should see another one.
 */
#pragma once

#include <glib.h>

#include "daemon/state.h"
#include "edge/node_check.h"
#include "edge/settings.h"
#include "kubelet/kubelet.h"
#include "model/device.h"
#include "model/resource.h"
#include "rdmadp/backend.h"

typedef struct pool Pool;

/* What every pool of the process shares; outlives them. */
struct pool_host {
	const Settings *settings;
	Kubelet *kubelet;
	NodeCheck *node_check;
	State *state;
};

/* 'rescan' asks the pool's bus for a scan: an Allocate found a node that is not what
 * the last scan saw. */
Pool *pool_new(const struct pool_host *host, ResourceConfig *config, void (*rescan)(gpointer data),
	       gpointer rescan_data);
void pool_free(Pool *pool);

const ResourceConfig *pool_config(const Pool *pool);
const Resource *pool_resource(const Pool *pool);
Plugin *pool_plugin(const Pool *pool);

/* With the ids and the health of a former process it need not wait for a scan. */
void pool_restore(Pool *pool, const struct saved_resource *saved);
void pool_save(const Pool *pool, SavedState *state);

/* The backend cannot serve: the resource stays at 0. Said by the bus, once. */
void pool_refuse(Pool *pool);

/* A scan of the pool's bus ended; 'devices' are all of the bus. */
void pool_scanned(Pool *pool, const struct rdmadp_backend *vtable, GPtrArray *devices,
		  gboolean event_driven);
/* A health read of a device ended. */
void pool_observe(Pool *pool, Device *device, const struct rdmadp_health *health);
/* A health read of a device has not come back since the last poll. */
void pool_observe_stuck(Pool *pool, Device *device);
/* One round of polling has begun: HCAs that the last scan did not find are missed. */
void pool_poll_begin(Pool *pool);

/* Publishes the first list although not every health read has come back. */
void pool_first_look_over(Pool *pool);
