/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one backend: its instance, its scan thread and its health workers
 * (backend_instance.c makes the calls). All functions and callbacks belong to the thread
 * of the main context that was the thread's default at backend_new, unless a note
 * says otherwise.
 *
 * A call that hangs stops nothing but itself: a hung scan stops this backend's
 * scans, a hung health read stops that device's reads.
 */
#pragma once

#include <glib.h>

#include "edge/collect.h"
#include "model/device.h"

typedef struct backend Backend;

/* A callback may free the backend. */
struct backend_callbacks {
	/* A scan ended. 'devices' (Device *, sorted by device_compare, unique ids) is
	 * NULL when it failed: what was known stays. Borrowed; a reference keeps it.
	 * One that does not end in time is told as failed each time that the limit
	 * passes; if it ends after all, that is told, too.
	 * 'event_driven' tells a scan that an event caused from a requested one. The
	 * error is of BACKEND_ERROR and names the backend. */
	void (*scanned)(Backend *backend, GPtrArray *devices, const GError *error,
			gboolean event_driven, gpointer data);
	/* A health read ended, some time after backend_check_health. */
	void (*health)(Backend *backend, Device *device, const struct rdmadp_health *health,
		       gpointer data);
	/* May be NULL. The backend had an event: health may have changed, and a scan
	 * follows once the events pause. Comes at most every few milliseconds. */
	void (*hint)(Backend *backend, gpointer data);
};

/* 'vtable' is module_load's, or a test's. init runs in the scan thread; its
 * failure is reported as a failed scan and tried again with the next. The first scan
 * starts by itself. */
Backend *backend_new(const struct rdmadp_backend *vtable, const char *sysfs_root,
		     const char *dev_root, const struct backend_callbacks *callbacks,
		     gpointer data);

/* No callback any more; threads are asked to end, without waiting for them. For
 * several backends: stop all, then free each. */
void backend_stop(Backend *backend);

/* Stops, then waits up to 'wait_ms' for calls that are under way (they are
 * interrupted with a signal). What does not come back in time is left behind: its
 * threads keep what they use, and fini only follows if all of them do come back.
 * Returns as soon as all is done, so there is little reason for 0: no waiting at all. */
void backend_free(Backend *backend, guint wait_ms);

const char *backend_name(const Backend *backend);
const struct rdmadp_backend *backend_vtable(const Backend *backend);

/* Asks for a scan. Requests while one waits are one; one that comes while a scan
 * runs leads to another scan after it. */
void backend_scan(Backend *backend);
/* The same because of an event that the caller heard of: the scan is reported as
 * event-driven. */
void backend_scan_event(Backend *backend);

/* Which devices the last scan that ended has reported in vain, because they break the
 * contract, and how (char *); NULL if none. Borrowed until the next scan is told. */
const GPtrArray *backend_left_out(const Backend *backend);

/* For how long the present scan runs, or one that was asked for has not begun, in
 * milliseconds; -1 when there is none. */
gint64 backend_scan_age(Backend *backend);

/* How long a scan may take before it is told as failed, from now on; a rehearsal's limit
 * by default. */
void backend_set_scan_limit(Backend *backend, guint limit_ms);

/* Starts a health read unless one of this device (same identity) is under way;
 * then FALSE, and *ret_age_ms (may be NULL) is for how long it has been. */
gboolean backend_check_health(Backend *backend, Device *device, gint64 *ret_age_ms);

/* Worker threads now, stuck ones included; of those, stuck for over a second. */
guint backend_workers(Backend *backend, guint *ret_stuck);

/* The backend's match, with equality where it has none: 1 yes, 0 no, negative: no
 * device ever could. Pure, any thread. */
int backend_match(const struct rdmadp_backend *vtable, const Device *device, const char *key,
		  const char *value);

/* init, one discover and fini, all in the calling thread: for programs that look once.
 * Errors as for 'scanned'. Any thread. */
GPtrArray *backend_scan_once(const struct rdmadp_backend *vtable, const char *sysfs_root,
			     const char *dev_root, GError **error);
