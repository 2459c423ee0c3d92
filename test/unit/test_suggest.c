/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/suggest.h"

static void distance_counts_edits(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		guint want;
	} cases[] = {
		{"", "", 0},	     {"", "abc", 3},	       {"abc", "", 3},
		{"abc", "abc", 0},   {"abc", "ABC", 0},	       {"a_b-c", "abc", 0},
		{"abc", "abd", 1},   {"abc", "abcd", 1},       {"abc", "ac", 1},
		{"abc", "acb", 1},   {"kitten", "sitting", 3}, {"ab", "ba", 1},
		{"abcd", "badc", 2},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		assert_int_equal(suggest_distance(cases[i].a, cases[i].b), cases[i].want);
}

static void nearest_is_found_if_near(void **state)
{
	(void)state;
	static const char *const words[] = {"vendors", "deviceIDs", "drivers", "rdmaHcaMax",
					    "ib",      "ether",	    NULL};
	static const struct {
		const char *word, *want;
	} cases[] = {
		{"vendor", "vendors"},
		{"deviceids", "deviceIDs"},
		{"device_ids", "deviceIDs"},
		{"deviceIdz", "deviceIDs"},
		{"drviers", "drivers"},
		{"rdmaHCAMax2", "rdmaHcaMax"},
		{"hello", NULL},
		{"", NULL},
		{"xy", NULL},
		{"ibb", "ib"},
		{"ethre", "ether"},
		{"rdma", NULL},
		{"hcaMax", "rdmaHcaMax"},
		{"IDs", NULL},
		{"vers", "drivers"},
		{"ers", NULL},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *got = suggest_nearest(cases[i].word, words);
		if (g_strcmp0(got, cases[i].want) != 0)
			fail_msg("'%s' gives '%s', not '%s'", cases[i].word, got, cases[i].want);
	}
}

static void of_equally_near_ones_the_first(void **state)
{
	(void)state;
	static const char *const words[] = {"worda", "wordb", NULL};
	assert_string_equal(suggest_nearest("wordx", words), "worda");
}

static void an_ending_of_two_words_is_neither(void **state)
{
	(void)state;
	static const char *const words[] = {"healthPolicy", "allocationPolicy", NULL};
	assert_null(suggest_nearest("policy", words));
}

static void endless_words_are_nobodys_mistake(void **state)
{
	(void)state;
	g_autofree char *endless = g_strnfill(100000, 'v');
	const char *const words[] = {"vendors", endless, NULL};
	assert_null(suggest_nearest(endless, words));
	assert_string_equal(suggest_nearest("vendor", words), "vendors");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distance_counts_edits),
		cmocka_unit_test(nearest_is_found_if_near),
		cmocka_unit_test(of_equally_near_ones_the_first),
		cmocka_unit_test(an_ending_of_two_words_is_neither),
		cmocka_unit_test(endless_words_are_nobodys_mistake),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
