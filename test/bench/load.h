/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, a number of callers at a time on one connection, as the kubelet has. */
#pragma once

#include <glib.h>

struct load {
	const char *socket;
	const char *method;
	GBytes *request;
	guint callers;
	guint calls; /* in all */
};

/* What it took, in microseconds: one double for each call. Ends the bench if a call
 * fails. */
GArray *load_run(const struct load *load, double *ret_calls_per_s);

GBytes *load_pack_allocate(const char *device);
/* Asks for 'size' of so many devices. */
GBytes *load_pack_preferred(char *const *devices, guint n_devices, guint size);
