/* SPDX-License-Identifier: Apache-2.0 */
#include "support/json_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_schema_refuses_what_it_does_not_describe(void **state)
{
	static const struct {
		const char *schema, *value, *problem; /* NULL: none */
	} table[] = {
		{"{\"type\":\"integer\"}", "1", NULL},
		{"{\"type\":\"integer\"}", "\"1\"", "$ is of type string"},
		{"{\"type\":[\"string\",\"null\"]}", "null", NULL},
		{"{\"type\":[\"string\",\"null\"]}", "true", "$ is of type boolean"},
		{"{\"enum\":[\"a\",2]}", "2", NULL},
		{"{\"enum\":[\"a\",2]}", "\"b\"", "$ is none of its values"},
		{"{\"const\":1}", "2", "$ is another value"},
		{"{\"minimum\":0}", "-1", "$ is too small"},
		{"{\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"array\",\"items\":{"
		 "\"type\":\"null\"}}}}",
		 "{\"a\":[null,1]}", "$.a[1] is of type integer"},
		{"{\"required\":[\"a\"]}", "{}", "$ has no 'a'"},
		{"{\"properties\":{\"a\":{}}}", "{\"b\":1}", "$.b is not described"},
		{"{\"oneOf\":[{\"const\":1},{\"const\":2}]}", "2", NULL},
		{"{\"oneOf\":[{\"const\":1},{\"const\":2}]}", "3",
		 "$ is another value; $ is another value; "},
		{"{\"$ref\":\"#/$defs/x\",\"$defs\":{\"x\":{\"const\":1}}}", "2",
		 "$ is another value"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		json_t *schema = json_loads(table[i].schema, 0, NULL);
		json_t *value = json_loads(table[i].value, JSON_DECODE_ANY, NULL);
		g_autofree char *problem = json_schema_problem(schema, value);

		assert_string_equal(problem == NULL ? "none" : problem,
				    table[i].problem == NULL ? "none" : table[i].problem);
		json_decref(schema);
		json_decref(value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_schema_refuses_what_it_does_not_describe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
