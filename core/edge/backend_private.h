/* SPDX-License-Identifier: Apache-2.0 */
/* What backend.c (the owner's side, health reads), backend_scan.c (the scan thread) and
 * backend_overdue.c share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "edge/backend.h"
#include "edge/backend_instance.h"
#include "edge/inbox.h"
#include "edge/workers.h"

struct backend {
	atomic_uint refs; /* the owner's, the scan thread's, one for each health read */
	struct instance instance;
	int wake_fd;
	pthread_mutex_t lock; /* for all that follows up to 'lock end' */
	pthread_cond_t ended;
	gboolean started; /* the instance is there; stays so */
	gboolean scan_wanted;
	gboolean scan_is_event; /* the scan that is wanted is because of an event */
	gboolean stopping;
	gboolean closing; /* the scan thread makes no call any more but fini */
	gboolean finished; /* the scan thread is about to return */
	gboolean hinted; /* a hint is under way to the owner */
	gint64 scan_since; /* 0 = no scan runs or is wanted */
	/* lock end */
	Inbox *inbox;
	Workers *workers;
	pthread_t scanner; /* valid if 'has_scanner' */
	gboolean has_scanner;
	/* the owner's thread only */
	struct backend_callbacks callbacks;
	gpointer data;
	GHashTable *reads; /* identity -> struct report *, both borrowed */
	GPtrArray *left_out; /* char *, by the last scan that came back; NULL: nothing */
	guint scan_limit_ms;
	GSource *overdue; /* NULL while no scan is expected */
};

enum report_kind { REPORT_SCAN, REPORT_HINT, REPORT_HEALTH };

/* What a thread tells the owner. A health read is one from the start. */
struct report {
	enum report_kind kind;
	GPtrArray *devices;
	GPtrArray *left_out;
	GError *error;
	gboolean event_driven;
	Backend *backend; /* a reference; of a health read, as the ones below */
	Device *device;
	gint64 since;
	struct rdmadp_health health;
};

void backend_unref(Backend *backend);
gboolean backend_is_stopping(Backend *backend);

/* Takes both lists and the error over; each may be NULL. */
void backend_post_scan(Backend *backend, GPtrArray *devices, GPtrArray *left_out, GError *error,
		       gboolean event_driven);

/* The owner's thread: a scan may run from now on; none may any more. */
void backend_watch_scan(Backend *backend);
void backend_unwatch_scan(Backend *backend);

/* Main function of the scan thread; takes over a reference to the Backend. */
void *backend_scan_thread(void *data);
