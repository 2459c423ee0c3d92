/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/json.h"

#include <jansson.h>
#include <string.h>

#include "edge/json_syntax.h"

/* What a message quotes of a text of the file. */
#define LONGEST_QUOTE 80

G_DEFINE_QUARK(rdmadp - json - error, json_error)

static JsonValue *convert(json_t *from, const JsonValue *parent, guint index);

static void convert_object(json_t *from, JsonValue *to)
{
	for (void *at = json_object_iter(from); at != NULL; at = json_object_iter_next(from, at)) {
		JsonValue *item = convert(json_object_iter_value(at), to, to->items->len);
		item->key = g_strdup(json_object_iter_key(at));
		g_ptr_array_add(to->items, item);
	}
}

static void convert_array(json_t *from, JsonValue *to)
{
	for (gsize i = 0; i < json_array_size(from); i++)
		g_ptr_array_add(to->items, convert(json_array_get(from, i), to, (guint)i));
}

static void convert_group(json_t *from, JsonValue *to)
{
	to->items = g_ptr_array_new_with_free_func((GDestroyNotify)json_value_free);
	if (json_is_object(from))
		convert_object(from, to);
	else
		convert_array(from, to);
}

static enum json_kind kind_of(json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return JSON_KIND_OBJECT;
	case JSON_ARRAY:
		return JSON_KIND_ARRAY;
	case JSON_STRING:
		return JSON_KIND_STRING;
	case JSON_INTEGER:
		return JSON_KIND_INT;
	case JSON_REAL:
		return JSON_KIND_REAL;
	case JSON_TRUE:
	case JSON_FALSE:
		return JSON_KIND_BOOL;
	case JSON_NULL:
		break;
	}
	return JSON_KIND_NULL;
}

static JsonValue *convert(json_t *from, const JsonValue *parent, guint index)
{
	JsonValue *to = g_new0(JsonValue, 1);
	to->kind = kind_of(from);
	to->parent = parent;
	to->index = index;
	to->boolean = json_is_true(from);
	to->integer = json_integer_value(from);
	to->real = json_real_value(from);
	to->string = g_strdup(json_string_value(from));
	if (to->kind == JSON_KIND_ARRAY || to->kind == JSON_KIND_OBJECT)
		convert_group(from, to);
	return to;
}

JsonValue *json_parse(const char *text, gsize length, GError **error)
{
	json_error_t problem;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
	if (root == NULL) {
		g_autofree char *message = json_syntax_explain(
			text, length, (gsize)MAX(problem.position, 0), problem.text);
		g_set_error_literal(error, JSON_ERROR, 0, message);
		return NULL;
	}
	JsonValue *value = convert(root, NULL, 0);
	json_decref(root);
	return value;
}

void json_value_free(JsonValue *value)
{
	if (value == NULL)
		return;
	g_free(value->key);
	g_free(value->string);
	g_clear_pointer(&value->items, g_ptr_array_unref);
	g_free(value);
}

char *json_path(const JsonValue *value)
{
	if (value->parent == NULL)
		return g_strdup("");
	g_autofree char *parent = json_path(value->parent);
	if (value->key == NULL)
		return g_strdup_printf("%s[%u]", parent, value->index);
	return g_strconcat(parent, *parent == '\0' ? "" : ".", value->key, NULL);
}

const JsonValue *json_find(const JsonValue *object, const char *key)
{
	if (object == NULL || object->kind != JSON_KIND_OBJECT)
		return NULL;
	for (guint i = 0; i < object->items->len; i++) {
		const JsonValue *item = g_ptr_array_index(object->items, i);
		if (g_ascii_strcasecmp(item->key, key) == 0)
			return item;
	}
	return NULL;
}

static char *quote(const char *text)
{
	if (g_utf8_strlen(text, -1) <= LONGEST_QUOTE)
		return g_strdup_printf("\"%s\"", text);
	g_autofree char *start = g_utf8_substring(text, 0, LONGEST_QUOTE);
	return g_strdup_printf("\"%s…\"", start);
}

char *json_describe(const JsonValue *value)
{
	char digits[G_ASCII_DTOSTR_BUF_SIZE];
	switch (value->kind) {
	case JSON_KIND_BOOL:
		return g_strdup(value->boolean ? "true" : "false");
	case JSON_KIND_INT:
		return g_strdup_printf("%" G_GINT64_FORMAT, value->integer);
	case JSON_KIND_REAL:
		g_ascii_formatd(digits, sizeof(digits), "%.15g", value->real);
		return g_strconcat(digits, strpbrk(digits, ".e") == NULL ? ".0" : "", NULL);
	case JSON_KIND_STRING:
		return quote(value->string);
	case JSON_KIND_ARRAY:
		return g_strdup("a list");
	case JSON_KIND_OBJECT:
		return g_strdup("an object");
	case JSON_KIND_NULL:
		break;
	}
	return g_strdup("null");
}
