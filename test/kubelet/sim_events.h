/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulator says: one event a line, as JSON or as text for people. Keeps the
 * verdicts, because the exit status depends on them.
 */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdio.h>

#include "kubelet/sim_problem.h"

enum sim_format { SIM_FORMAT_JSON, SIM_FORMAT_TEXT };

typedef struct sim_events SimEvents;

/* 'out' may be NULL: then only the observers are told. */
SimEvents *sim_events_new(FILE *out, enum sim_format format);
void sim_events_free(SimEvents *events);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimEvents, sim_events_free)

/* Called with every event, after it was written. Observers stay until they are removed,
 * which they must not be from within. */
typedef void (*sim_observe_fn)(const json_t *event, gpointer data);
void sim_events_observe(SimEvents *events, sim_observe_fn observe, gpointer data);
void sim_events_ignore(SimEvents *events, sim_observe_fn observe, gpointer data);

/* Seconds since sim_events_new, as in "t". */
double sim_events_now(const SimEvents *events);

/* Takes 'fields' over (may be NULL). Adds "t" and "event" in front. */
void sim_emit(SimEvents *events, const char *event, json_t *fields);

/* A verdict: 'ok' FALSE makes the exit status 1. 'resource' may be NULL. */
void sim_verdict(SimEvents *events, gboolean ok, const char *rule, const char *resource,
		 const char *text);
/* One bad verdict for each problem. */
void sim_verdicts(SimEvents *events, const char *resource, const GPtrArray *problems);
guint sim_events_bad_verdicts(const SimEvents *events);

/* json_pack with the caller's fields must not fail: names and texts are UTF-8. This
 * makes any text so. */
json_t *sim_json_text(const char *text);
json_t *sim_json_ids(const char *const *ids);
