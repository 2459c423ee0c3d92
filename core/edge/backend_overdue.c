/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the owner of a scan that does not come back: nothing else would. */
#include "edge/backend_private.h"

static gboolean on_limit(gpointer data)
{
	Backend *backend = data;
	gint64 age_ms = backend_scan_age(backend);
	g_autoptr(GError) error = NULL;

	if (age_ms < 0) {
		backend_unwatch_scan(backend);
		return G_SOURCE_REMOVE;
	}
	if (age_ms < backend->scan_limit_ms)
		return G_SOURCE_CONTINUE;
	error = g_error_new(BACKEND_ERROR, BACKEND_ERROR_SCAN,
			    "backend '%s': a scan does not end within %g s and is waited for",
			    backend_name(backend), backend->scan_limit_ms / 1000.0);
	backend->callbacks.scanned(backend, NULL, error, FALSE, backend->data);
	return G_SOURCE_CONTINUE;
}

void backend_watch_scan(Backend *backend)
{
	g_autoptr(GMainContext) context = g_main_context_ref_thread_default();

	if (backend->overdue)
		return;
	backend->overdue = g_timeout_source_new(backend->scan_limit_ms);
	g_source_set_callback(backend->overdue, on_limit, backend, NULL);
	g_source_attach(backend->overdue, context);
}

void backend_unwatch_scan(Backend *backend)
{
	if (!backend->overdue)
		return;
	g_source_destroy(backend->overdue);
	g_clear_pointer(&backend->overdue, g_source_unref);
}

void backend_set_scan_limit(Backend *backend, guint limit_ms)
{
	backend->scan_limit_ms = limit_ms;
	backend_unwatch_scan(backend);
	backend_watch_scan(backend);
}
