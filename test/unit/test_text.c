/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/text.h"

static void escapes_and_cuts(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		gsize most;
		const char *want;
	} cases[] = {
		{"plain", 5, "plain"},
		{"plain!", 5, "plain…"},
		{"", 5, ""},
		{"\n", 5, "\\n"},
		{"\r\t\a\x7f", 50, "\\r\\t\\x07\\x7f"},
		{"\xc2\x85", 50, "\\x85"},
		{"b\xc3\xb6se", 50, "b\xc3\xb6se"},
		{"\xe2\x82", 50, "\\xe2\\x82"},
		/* never in the middle of a character */
		{"b\xc3\xb6se", 2, "b…"},
		{"b\xc3\xb6se", 3, "b\xc3\xb6…"},
		{"\xc3\xb6", 0, "…"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = text_escape(cases[i].text, cases[i].most);
		assert_string_equal(got, cases[i].want);
	}
}

static void counts_in_words(void **state)
{
	(void)state;
	static const struct {
		guint64 n;
		const char *thing, *want;
	} cases[] = {
		{0, "HCA", "0 HCAs"},
		{1, "HCA", "1 HCA"},
		{2, "known device", "2 known devices"},
		{G_MAXUINT64, "slot", "18446744073709551615 slots"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = text_count(cases[i].n, cases[i].thing);
		assert_string_equal(got, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_and_cuts),
		cmocka_unit_test(counts_in_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
