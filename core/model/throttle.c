/* SPDX-License-Identifier: Apache-2.0 */
#include "model/throttle.h"

#define PERIOD (G_USEC_PER_SEC / THROTTLE_PER_SECOND)

static void refill(struct throttle *throttle, gint64 now)
{
	gint64 gained = (now - throttle->since) / PERIOD;

	if (gained >= throttle->used) {
		throttle->used = 0;
		throttle->since = now;
	} else if (gained > 0) {
		throttle->used -= (guint)gained;
		throttle->since += gained * PERIOD;
	}
}

gboolean throttle_pass(struct throttle *throttle, gint64 now, guint *ret_left_out)
{
	refill(throttle, now);
	if (throttle->used >= THROTTLE_BURST) {
		throttle->left_out++;
		return FALSE;
	}
	throttle->used++;
	*ret_left_out = throttle->left_out;
	throttle->left_out = 0;
	return TRUE;
}
