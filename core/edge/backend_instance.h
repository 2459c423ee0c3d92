/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instance of a backend and the calls into it. The only file that calls a vtable;
 * which thread may make which call is up to backend.c.
 */
#pragma once

#include <glib.h>

#include "edge/collect.h"
#include "model/device.h"
#include "model/throttle.h"

struct instance {
	const struct rdmadp_backend *vtable;
	struct rdmadp_host host;
	char *area; /* for the log */
	char *sysfs_root;
	char *dev_root;
	void *handle; /* the backend's own, once init has succeeded */
	GMutex log_lock; /* of the throttle: any thread of the backend may log */
	struct throttle throttle;
};

void instance_setup(struct instance *ret_instance, const struct rdmadp_backend *vtable,
		    const char *sysfs_root, const char *dev_root);
void instance_clear(struct instance *instance);

gboolean instance_init(struct instance *instance, GError **error);
void instance_fini(struct instance *instance);

/* Devices (Device *, sorted, unique ids), or NULL. 'emit' is to call collector_add. */
GPtrArray *instance_discover(struct instance *instance, Collector *collector, rdmadp_emit_fn emit,
			     void *sink, GError **error);

/* -1 = the backend has no events. */
int instance_event_fd(const struct instance *instance);
int instance_event_ack(const struct instance *instance);

/* Always fills *ret with something that makes sense. */
void instance_health(const struct instance *instance, const Device *device,
		     struct rdmadp_health *ret);

/* As backend_match. */
int instance_match(const struct rdmadp_backend *vtable, const Device *device, const char *key,
		   const char *value);
