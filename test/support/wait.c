/* SPDX-License-Identifier: Apache-2.0 */
#include "support/wait.h"

static gboolean on_tick(gpointer data)
{
	(void)data;
	return G_SOURCE_CONTINUE;
}

void test_wait(test_condition_fn condition, gpointer data)
{
	g_autoptr(GMainContext) context = g_main_context_ref_thread_default();
	g_autoptr(GSource) tick = g_timeout_source_new(2);
	gint64 limit = g_get_monotonic_time() + TEST_WAIT_MS * G_GINT64_CONSTANT(1000);

	g_source_set_callback(tick, on_tick, NULL, NULL);
	g_source_attach(tick, context);
	while (!condition(data)) {
		if (g_get_monotonic_time() > limit)
			g_error("what the test waits for does not happen");
		g_main_context_iteration(context, TRUE);
	}
	g_source_destroy(tick);
}
