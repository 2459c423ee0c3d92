/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Only a scan knows whether a device that has lost its files has others now; one that
 * hangs is not waited for. */
static void what_a_scan_under_way_finds_out_is_left_to_it(void **state)
{
	static const struct {
		guint32 state, reason;
		gint64 scan_age_ms;
		gboolean waits;
	} table[] = {
		{RDMADP_UNHEALTHY, RDMADP_REASON_FILES, -1, FALSE},
		{RDMADP_UNHEALTHY, RDMADP_REASON_FILES, 0, TRUE},
		{RDMADP_UNHEALTHY, RDMADP_REASON_FILES, 999, TRUE},
		{RDMADP_UNHEALTHY, RDMADP_REASON_FILES, 1000, FALSE},
		{RDMADP_UNHEALTHY, RDMADP_REASON_GONE, 3, TRUE},
		{RDMADP_UNHEALTHY, RDMADP_REASON_LINK, 3, FALSE},
		{RDMADP_UNHEALTHY, RDMADP_REASON_FATAL, 3, FALSE},
		{RDMADP_UNHEALTHY, RDMADP_REASON_VENDOR, 3, FALSE},
		{RDMADP_UNHEALTHY, RDMADP_REASON_NONE, 3, FALSE},
		{RDMADP_HEALTHY, RDMADP_REASON_NONE, 3, FALSE},
		{RDMADP_HEALTH_UNKNOWN, RDMADP_REASON_FILES, 3, FALSE},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		const struct rdmadp_health health = {
			.size = sizeof(health), .state = table[i].state, .reason = table[i].reason};

		print_message("row %zu\n", i);
		assert_int_equal(sight_waits_for_scan(&health, table[i].scan_age_ms),
				 table[i].waits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_scan_under_way_finds_out_is_left_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
