/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_events.h"

#include "kubelet/sim_text.h"

struct observer {
	sim_observe_fn observe;
	gpointer data;
};

struct sim_events {
	FILE *out;
	enum sim_format format;
	gint64 start_us;
	guint bad_verdicts;
	GArray *observers; /* struct observer */
};

/* Digits of "t" and of durations: microseconds for a day. */
#define PRECISION 11

SimEvents *sim_events_new(FILE *out, enum sim_format format)
{
	SimEvents *events = g_new0(SimEvents, 1);
	events->out = out;
	events->format = format;
	events->start_us = g_get_monotonic_time();
	events->observers = g_array_new(FALSE, FALSE, sizeof(struct observer));
	return events;
}

void sim_events_free(SimEvents *events)
{
	if (!events)
		return;
	g_array_unref(events->observers);
	g_free(events);
}

void sim_events_observe(SimEvents *events, sim_observe_fn observe, gpointer data)
{
	struct observer observer = {.observe = observe, .data = data};
	g_array_append_val(events->observers, observer);
}

void sim_events_ignore(SimEvents *events, sim_observe_fn observe, gpointer data)
{
	for (guint i = 0; i < events->observers->len; i++) {
		const struct observer *observer =
			&g_array_index(events->observers, struct observer, i);
		if (observer->observe != observe || observer->data != data)
			continue;
		g_array_remove_index(events->observers, i);
		return;
	}
}

double sim_events_now(const SimEvents *events)
{
	return (double)(g_get_monotonic_time() - events->start_us) / G_USEC_PER_SEC;
}

json_t *sim_json_text(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
	return json_string(valid);
}

json_t *sim_json_ids(const char *const *ids)
{
	json_t *array = json_array();
	for (gsize i = 0; ids && ids[i]; i++)
		json_array_append_new(array, sim_json_text(ids[i]));
	return array;
}

static void write_line(const SimEvents *events, const json_t *event)
{
	g_autofree char *text = NULL;
	if (events->format == SIM_FORMAT_TEXT) {
		text = sim_text_line(event);
		fprintf(events->out, "%s\n", text);
	} else {
		char *line = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(PRECISION));
		fprintf(events->out, "%s\n", line);
		free(line); /* jansson's, not GLib's */
	}
	fflush(events->out);
}

void sim_emit(SimEvents *events, const char *event, json_t *fields)
{
	json_t *line = json_pack("{s:f, s:s}", "t", sim_events_now(events), "event", event);
	if (fields) {
		json_object_update(line, fields);
		json_decref(fields);
	}
	if (events->out)
		write_line(events, line);
	for (guint i = 0; i < events->observers->len; i++) {
		const struct observer *observer =
			&g_array_index(events->observers, struct observer, i);
		observer->observe(line, observer->data);
	}
	json_decref(line);
}

void sim_verdict(SimEvents *events, gboolean ok, const char *rule, const char *resource,
		 const char *text)
{
	json_t *fields = json_pack("{s:b, s:s}", "ok", ok, "rule", rule);
	if (resource)
		json_object_set_new(fields, "resource", sim_json_text(resource));
	json_object_set_new(fields, "text", sim_json_text(text));
	if (!ok)
		events->bad_verdicts++;
	sim_emit(events, "verdict", fields);
}

void sim_verdicts(SimEvents *events, const char *resource, const GPtrArray *problems)
{
	for (guint i = 0; i < problems->len; i++) {
		const struct sim_problem *problem = g_ptr_array_index(problems, i);
		sim_verdict(events, FALSE, problem->rule, resource, problem->text);
	}
}

guint sim_events_bad_verdicts(const SimEvents *events)
{
	return events->bad_verdicts;
}
