/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/relook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct seen {
	Relook *relook;
	GString *looks;
	guint expected;
	guint n;
	GMainLoop *loop;
};

static void on_look(const char *interface, gpointer data)
{
	struct seen *seen = data;

	g_string_append_printf(seen->looks, "%s ", interface);
	if (++seen->n >= seen->expected)
		g_main_loop_quit(seen->loop);
}

static struct seen *seen_new(guint expected)
{
	struct seen *seen = g_new0(struct seen, 1);

	seen->relook = relook_new(on_look, seen);
	seen->looks = g_string_new(NULL);
	seen->expected = expected;
	seen->loop = g_main_loop_new(NULL, FALSE);
	return seen;
}

static void seen_free(struct seen *seen)
{
	relook_free(seen->relook);
	g_string_free(seen->looks, TRUE);
	g_main_loop_unref(seen->loop);
	g_free(seen);
}

static void a_link_is_looked_at_again_and_again(void **state)
{
	struct seen *seen = seen_new(4);

	(void)state;
	relook_note(seen->relook, "eth0");
	g_main_loop_run(seen->loop);
	assert_string_equal(seen->looks->str, "eth0 eth0 eth0 eth0 ");
	/* That is all. */
	assert_false(g_main_context_pending(NULL));
	seen_free(seen);
}

/* News begin the row anew instead of adding another one. */
static void several_links_and_several_messages(void **state)
{
	struct seen *seen = seen_new(8);

	(void)state;
	for (int i = 0; i < 100; i++)
		relook_note(seen->relook, "eth0");
	relook_note(seen->relook, "eth1");
	g_main_loop_run(seen->loop);
	assert_string_equal(seen->looks->str, "eth0 eth1 eth0 eth1 eth0 eth1 eth0 eth1 ");
	seen_free(seen);
}

static void what_is_noted_may_be_given_up(void **state)
{
	struct seen *seen = seen_new(1);

	(void)state;
	relook_note(seen->relook, "eth0");
	g_main_loop_run(seen->loop);
	relook_note(seen->relook, "eth1");
	seen_free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_is_looked_at_again_and_again),
		cmocka_unit_test(several_links_and_several_messages),
		cmocka_unit_test(what_is_noted_may_be_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
