/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/mount_point.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fixture.h"

static void what_is_mounted_is_found(void **state)
{
	static const struct {
		const char *path;
		gboolean expected;
	} rows[] = {
		{"/", TRUE},
		{"/etc/rdmadp/config.json", TRUE},
		{"/etc/rdmadp", FALSE},
		{"/with blank/a\\b", TRUE},
		{"/with", FALSE},
		{"/volumes/config.json", FALSE},
	};
	g_autofree char *root = fixture_new(
		"file sys/mountinfo = 21 1 0:19 / / rw - overlay overlay rw\\n"
		"36 21 8:1 /volumes/config.json /etc/rdmadp/config.json ro - ext4 /dev/sda1 ro\\n"
		"37 21 8:1 /x /with\\\\040blank/a\\\\134b rw - ext4 /dev/sda1 rw\\nrubbish\n");
	g_autofree char *table = g_build_filename(root, "sys/mountinfo", NULL);

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		assert_int_equal(mount_point_is(table, rows[i].path), rows[i].expected);
	assert_false(mount_point_is("/nonexistent", "/"));
	assert_true(mount_point_is(MOUNT_POINT_TABLE, "/proc"));
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_mounted_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
