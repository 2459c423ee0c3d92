/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/nag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	gint64 at_us;
	const char *text;
	gboolean told;
} story[] = {
	{5, "no kubelet", TRUE},
	{6, "no kubelet", FALSE},
	{NAG_INTERVAL_US + 4, "no kubelet", FALSE},
	{NAG_INTERVAL_US + 5, "no kubelet", TRUE},
	{NAG_INTERVAL_US + 6, "refused", TRUE},
	{NAG_INTERVAL_US + 7, "refused", FALSE},
	{NAG_INTERVAL_US + 8, "no kubelet", TRUE},
};

static void a_trouble_is_told_once_a_minute(G_GNUC_UNUSED void **state)
{
	struct nag nag = {0};

	for (gsize i = 0; i < G_N_ELEMENTS(story); i++)
		assert_int_equal(nag_again(&nag, story[i].text, story[i].at_us), story[i].told);
	nag_over(&nag);
}

static void after_its_end_it_is_new(G_GNUC_UNUSED void **state)
{
	struct nag nag = {0};

	assert_false(nag_over(&nag));
	assert_true(nag_again(&nag, "x", 1));
	assert_false(nag_again(&nag, "x", 2));
	assert_true(nag_over(&nag));
	assert_false(nag_over(&nag));
	assert_true(nag_again(&nag, "x", 3));
	nag_over(&nag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trouble_is_told_once_a_minute),
		cmocka_unit_test(after_its_end_it_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
