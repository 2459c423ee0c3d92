/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a scan thread looks at a backend's event descriptor and when events lead to a
 * scan: once they pause, or after a limit when they do not. A flood of events, or a
 * descriptor that is never quiet, costs a look every few milliseconds.
 */
#pragma once

#include <glib.h>

struct event_watch {
	int fd; /* -1 = no events */
	guint strikes; /* failures in a row */
	gint64 paused_until;
	gint64 first; /* of the events that wait for a scan; 0 = none does */
	gint64 last;
};

/* Sleeps until the descriptor has an event (then TRUE: event_ack is to be called), or
 * something is to be done: 'wake_fd' was written to, or a scan is due. Times are
 * g_get_monotonic_time's. */
gboolean event_watch_wait(struct event_watch *watch, int wake_fd, gint64 now, short *ret_revents);

/* 'result' is event_ack's. Returns FALSE when the descriptor has failed so often that
 * it is given up ('fd' is -1 then). */
gboolean event_watch_note(struct event_watch *watch, int result, short revents, gint64 now);

/* TRUE if events call for a scan now. */
gboolean event_watch_is_due(const struct event_watch *watch, gint64 now);
