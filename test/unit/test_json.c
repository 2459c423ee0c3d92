/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "edge/json.h"

static JsonValue *parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	JsonValue *value = json_parse(text, strlen(text), &error);
	if (value == NULL)
		fail_msg("'%s': %s", text, error->message);
	return value;
}

static const JsonValue *item(const JsonValue *value, guint i)
{
	assert_true(i < value->items->len);
	return g_ptr_array_index(value->items, i);
}

static void every_kind_is_read(void **state)
{
	(void)state;
	g_autoptr(JsonValue) top = parse("[null, true, false, -7, 2.5, \"x\", [], {\"k\": 1}]");
	assert_int_equal(top->kind, JSON_KIND_ARRAY);
	assert_int_equal(item(top, 0)->kind, JSON_KIND_NULL);
	assert_int_equal(item(top, 1)->kind, JSON_KIND_BOOL);
	assert_true(item(top, 1)->boolean);
	assert_false(item(top, 2)->boolean);
	assert_int_equal(item(top, 3)->integer, -7);
	assert_int_equal(item(top, 4)->kind, JSON_KIND_REAL);
	assert_true(item(top, 4)->real == 2.5);
	assert_string_equal(item(top, 5)->string, "x");
	assert_int_equal(item(top, 6)->items->len, 0);
	assert_string_equal(item(item(top, 7), 0)->key, "k");
	assert_int_equal(item(item(top, 7), 0)->integer, 1);
	json_value_free(NULL);
}

static void members_keep_their_order(void **state)
{
	(void)state;
	g_autoptr(JsonValue) top = parse("{\"z\": 1, \"a\": 2, \"m\": 3}");
	assert_string_equal(item(top, 0)->key, "z");
	assert_string_equal(item(top, 1)->key, "a");
	assert_string_equal(item(top, 2)->key, "m");
	assert_int_equal(item(top, 2)->index, 2);
}

static void paths_lead_to_the_value(void **state)
{
	(void)state;
	g_autoptr(JsonValue) top =
		parse("{\"configList\": [{\"selectors\": {\"ids\": [1, [2]]}}]}");
	const JsonValue *ids = item(item(item(item(top, 0), 0), 0), 0);
	g_autofree char *top_path = json_path(top);
	g_autofree char *path = json_path(item(ids, 0));
	g_autofree char *deeper = json_path(item(item(ids, 1), 0));
	assert_string_equal(top_path, "");
	assert_string_equal(path, "configList[0].selectors.ids[0]");
	assert_string_equal(deeper, "configList[0].selectors.ids[1][0]");
}

static void keys_are_found_in_any_case(void **state)
{
	(void)state;
	g_autoptr(JsonValue) top = parse("{\"Abc\": 1, \"list\": []}");
	assert_ptr_equal(json_find(top, "aBC"), item(top, 0));
	assert_null(json_find(top, "ab"));
	assert_null(json_find(item(top, 1), "abc"));
	assert_null(json_find(item(top, 0), "abc"));
}

static void values_are_described(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"null", "null"},
		{"true", "true"},
		{"false", "false"},
		{"17", "17"},
		{"1.5", "1.5"},
		{"1e3", "1000.0"},
		{"1e300", "1e+300"},
		{"\"15b3\"", "\"15b3\""},
		{"[1]", "a list"},
		{"{}", "an object"},
		{"\"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
		 "0"
		 "\"",
		 "\"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
		 "0"
		 "\""},
		{"\"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
		 "0"
		 "1\"",
		 "\"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
		 "0"
		 "…\""},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(JsonValue) value = parse(cases[i][0]);
		g_autofree char *text = json_describe(value);
		assert_string_equal(text, cases[i][1]);
	}
}

static void what_is_not_json_is_explained(void **state)
{
	(void)state;
	static const struct {
		const char *text, *where, *what;
	} cases[] = {
		{"", "line 1, column 1", "the file is empty"},
		{" \n ", "line 1, column 1", "the file is empty"},
		{"\xef\xbb\xbf{}", "line 1, column 1", "byte order mark"},
		{"\xfe\xff", "line 1, column 1", "UTF-16"},
		{"{\"a\":1,}", "line 1, column 7", "a comma after the last item"},
		{"[1,\n2\n,\n]", "line 3, column 1", "a comma after the last item"},
		{"[,1]", "line 1, column 2", "a comma too many"},
		{"[1 2]", "line 1, column 4", "a comma is missing"},
		{"[true false]", "line 1, column 7", "a comma is missing"},
		{"[1 \"abc\"]", "line 1, column 4", "a comma is missing"},
		{"{\"a\":1 \"bcd\":2}", "line 1, column 8", "a comma is missing"},
		{"{} // x", "line 1, column 4", "there is more text after the end"},
		{"{ // x\n}", "line 1, column 3", "JSON has no comments"},
		{"[ /* x */ ]", "line 1, column 3", "JSON has no comments"},
		{"# x\n[]", "line 1, column 1", "JSON has no comments"},
		{"{'a': 1}", "line 1, column 2", "double quotes"},
		{"{a: 1}", "line 1, column 2", "a key needs double quotes"},
		{"{_a: 1}", "line 1, column 2", "a key needs double quotes"},
		{"[True]", "line 1, column 2", "lower case"},
		{"[None]", "line 1, column 2", "lower case"},
		{"[\xc2\xa0 1]", "line 1, column 2", "no-break space"},
		{"{\xe2\x80\x9c", "line 1, column 2", "typographic"},
		{"[\xff]", "line 1, column 1", "UTF-8"},
		{"[1", "line 1, column 2", "ends too early"},
		{"[\"x", "line 1, column 2", "ends too early"},
		{"[\"x\ny\"]", "line 1, column 2", "a line break inside text"},
		{"{\"a\":1,\"a\":2}", "line 1, column 8", "this key is there twice"},
		{"[99999999999999999999]", "line 1, column 2", "this number is too large"},
		{"[-99999999999999999999]", "line 1, column 22", "this number is too small"},
		{"[1e400]", "line 1, column 2", "this number is too large"},
		{"[\"a\\u0000b\"]", "line 1, column 2", "\\u0000 is not allowed"},
		{"{\"\\u0000\":1}", "line 1, column 2", "\\u0000 is not allowed"},
		{"[01]", "line 1, column 2", "a number does not begin with 0"},
		{"[\"b\xc3\xb6\" x]", "line 1, column 7", "a comma is missing"},
		{"[1;2]", "line 1, column 3", "this is not JSON: ']' expected near ';'"},
		{"[1}", "line 1, column 3", "this is not JSON"},
		{"}", "line 1, column 1", "this is not JSON"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		assert_null(json_parse(cases[i].text, strlen(cases[i].text), &error));
		assert_int_equal(error->domain, JSON_ERROR);
		g_autofree char *start = g_strconcat(cases[i].where, ": ", NULL);
		if (!g_str_has_prefix(error->message, start) ||
		    strstr(error->message, cases[i].what) == NULL)
			fail_msg("'%s' gives '%s', not '%s%s'", cases[i].text, error->message,
				 start, cases[i].what);
	}
}

/* The text need not end with a zero byte, and may hold one. */
static void length_counts_not_the_terminator(void **state)
{
	(void)state;
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonValue) value = json_parse("17]", 2, NULL);
	assert_int_equal(value->integer, 17);
	assert_null(json_parse("[\0]", 3, &error));
}

static void deep_nesting_is_refused_not_followed(void **state)
{
	(void)state;
	g_autofree char *deep = g_strnfill(100000, '[');
	g_autoptr(GError) error = NULL;
	assert_null(json_parse(deep, strlen(deep), &error));
	assert_non_null(strstr(error->message, "nested too deeply"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_read),
		cmocka_unit_test(members_keep_their_order),
		cmocka_unit_test(paths_lead_to_the_value),
		cmocka_unit_test(keys_are_found_in_any_case),
		cmocka_unit_test(values_are_described),
		cmocka_unit_test(what_is_not_json_is_explained),
		cmocka_unit_test(length_counts_not_the_terminator),
		cmocka_unit_test(deep_nesting_is_refused_not_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
