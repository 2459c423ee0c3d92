/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When events of the kernel lead to a scan: once they pause, or after a limit when they
 * do not. What an RDMA device brings with it (its interface, its character devices) can
 * come much later than its first event, so some events are followed by more scans. Pure.
 */
#pragma once

#include <glib.h>

struct debounce {
	gint64 first_us, last_us; /* of the events that wait for a scan; 0: none does */
	gint64 followed_us; /* the last event with more scans to come; 0: none */
	guint n_followed; /* scans that came after it */
};

/* 'follow': scan again after 1, 5 and 30 seconds. TRUE if it is the first of a burst. */
gboolean debounce_note(struct debounce *debounce, gboolean follow, gint64 now_us);
/* TRUE if a scan is due; it counts as begun then. */
gboolean debounce_take(struct debounce *debounce, gint64 now_us);
/* When a scan will be due; -1: not before an event. */
gint64 debounce_due(const struct debounce *debounce);
