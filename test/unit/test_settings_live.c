/* SPDX-License-Identifier: Apache-2.0 */
/* What changes under a running daemon, and what needs another start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "edge/settings.h"
#include "model/finding.h"

static Settings *parse(const char *text)
{
	g_autoptr(GPtrArray) findings = findings_new();
	Settings *settings = settings_parse(text, strlen(text), "/", findings);

	assert_int_equal(findings->len, 0);
	assert_non_null(settings);
	return settings;
}

static void what_is_the_same_changes_nothing(void **state)
{
	static const char text[] = "retire_after = 5.0; status_socket = \"/a\"; cdi_dir = \"/c\";";
	g_autoptr(Settings) running = parse(text);
	g_autoptr(Settings) fresh = parse(text);
	g_autoptr(GPtrArray) others = g_ptr_array_new();

	(void)state;
	assert_false(settings_take_live(running, fresh, others));
	assert_int_equal(others->len, 0);
	assert_true(running->retire_after_s == 5);
}

static void some_keys_are_taken_and_others_named(void **state)
{
	g_autoptr(Settings) running = parse("retire_after = 5.0; status_socket = \"/a\";");
	g_autoptr(Settings) fresh =
		parse("log = { level = \"debug\"; }; health = { missing_scans = 7; };"
		      "status_socket = \"/b\"; status_group = \"rdma\"; cdi_dir = \"/other\";"
		      "mode_label = \"a/b\"; mode_label_file = \"/labels\";");
	g_autoptr(GPtrArray) others = g_ptr_array_new();

	(void)state;
	assert_true(settings_take_live(running, fresh, others));
	assert_int_equal(running->log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(running->missing_scans, 7);
	assert_true(running->retire_after_s == 600);
	assert_string_equal(running->status_socket, "/b");
	assert_string_equal(running->status_group, "rdma");
	assert_string_equal(running->mode_label, "a/b");
	assert_string_equal(running->mode_label_file, "/labels");
	assert_string_equal(running->cdi_dir, "/var/run/cdi");
	assert_int_equal(others->len, 1);
	assert_string_equal(g_ptr_array_index(others, 0), "cdi_dir");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_the_same_changes_nothing),
		cmocka_unit_test(some_keys_are_taken_and_others_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
