/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/session.h"

#include "bench/results.h"

#define PATIENCE_S ((gint64)30)

const struct watched *session_plugin(const Session *session, guint index)
{
	return g_ptr_array_index(bench_kubelet_plugins(session->kubelet), index);
}

static gboolean on_tick(gpointer data)
{
	(void)data;
	return G_SOURCE_CONTINUE;
}

void session_wait(Session *session, gboolean (*is_reached)(const Session *session, gpointer data),
		  gpointer data)
{
	gint64 until = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
	guint tick = g_timeout_add(100, on_tick, NULL);

	while (!is_reached(session, data)) {
		if (!process_is_alive(session->process))
			exit(1);
		if (g_get_monotonic_time() > until)
			g_error("%s does not get there in %" G_GINT64_FORMAT " s; see %s/log",
				subject_names[session->subject->which], PATIENCE_S, session->node);
		g_main_context_iteration(NULL, TRUE);
	}
	g_source_remove(tick);
}

static gboolean set_true(gpointer data)
{
	*(gboolean *)data = TRUE;
	return G_SOURCE_REMOVE;
}

void session_settle(guint ms)
{
	gboolean is_over = FALSE;

	g_timeout_add(ms, set_true, &is_over);
	while (!is_over)
		g_main_context_iteration(NULL, TRUE);
}

static gboolean all_listed(const Session *session, gpointer data)
{
	const GPtrArray *plugins = bench_kubelet_plugins(session->kubelet);

	(void)data;
	if (plugins->len < session->subject->resources)
		return FALSE;
	for (guint i = 0; i < plugins->len; i++)
		if (session_plugin(session, i)->n_devices < session->subject->slots)
			return FALSE;
	return TRUE;
}

Session *session_begin(Rpc *rpc, const struct subject *subject)
{
	Session *session = g_new0(Session, 1);

	session->subject = subject;
	session->rpc = rpc;
	session->node = subject_make_node(subject);
	g_autofree char *dir = subject_kubelet_dir(session->node);

	session->kubelet = bench_kubelet_new(rpc, dir);
	gint64 began_us = g_get_monotonic_time();

	session->process = subject_start(subject, session->node);
	session_wait(session, all_listed, NULL);
	for (guint i = 0; i < subject->resources; i++) {
		const struct watched *plugin = session_plugin(session, i);

		session->registered_ms = MAX(session->registered_ms,
					     (double)(plugin->registered_us - began_us) / 1000);
		session->listed_ms =
			MAX(session->listed_ms, (double)(plugin->listed_us - began_us) / 1000);
	}
	return session;
}

void session_end(Session *session)
{
	process_stop(session->process);
	bench_kubelet_free(session->kubelet);
	subject_remove_node(session->node);
	g_free(session->node);
	g_free(session);
}
