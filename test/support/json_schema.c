/* SPDX-License-Identifier: Apache-2.0 */
#include "support/json_schema.h"

#include <string.h>

struct check {
	const json_t *root;
	const char *path;
};

static char *check(const struct check *at, const json_t *schema, const json_t *value);

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "integer";
	case JSON_REAL:
		return "number";
	case JSON_NULL:
		return "null";
	case JSON_TRUE:
	case JSON_FALSE:
		break;
	}
	return "boolean";
}

static gboolean contains(const json_t *list, const char *word)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), word) == 0)
			return TRUE;
	return FALSE;
}

static char *check_type(const struct check *at, const json_t *expected, const json_t *value)
{
	const char *type = type_name(value);

	if (json_is_string(expected) ? strcmp(json_string_value(expected), type) == 0
				     : contains(expected, type))
		return NULL;
	return g_strdup_printf("%s is of type %s", at->path, type);
}

static char *check_enum(const struct check *at, const json_t *expected, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(expected); i++)
		if (json_equal(json_array_get(expected, i), value))
			return NULL;
	return g_strdup_printf("%s is none of its values", at->path);
}

static char *check_const(const struct check *at, const json_t *expected, const json_t *value)
{
	return json_equal(expected, value) ? NULL
					   : g_strdup_printf("%s is another value", at->path);
}

static char *check_minimum(const struct check *at, const json_t *expected, const json_t *value)
{
	return json_number_value(value) >= json_number_value(expected)
		       ? NULL
		       : g_strdup_printf("%s is too small", at->path);
}

static char *check_required(const struct check *at, const json_t *expected, const json_t *value)
{
	for (size_t i = 0; json_is_object(value) && i < json_array_size(expected); i++) {
		const char *key = json_string_value(json_array_get(expected, i));

		if (json_object_get(value, key) == NULL)
			return g_strdup_printf("%s has no '%s'", at->path, key);
	}
	return NULL;
}

static char *check_properties(const struct check *at, const json_t *expected, const json_t *value)
{
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)value, key, member)
	{
		const json_t *schema = json_object_get(expected, key);
		g_autofree char *path = g_strdup_printf("%s.%s", at->path, key);
		const struct check below = {at->root, path};
		char *problem;

		if (schema == NULL)
			return g_strdup_printf("%s is not described", path);
		problem = check(&below, schema, member);
		if (problem != NULL)
			return problem;
	}
	return NULL;
}

static char *check_items(const struct check *at, const json_t *expected, const json_t *value)
{
	for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++) {
		g_autofree char *path = g_strdup_printf("%s[%zu]", at->path, i);
		const struct check below = {at->root, path};
		char *problem = check(&below, expected, json_array_get(value, i));

		if (problem != NULL)
			return problem;
	}
	return NULL;
}

static char *check_one_of(const struct check *at, const json_t *expected, const json_t *value)
{
	GString *problems = g_string_new(NULL);
	guint n = 0;

	for (size_t i = 0; i < json_array_size(expected); i++) {
		g_autofree char *problem = check(at, json_array_get(expected, i), value);

		n += problem == NULL ? 1 : 0;
		g_string_append_printf(problems, "%s; ", problem == NULL ? "ok" : problem);
	}
	return g_string_free(problems, n == 1);
}

static char *check_reference(const struct check *at, const json_t *expected, const json_t *value)
{
	g_auto(GStrv) words = g_strsplit(json_string_value(expected), "/", -1);
	const json_t *schema = at->root;

	for (gsize i = 1; words[i] != NULL; i++)
		schema = json_object_get(schema, words[i]);
	g_assert(schema != NULL);
	return check(at, schema, value);
}

/* All members are described: 'properties' refuses others. */
static char *check_nothing(const struct check *at, const json_t *expected, const json_t *value)
{
	(void)at;
	(void)expected;
	(void)value;
	return NULL;
}

static const struct word {
	const char *name;
	char *(*check)(const struct check *at, const json_t *expected, const json_t *value);
} words[] = {
	{"type", check_type},		{"enum", check_enum},
	{"const", check_const},		{"minimum", check_minimum},
	{"required", check_required},	{"properties", check_properties},
	{"items", check_items},		{"oneOf", check_one_of},
	{"$ref", check_reference},	{"additionalProperties", check_nothing},
	{"description", check_nothing}, {"title", check_nothing},
	{"$schema", check_nothing},	{"$defs", check_nothing},
};

static char *check_word(const struct check *at, const char *name, const json_t *expected,
			const json_t *value)
{
	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (strcmp(words[i].name, name) == 0)
			return words[i].check(at, expected, value);
	g_error("json_schema does not know '%s'", name);
}

static char *check(const struct check *at, const json_t *schema, const json_t *value)
{
	const char *name;
	json_t *expected;

	json_object_foreach((json_t *)schema, name, expected)
	{
		char *problem = check_word(at, name, expected, value);

		if (problem != NULL)
			return problem;
	}
	return NULL;
}

char *json_schema_problem(const json_t *schema, const json_t *value)
{
	const struct check at = {schema, "$"};

	return check(&at, schema, value);
}
