/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/resource_reader.h"

#include <string.h>

#include "model/suggest.h"

G_GNUC_PRINTF(4, 0)
static void report(const JsonValue *value, GPtrArray *findings, enum finding_level level,
		   const char *format, va_list args)
{
	g_autofree char *path = json_path(value);
	findings_add_va(findings, level, *path == '\0' ? "top level" : path, format, args);
}

void reader_error(const JsonValue *value, GPtrArray *findings, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	report(value, findings, FINDING_ERROR, format, args);
	va_end(args);
}

void reader_warning(const JsonValue *value, GPtrArray *findings, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	report(value, findings, FINDING_WARNING, format, args);
	va_end(args);
}

static const struct json_field *find_field(const struct json_level *level, const char *key)
{
	for (const struct json_field *field = level->fields; field->key != NULL; field++) {
		if (g_ascii_strcasecmp(field->key, key) == 0)
			return field;
	}
	return NULL;
}

static const char *find_advice(const struct json_level *level, const char *key)
{
	if (level->advice == NULL)
		return NULL;
	for (const struct json_advice *advice = level->advice; advice->key != NULL; advice++) {
		if (g_ascii_strcasecmp(advice->key, key) == 0)
			return advice->text;
	}
	return NULL;
}

static const char *nearest_key(const struct json_level *level, const char *key)
{
	g_autoptr(GPtrArray) keys = g_ptr_array_new();
	for (const struct json_field *field = level->fields; field->key != NULL; field++)
		g_ptr_array_add(keys, (gpointer)field->key);
	g_ptr_array_add(keys, NULL);
	return suggest_nearest(key, (const char *const *)keys->pdata);
}

static char *all_keys(const struct json_level *level)
{
	GString *text = g_string_new(NULL);
	for (const struct json_field *field = level->fields; field->key != NULL; field++)
		g_string_append_printf(text, "%s%s", text->len == 0 ? "" : ", ", field->key);
	return g_string_free(text, FALSE);
}

static void report_unknown(const JsonValue *item, const struct json_level *level,
			   GPtrArray *findings)
{
	const char *advice = find_advice(level, item->key);
	const char *nearest = nearest_key(level, item->key);
	if (advice != NULL) {
		reader_error(item, findings, "unknown key; %s", advice);
	} else if (nearest != NULL) {
		reader_error(item, findings, "unknown key; did you mean \"%s\"?", nearest);
	} else {
		g_autofree char *keys = all_keys(level);
		reader_error(item, findings, "unknown key; possible here: %s", keys);
	}
}

/* Aliases are two keys with one number and reader. */
static gboolean is_same_field(const struct json_field *a, const struct json_field *b)
{
	return a->read == b->read && a->number == b->number;
}

/* The library refuses a key that is there twice letter by letter. */
static const JsonValue *find_earlier(const JsonValue *object, const struct json_level *level,
				     const JsonValue *item)
{
	const struct json_field *field = find_field(level, item->key);
	for (guint i = 0; i < item->index; i++) {
		const JsonValue *other = g_ptr_array_index(object->items, i);
		const struct json_field *others = find_field(level, other->key);
		if (others != NULL && is_same_field(field, others))
			return other;
	}
	return NULL;
}

static void walk_item(const JsonValue *item, const struct json_level *level, gpointer target,
		      GPtrArray *findings)
{
	const struct json_field *field = find_field(level, item->key);
	if (field == NULL) {
		report_unknown(item, level, findings);
		return;
	}
	const JsonValue *earlier = find_earlier(item->parent, level, item);
	if (earlier != NULL)
		reader_error(item, findings, "is there twice, the first time as \"%s\"; keep one",
			     earlier->key);
	else if (item->kind != JSON_KIND_NULL)
		field->read(item, field, target, findings);
}

gboolean reader_walk(const JsonValue *object, const struct json_level *level, gpointer target,
		     GPtrArray *findings)
{
	if (!reader_expect(object, JSON_KIND_OBJECT, findings))
		return FALSE;
	for (guint i = 0; i < object->items->len; i++)
		walk_item(g_ptr_array_index(object->items, i), level, target, findings);
	return TRUE;
}

static const char *kind_wanted(enum json_kind kind)
{
	switch (kind) {
	case JSON_KIND_OBJECT:
		return "an object { … }";
	case JSON_KIND_ARRAY:
		return "a list [ … ]";
	case JSON_KIND_STRING:
		return "text in double quotes";
	case JSON_KIND_BOOL:
		return "true or false";
	case JSON_KIND_INT:
		return "a whole number";
	case JSON_KIND_REAL:
	case JSON_KIND_NULL:
		break;
	}
	return "a number";
}

/* What the user most likely wanted to write, or NULL. */
static char *remedy(const JsonValue *value, enum json_kind kind)
{
	g_autofree char *seen = json_describe(value);
	if (kind == JSON_KIND_ARRAY && value->kind == JSON_KIND_OBJECT)
		return g_strdup("[ ] around it");
	if (kind == JSON_KIND_ARRAY && value->kind != JSON_KIND_NULL)
		return g_strdup_printf("[%s]", seen);
	if (kind == JSON_KIND_STRING && value->kind == JSON_KIND_INT)
		return g_strdup_printf("\"%s\"", seen);
	if (kind == JSON_KIND_BOOL && value->kind == JSON_KIND_STRING &&
	    (g_str_equal(value->string, "true") || g_str_equal(value->string, "false")))
		return g_strdup(value->string);
	if ((kind == JSON_KIND_INT || kind == JSON_KIND_REAL) && value->kind == JSON_KIND_STRING &&
	    g_ascii_string_to_signed(value->string, 10, 0, G_MAXINT, NULL, NULL))
		return g_strdup(value->string);
	if (kind == JSON_KIND_INT && value->kind == JSON_KIND_REAL && value->real > G_MININT &&
	    value->real < G_MAXINT && value->real == (int)value->real)
		return g_strdup_printf("%.0f", value->real);
	return NULL;
}

gboolean reader_expect(const JsonValue *value, enum json_kind kind, GPtrArray *findings)
{
	if (value->kind == kind)
		return TRUE;
	g_autofree char *seen = json_describe(value);
	g_autofree char *better = remedy(value, kind);
	if (better != NULL)
		reader_error(value, findings, "%s is not %s; write %s", seen, kind_wanted(kind),
			     better);
	else
		reader_error(value, findings, "%s is not %s", seen, kind_wanted(kind));
	return FALSE;
}

gboolean reader_int(const JsonValue *value, int min, int max, int *ret_number, GPtrArray *findings)
{
	if (!reader_expect(value, JSON_KIND_INT, findings))
		return FALSE;
	if (value->integer < min || value->integer > max) {
		reader_error(value, findings,
			     "%" G_GINT64_FORMAT " is out of range; from %d to %d are allowed",
			     value->integer, min, max);
		return FALSE;
	}
	*ret_number = (int)value->integer;
	return TRUE;
}

gboolean reader_seconds(const JsonValue *value, double max, double *ret_seconds,
			GPtrArray *findings)
{
	double seconds = value->kind == JSON_KIND_INT ? (double)value->integer : value->real;
	if (value->kind != JSON_KIND_INT && !reader_expect(value, JSON_KIND_REAL, findings))
		return FALSE;
	if (seconds < 0 || seconds > max) {
		g_autofree char *seen = json_describe(value);
		reader_error(value, findings,
			     "%s is out of range; from 0 to %.0f seconds are allowed", seen, max);
		return FALSE;
	}
	*ret_seconds = seconds;
	return TRUE;
}

static void report_choice(const JsonValue *value, const char *const *words, GPtrArray *findings)
{
	const char *nearest = suggest_nearest(value->string, words);
	g_autofree char *seen = json_describe(value);
	g_autofree char *all = g_strjoinv("\", \"", (char **)words);
	if (nearest != NULL)
		reader_error(value, findings, "%s is unknown; did you mean \"%s\"?", seen, nearest);
	else
		reader_error(value, findings, "%s is unknown; possible are \"%s\"", seen, all);
}

gboolean reader_choice(const JsonValue *value, const char *const *words, int *ret_choice,
		       GPtrArray *findings)
{
	if (!reader_expect(value, JSON_KIND_STRING, findings))
		return FALSE;
	for (int i = 0; words[i] != NULL; i++) {
		if (g_str_equal(words[i], value->string)) {
			*ret_choice = i;
			return TRUE;
		}
	}
	report_choice(value, words, findings);
	return FALSE;
}

const char *reader_text(const JsonValue *value, GPtrArray *findings)
{
	if (!reader_expect(value, JSON_KIND_STRING, findings))
		return NULL;
	const char *text = value->string;
	gsize length = strlen(text);
	if (length == 0) {
		reader_error(value, findings, "is empty and would match nothing; remove it");
		return NULL;
	}
	if (g_ascii_isspace(text[0]) || g_ascii_isspace(text[length - 1])) {
		reader_error(value, findings,
			     "\"%s\" has white space at an end and would match nothing; remove the "
			     "white space",
			     text);
		return NULL;
	}
	return text;
}

char *reader_checked_text(const JsonValue *value, const char *(*check)(const char *text),
			  GPtrArray *findings)
{
	const char *text = reader_text(value, findings);
	if (text == NULL)
		return NULL;
	const char *problem = check == NULL ? NULL : check(text);
	if (problem == NULL)
		return g_strdup(text);
	reader_error(value, findings, "\"%s\" %s", text, problem);
	return NULL;
}
