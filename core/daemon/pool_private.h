/* SPDX-License-Identifier: Apache-2.0 */
/* For pool*.c only. */
#pragma once

#include "daemon/double_watch.h"
#include "daemon/pool.h"
#include "edge/device_info.h"

struct pool {
	const struct pool_host *host;
	ResourceConfig *config;
	Offer *offer;
	Plugin *plugin;
	DeviceInfoDir *device_info; /* NULL: none have been written */
	DoubleWatch *double_watch; /* of exclusive devices */
	const struct rdmadp_backend *vtable; /* of the last scan; NULL before */
	gboolean refused;
	char *barred; /* why the node is not as the resource needs it, or NULL */
	char *waiting; /* why it does not get all of its devices yet, or NULL */
	gboolean published;
	guint tick; /* source of the next offer_tick, or 0 */
	gint64 asked_from_us; /* of the question about pods that is under way; -1: none is */
	gint64 answered_us; /* of what time the last answer was */
	char *trouble; /* what was last said about having nothing to offer */
	char *ask_trouble; /* what was last said about the kubelet's silence */
};

/* --- pool_allocate.c --- */

extern const struct plugin_ops pool_shared_ops;
/* With GetPreferredAllocation. */
extern const struct plugin_ops pool_exclusive_ops;

/* What a former process may have left about these devices. */
void pool_clean_device_info(Pool *pool, const Snapshot *list);
/* Says it if Allocate cannot add the extraDevices. */
void pool_say_extra_devices(const Pool *pool);

/* --- pool_pods.c --- */

/* Asks the kubelet who holds what, if that is worth to be known. */
void pool_ask(Pool *pool);
/* The resource is in another mode now: which devices it has is settled again. */
void pool_change_mode(Pool *pool);
