/* SPDX-License-Identifier: Apache-2.0 */
#include "model/vf_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	const char *entry;
	const char *inside; /* indices that it contains, '-' for -1; of -1 to 9 */
	const char *problem;
} entries[] = {
	{"ens1f0", "-0123456789", NULL},
	{"ens1f0#0-3,7", "01237", NULL},
	{"ens1f0#2", "2", NULL},
	{"ens1f0#5-5", "5", NULL},
	{"0000:af:00.0#1,3,5-6", "1356", NULL},
	{"ens1f0#8-65535", "89", NULL},
	{"ens1f0#", "", "nothing follows the '#'"},
	{"#1", "1", "the name before '#' is missing"},
	{"ens1f0#3-1", "", "the range '3-1' is empty"},
	{"ens1f0#1,,2", "12", "'' is neither a number (0 to 65535) nor a range of two"},
	{"ens1f0#x", "", "'x' is neither a number (0 to 65535) nor a range of two"},
	{"ens1f0#1-", "", "'1-' is neither a number (0 to 65535) nor a range of two"},
	{"ens1f0#-1", "", "'-1' is neither a number (0 to 65535) nor a range of two"},
	{"ens1f0#1-2-3", "", "'1-2-3' is neither a number (0 to 65535) nor a range of two"},
	{"ens1f0#0-65536", "", "'0-65536' is neither a number (0 to 65535) nor a range of two"},
	{"ens1f0#0x1", "", "'0x1' is neither a number (0 to 65535) nor a range of two"},
};

static void ranges_contain_what_they_say(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(entries); i++) {
		const char *range = entries[i].entry + vf_range_name_length(entries[i].entry);
		g_autoptr(GString) inside = g_string_new(NULL);

		for (int index = -1; index <= 9; index++)
			if (vf_range_contains(range, index))
				g_string_append_c(inside, "-0123456789"[index + 1]);
		assert_string_equal(inside->str, entries[i].inside);
	}
}

static void bad_ranges_are_explained(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(entries); i++) {
		g_autofree char *problem = vf_range_problem(entries[i].entry);

		assert_string_equal(problem == NULL ? "fine" : problem,
				    entries[i].problem == NULL ? "fine" : entries[i].problem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_contain_what_they_say),
		cmocka_unit_test(bad_ranges_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
