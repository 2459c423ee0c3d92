/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/finding.h"

static void findings_are_kept_in_order(void **state)
{
	(void)state;
	g_autoptr(GPtrArray) findings = findings_new();
	assert_false(findings_have_error(findings));
	findings_add(findings, FINDING_WARNING, "number %d", 1);
	assert_false(findings_have_error(findings));
	findings_add_at(findings, FINDING_ERROR, "a[0].b", "is \"%s\"", "x");
	assert_true(findings_have_error(findings));
	assert_int_equal(findings_count(findings, FINDING_WARNING), 1);
	const struct finding *first = g_ptr_array_index(findings, 0);
	const struct finding *second = g_ptr_array_index(findings, 1);
	assert_null(first->where);
	assert_string_equal(first->text, "number 1");
	assert_string_equal(second->where, "a[0].b");
	assert_string_equal(second->text, "a[0].b: is \"x\"");
	finding_free(NULL);
}

static void texts_are_one_line(void **state)
{
	(void)state;
	g_autoptr(GPtrArray) findings = findings_new();
	findings_add_at(findings, FINDING_ERROR, "a\nb", "c\x1b[2J\xff");
	const struct finding *finding = g_ptr_array_index(findings, 0);
	assert_string_equal(finding->where, "a\\nb");
	assert_string_equal(finding->text, "a\\nb: c\\x1b[2J\\xff");
}

static void endless_texts_are_cut(void **state)
{
	(void)state;
	g_autoptr(GPtrArray) findings = findings_new();
	g_autofree char *endless = g_strnfill(100000, 'x');
	findings_add(findings, FINDING_ERROR, "%s", endless);
	const struct finding *finding = g_ptr_array_index(findings, 0);
	assert_int_equal(strlen(finding->text), 1024 + strlen("…"));
	assert_true(g_str_has_suffix(finding->text, "x…"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(findings_are_kept_in_order),
		cmocka_unit_test(texts_are_one_line),
		cmocka_unit_test(endless_texts_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
