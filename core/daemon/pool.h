/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One resource at work: its offer (model/offer.h) and its plugin towards the kubelet.
 * Fed by its bus; publishes a new list whenever the kubelet should see another one.
 */
#pragma once

#include <glib.h>

#include "daemon/holders.h"
#include "daemon/mode_label.h"
#include "daemon/state.h"
#include "edge/node_check.h"
#include "edge/settings.h"
#include "kubelet/kubelet.h"
#include "model/device.h"
#include "model/offer.h"
#include "rdmadp/backend.h"

typedef struct pool Pool;

/* What every pool of the process shares; outlives them. */
struct pool_host {
	const Settings *settings;
	Kubelet *kubelet;
	NodeCheck *node_check;
	State *state;
	Holders *holders;
	const ModeLabel *mode_label;
	/* An Allocate found a node that is not what the last scan saw. */
	void (*rescan)(Pool *pool, gpointer data);
	/* The resource is shared or exclusive now and was not before: which devices it has
	 * is to be settled again. */
	void (*mode_changed)(Pool *pool, gpointer data);
	/* There may be something new to tell about a pool. */
	void (*changed)(gpointer data);
	/* The pool was told to leave, and no pod can hold anything of it any more. */
	void (*over)(Pool *pool, gpointer data);
	gpointer data;
};

Pool *pool_new(const struct pool_host *host, ResourceConfig *config);
void pool_free(Pool *pool);

const ResourceConfig *pool_config(const Pool *pool);
const Resource *pool_resource(const Pool *pool);
const Offer *pool_offer(const Pool *pool);
Plugin *pool_plugin(const Pool *pool);
/* Why nothing can be allocated, for people; NULL if something can. */
char *pool_trouble(const Pool *pool);

/* With the ids and the health of a former process it need not wait for a scan. */
void pool_restore(Pool *pool, const struct saved_resource *saved);
void pool_save(const Pool *pool, SavedState *state);

/* --- configuration --- */

/* The resource is described by another configuration of the same name. */
void pool_configure(Pool *pool, ResourceConfig *config);
/* The settings may have changed. */
void pool_take_settings(Pool *pool);
/* The node's label has changed: what follows it, follows. */
void pool_follow_label(Pool *pool);
/* The resource is not configured any more: it goes as soon as no pod can hold it. */
void pool_leave(Pool *pool);
gboolean pool_is_leaving(const Pool *pool);

/* --- its bus; what follows from these is published with pool_flush --- */

/* The backend cannot serve: the resource stays at 0. Said by the bus, once. */
void pool_refuse(Pool *pool);
/* The node is not as the resource needs it: it stays at 0. Said by the caller. NULL:
 * nothing bars it. */
void pool_bar(Pool *pool, const char *why);
/* Why devices are kept back from it, or NULL. Said by the caller. */
void pool_set_waiting(Pool *pool, const char *why);
/* TRUE if it takes part: it is neither of the two and not about to leave. */
gboolean pool_competes(const Pool *pool);
/* Of the bus's devices those that the selectors take (a new array). */
GPtrArray *pool_select(Pool *pool, const struct rdmadp_backend *vtable, GPtrArray *devices);
/* What the kubelet may give away one by one now (Device *, borrowed; a new array). */
GPtrArray *pool_shown_devices(const Pool *pool);
/* A scan of the pool's bus ended: the resource has 'devices' of what it selected; 'all' are those
 * of the bus. */
void pool_take(Pool *pool, GPtrArray *devices, GPtrArray *all, enum offer_scan scan);
/* A health read of a device ended. */
void pool_observe(Pool *pool, Device *device, const struct rdmadp_health *health);
/* A health read of a device does not come back. */
void pool_observe_stuck(Pool *pool, Device *device);
/* One round of polling has begun: HCAs that the last scan did not find are missed. */
void pool_poll_begin(Pool *pool);
/* The first list is worth to be told although not every health read has come back. */
void pool_first_look_over(Pool *pool);
/* Publishes what has changed, and says it. */
void pool_flush(Pool *pool);
