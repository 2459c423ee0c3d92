/* SPDX-License-Identifier: Apache-2.0 */
/* Lets so much pass at once and then so much a second, and counts the rest. */
#pragma once

#include <glib.h>

#define THROTTLE_BURST 1000
#define THROTTLE_PER_SECOND 10

/* Zeroes are a full one. */
struct throttle {
	guint used; /* of the burst */
	guint left_out; /* since the last one that passed */
	gint64 since; /* us; until then 'used' is settled */
};

/* 'now' in us of a monotonic clock. When it is TRUE again after a while, 'ret_left_out'
 * tells how many were not, else 0. */
gboolean throttle_pass(struct throttle *throttle, gint64 now, guint *ret_left_out);
