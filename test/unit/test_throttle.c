/* SPDX-License-Identifier: Apache-2.0 */
#include "model/throttle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S G_GINT64_CONSTANT(1000000)

/* How many of 'n' at one moment pass. */
static guint passed(struct throttle *throttle, gint64 now, guint n, guint *ret_left_out)
{
	guint count = 0, left_out = 0;

	*ret_left_out = 0;
	for (guint i = 0; i < n; i++) {
		if (!throttle_pass(throttle, now, &left_out))
			continue;
		count++;
		*ret_left_out += left_out;
	}
	return count;
}

static void a_burst_passes_and_then_a_few(G_GNUC_UNUSED void **state)
{
	static const struct {
		gint64 at;
		guint asked, passed, left_out;
	} steps[] = {
		{7 * S, THROTTLE_BURST - 1, THROTTLE_BURST - 1, 0},
		{7 * S, 5, 1, 0},
		{7 * S + S / 2, 100, 5, 4},
		{8 * S, 3, 3, 95},
		{8 * S, 3, 2, 0},
		/* A clock that stands still or goes back gives nothing. */
		{1 * S, 3, 0, 0},
		{9 * S, 20, 10, 4},
		{3600 * S, THROTTLE_BURST + 1, THROTTLE_BURST, 10},
	};
	struct throttle throttle = {0};

	for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
		guint left_out;

		assert_int_equal(passed(&throttle, steps[i].at, steps[i].asked, &left_out),
				 steps[i].passed);
		assert_int_equal(left_out, steps[i].left_out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_passes_and_then_a_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
