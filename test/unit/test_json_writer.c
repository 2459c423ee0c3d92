/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "edge/json.h"
#include "edge/json_writer.h"

static void write_sample(JsonWriter *writer)
{
	static const char *const names[] = {"a", "b", NULL};
	json_begin_object(writer, NULL);
	json_add_string(writer, "text", "x");
	json_add_string(writer, "nothing", NULL);
	json_add_int(writer, "int", -7);
	json_add_bool(writer, "yes", TRUE);
	json_add_strings(writer, "names", names);
	json_add_strings(writer, "none", NULL);
	json_begin_array(writer, "list");
	json_add_int(writer, NULL, 1);
	json_begin_object(writer, NULL);
	json_end_object(writer);
	json_end_array(writer);
	json_end_object(writer);
}

static void compact_is_one_line(void **state)
{
	(void)state;
	g_autoptr(JsonWriter) writer = json_writer_new(FALSE);
	write_sample(writer);
	assert_string_equal(json_writer_text(writer),
			    "{\"text\":\"x\",\"nothing\":null,\"int\":-7,\"yes\":true,"
			    "\"names\":[\"a\",\"b\"],\"none\":[],\"list\":[1,{}]}");
}

static void indented_is_one_member_a_line(void **state)
{
	(void)state;
	g_autoptr(JsonWriter) writer = json_writer_new(TRUE);
	write_sample(writer);
	assert_string_equal(json_writer_text(writer), "{\n"
						      "  \"text\": \"x\",\n"
						      "  \"nothing\": null,\n"
						      "  \"int\": -7,\n"
						      "  \"yes\": true,\n"
						      "  \"names\": [\n"
						      "    \"a\",\n"
						      "    \"b\"\n"
						      "  ],\n"
						      "  \"none\": [],\n"
						      "  \"list\": [\n"
						      "    1,\n"
						      "    {}\n"
						      "  ]\n"
						      "}");
}

static void text_is_escaped_and_valid(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"\n\t\r\x01\x7f", "\"\\n\\t\\r\\u0001\\u007f\""},
		{"b\xc3\xb6se", "\"b\xc3\xb6se\""},
		{"\xc2\x9b", "\"\\u009b\""},
		{"x\xffy", "\"x\xef\xbf\xbdy\""},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(JsonWriter) writer = json_writer_new(FALSE);
		json_add_string(writer, NULL, cases[i][0]);
		assert_string_equal(json_writer_text(writer), cases[i][1]);
	}
}

static void what_is_written_can_be_read(void **state)
{
	(void)state;
	for (int indented = 0; indented <= 1; indented++) {
		g_autoptr(JsonWriter) writer = json_writer_new(indented);
		write_sample(writer);
		const char *text = json_writer_text(writer);
		g_autoptr(JsonValue) value = json_parse(text, strlen(text), NULL);
		assert_non_null(value);
		assert_int_equal(value->items->len, 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compact_is_one_line),
		cmocka_unit_test(indented_is_one_member_a_line),
		cmocka_unit_test(text_is_escaped_and_valid),
		cmocka_unit_test(what_is_written_can_be_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
