/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one backend: its instance, its scan thread and its health workers. The
 * only file that calls a vtable. All functions and callbacks belong to the thread
 * of the main context that was the thread's default at backend_new.
 *
 * A call that hangs stops nothing but itself: a hung scan stops this backend's
 * scans, a hung health read stops that device's reads.
 */
#pragma once

#include <glib.h>

#include "model/device.h"

typedef struct backend Backend;

struct backend_callbacks {
	/* A scan ended. 'devices' (Device *, sorted by device_compare, unique ids) is
	 * NULL when it failed: what was known stays. 'event_driven' tells a scan that
	 * an event caused from a requested one. */
	void (*scanned)(Backend *backend, GPtrArray *devices, const GError *error,
			gboolean event_driven, gpointer data);
	/* A health read ended, some time after backend_check_health. */
	void (*health)(Backend *backend, Device *device, const struct rdmadp_health *health,
		       gpointer data);
};

/* 'vtable' is module_load's, or a test's. init runs in the scan thread; its
 * failure is reported as a failed scan. The first scan starts by itself. */
Backend *backend_new(const struct rdmadp_backend *vtable, const char *sysfs_root,
		     const char *dev_root, const struct backend_callbacks *callbacks,
		     gpointer data);

/* Stops: no callback any more. Waits up to 'wait_ms' for calls that are under way
 * (they are interrupted with a signal), then leaves them behind without fini. */
void backend_free(Backend *backend, guint wait_ms);

const char *backend_name(const Backend *backend);
const struct rdmadp_backend *backend_vtable(const Backend *backend);

/* Asks for a scan. Requests while one waits are one; one that comes while a scan
 * runs leads to another scan after it. */
void backend_scan(Backend *backend);

/* Starts a health read unless one of this device (same identity) is under way;
 * then FALSE, and *ret_age_ms (may be NULL) is for how long it has been. */
gboolean backend_check_health(Backend *backend, Device *device, gint64 *ret_age_ms);

/* The backend's match, with equality where it has none. Pure, any thread. */
gboolean backend_match(const struct rdmadp_backend *vtable, const Device *device, const char *key,
		       const char *value);

/* Worker threads now, stuck ones included; of those, stuck for over a second. */
guint backend_workers(const Backend *backend, guint *ret_stuck);
