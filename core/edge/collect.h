/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes in what a backend answers, checks it and keeps copies. One collector belongs
 * to one scan thread: it remembers what it has complained about, so that a standing
 * fault is logged once and not at every scan.
 */
#pragma once

#include <glib.h>

#include "model/device.h"

typedef struct collector Collector;

/* 'area' for the log; borrowed. */
Collector *collector_new(const char *area);
void collector_free(Collector *collector);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Collector, collector_free)

void collector_begin(Collector *collector);

/* The answer for emit. A device that breaks the contract, or repeats an id of this
 * scan, is left out and logged; the scan goes on. Once an answer was negative it
 * stays so. */
int collector_add(Collector *collector, const struct rdmadp_device *reported);

/* What was wrong with devices of this scan, in any case in the same order (char *). */
GPtrArray *collector_complaints(const Collector *collector);

/* What discover returned decides. The devices (Device *, sorted by id), or NULL. */
GPtrArray *collector_end(Collector *collector, int result, GError **error);

enum backend_error {
	BACKEND_ERROR_INIT, /* init failed: there is no instance */
	BACKEND_ERROR_SCAN /* discover failed: what was known stays */
};

#define BACKEND_ERROR (backend_error_quark())
GQuark backend_error_quark(void);

/* Text for what a vtable call returned as a failure. */
char *collect_failure(int result);

/* Makes sense of a health read whatever the backend put there: text that can be
 * logged, numbers that the contract knows. A failure is 'unknown'. */
void collect_health(int result, struct rdmadp_health *health);
