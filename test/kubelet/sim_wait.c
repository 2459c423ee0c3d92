/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_wait.h"

#include <string.h>

#define DEFAULT_LIMIT_S 10

struct condition {
	const char *name;
	gboolean has_number;
	gboolean (*holds)(const Sim *sim, const char *resource, guint64 number);
};

struct sim_wait {
	Sim *sim;
	const struct condition *condition;
	char *resource;
	guint64 number;
	gint64 start_us;
	guint limit, check; /* sources */
	void (*over)(gpointer data);
	gpointer data;
};

/* --- conditions --- */

static gboolean is_registered(const Sim *sim, const char *resource, guint64 number)
{
	(void)number;
	return sim_is_streaming(sim, resource);
}

static gboolean is_stopped(const Sim *sim, const char *name, guint64 number)
{
	const struct sim_resource *resource = sim_state_find(sim_get_state(sim), name);
	(void)number;
	return resource && resource->stopped_us != 0;
}

static gboolean is_unknown(const Sim *sim, const char *name, guint64 number)
{
	const struct sim_resource *resource = sim_state_find(sim_get_state(sim), name);
	(void)number;
	return !resource || !resource->healthy;
}

static gboolean is_allocatable(const Sim *sim, const char *name, guint64 number)
{
	const struct sim_resource *resource = sim_state_find(sim_get_state(sim), name);
	return resource && resource->healthy && sim_resource_allocatable(resource) == number;
}

static gboolean is_capacity(const Sim *sim, const char *name, guint64 number)
{
	const struct sim_resource *resource = sim_state_find(sim_get_state(sim), name);
	return resource && resource->healthy && sim_resource_capacity(resource) == number;
}

static const struct condition conditions[] = {
	{"registered", FALSE, is_registered}, {"stopped", FALSE, is_stopped},
	{"unknown", FALSE, is_unknown},	      {"allocatable", TRUE, is_allocatable},
	{"capacity", TRUE, is_capacity},
};

/* --- life --- */

static void on_event(const json_t *event, gpointer data);

void sim_wait_free(SimWait *wait)
{
	if (!wait)
		return;
	g_clear_handle_id(&wait->limit, g_source_remove);
	g_clear_handle_id(&wait->check, g_source_remove);
	sim_events_ignore(sim_get_events(wait->sim), on_event, wait);
	g_free(wait->resource);
	g_free(wait);
}

static void end(SimWait *wait)
{
	void (*over)(gpointer data) = wait->over;
	gpointer data = wait->data;
	sim_wait_free(wait);
	over(data);
}

static gboolean on_check(gpointer data)
{
	SimWait *wait = data;
	wait->check = 0;
	if (!wait->condition->holds(wait->sim, wait->resource, wait->number))
		return G_SOURCE_REMOVE;
	sim_emit(sim_get_events(wait->sim), "waited",
		 json_pack("{s:s, s:o, s:f}", "condition", wait->condition->name, "resource",
			   sim_json_text(wait->resource), "ms",
			   (double)(g_get_monotonic_time() - wait->start_us) / 1000.0));
	end(wait);
	return G_SOURCE_REMOVE;
}

/* The state settles after the event, so it is looked at from the main loop. */
static void on_event(const json_t *event, gpointer data)
{
	SimWait *wait = data;
	(void)event;
	if (wait->check == 0)
		wait->check = g_idle_add(on_check, wait);
}

static gboolean on_limit(gpointer data)
{
	SimWait *wait = data;
	g_autofree char *text = g_strdup_printf("'%s' has not become %s in time", wait->resource,
						wait->condition->name);
	wait->limit = 0;
	sim_verdict(sim_get_events(wait->sim), FALSE, "wait", wait->resource, text);
	end(wait);
	return G_SOURCE_REMOVE;
}

static gboolean read_words(SimWait *wait, char **words, double *ret_limit, GError **error)
{
	guint n = g_strv_length(words);
	guint next = 2;
	for (gsize i = 0; i < G_N_ELEMENTS(conditions) && !wait->condition; i++) {
		if (strcmp(conditions[i].name, words[0]) == 0)
			wait->condition = &conditions[i];
	}
	if (!wait->condition || (wait->condition->has_number && n < 3)) {
		g_set_error_literal(error, g_quark_from_static_string("wait"), 0,
				    "no such condition");
		return FALSE;
	}
	wait->resource = g_strdup(words[1]);
	if (wait->condition->has_number &&
	    !g_ascii_string_to_unsigned(words[next++], 10, 0, G_MAXUINT, &wait->number, error))
		return FALSE;
	*ret_limit = n > next ? g_ascii_strtod(words[next], NULL) : DEFAULT_LIMIT_S;
	return TRUE;
}

SimWait *sim_wait_new(Sim *sim, char **words, void (*over)(gpointer data), gpointer data,
		      GError **error)
{
	SimWait *wait = g_new0(SimWait, 1);
	double limit_s = 0;
	wait->sim = sim;
	wait->start_us = g_get_monotonic_time();
	wait->over = over;
	wait->data = data;
	if (!read_words(wait, words, &limit_s, error)) {
		sim_wait_free(wait);
		return NULL;
	}
	wait->limit = g_timeout_add((guint)(limit_s * 1000), on_limit, wait);
	wait->check = g_idle_add(on_check, wait);
	sim_events_observe(sim_get_events(sim), on_event, wait);
	return wait;
}
