/* SPDX-License-Identifier: Apache-2.0 */
/* A trouble that lasts is told once, and again once a minute, however often it is met. */
#pragma once

#include <glib.h>

#define NAG_INTERVAL_US ((gint64)60 * G_USEC_PER_SEC)

struct nag {
	char *last;
	gint64 told_us;
};

/* TRUE if 'text' should be told at 'now_us': it differs from the last one that was, or
 * that was a minute ago. */
gboolean nag_again(struct nag *nag, const char *text, gint64 now_us);
/* The trouble is over: the next one is told at once. FALSE if none had been told. */
gboolean nag_over(struct nag *nag);
