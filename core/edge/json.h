/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON into a tree that knows where each value stands. The only file that
 * uses jansson. Strict: duplicate keys, comments, trailing commas and anything else
 * that is not JSON are errors, explained in plain words with line and column.
 */
#pragma once

#include <glib.h>

enum json_kind {
	JSON_KIND_NULL,
	JSON_KIND_BOOL,
	JSON_KIND_INT,
	JSON_KIND_REAL,
	JSON_KIND_STRING,
	JSON_KIND_ARRAY,
	JSON_KIND_OBJECT,
};

typedef struct json_value JsonValue;

/* Read only. Of the values, the one of 'kind' is set. */
struct json_value {
	enum json_kind kind;
	const JsonValue *parent; /* NULL at the top */
	char *key; /* inside an object, else NULL */
	guint index; /* inside the parent, in the order of the text */
	gboolean boolean;
	gint64 integer;
	double real;
	char *string;
	GPtrArray *items; /* JsonValue *, of an array or an object */
};

/* NULL and "line 3, column 5: …" if the text is not JSON. */
JsonValue *json_parse(const char *text, gsize length, GError **error);
void json_value_free(JsonValue *value);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonValue, json_value_free)

/* "configList[0].selectors"; "" at the top. */
char *json_path(const JsonValue *value);
/* The member of an object, its key in any letter case, or NULL; of no object, which
 * NULL is not either, there is none. */
const JsonValue *json_find(const JsonValue *object, const char *key);
/* The value as a short piece of text for a message: "\"15b3\"", "17", "a list". */
char *json_describe(const JsonValue *value);

#define JSON_ERROR (json_error_quark())
GQuark json_error_quark(void);
