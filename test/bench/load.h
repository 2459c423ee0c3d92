/* SPDX-License-Identifier: Apache-2.0 */
/* Allocate calls, a number of callers at a time on one connection, as the kubelet has. */
#pragma once

#include <glib.h>

struct load {
	const char *socket;
	const char *device;
	guint callers;
	guint calls; /* in all */
};

/* What it took, in microseconds: one double for each call. Ends the bench if a call
 * fails. */
GArray *load_run(const struct load *load, double *ret_calls_per_s);
