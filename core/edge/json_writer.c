/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/json_writer.h"

struct json_writer {
	GString *text;
	gboolean indented;
	guint depth;
	gboolean first; /* nothing in the present object or array yet */
};

JsonWriter *json_writer_new(gboolean indented)
{
	JsonWriter *writer = g_new0(JsonWriter, 1);
	writer->text = g_string_new(NULL);
	writer->indented = indented;
	writer->first = TRUE;
	return writer;
}

void json_writer_free(JsonWriter *writer)
{
	if (writer == NULL)
		return;
	g_string_free(writer->text, TRUE);
	g_free(writer);
}

static void append_char(GString *text, gunichar c)
{
	if (c == '"' || c == '\\') {
		g_string_append_c(text, '\\');
		g_string_append_c(text, (char)c);
	} else if (c == '\n') {
		g_string_append(text, "\\n");
	} else if (c == '\t') {
		g_string_append(text, "\\t");
	} else if (c == '\r') {
		g_string_append(text, "\\r");
	} else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
		g_string_append_printf(text, "\\u%04x", c);
	} else {
		g_string_append_unichar(text, c);
	}
}

static void append_quoted(GString *text, const char *value)
{
	g_autofree char *valid = g_utf8_make_valid(value, -1);
	g_string_append_c(text, '"');
	for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at))
		append_char(text, g_utf8_get_char(at));
	g_string_append_c(text, '"');
}

static void break_line(JsonWriter *writer)
{
	if (!writer->indented)
		return;
	g_string_append_c(writer->text, '\n');
	for (guint i = 0; i < writer->depth; i++)
		g_string_append(writer->text, "  ");
}

static void begin_value(JsonWriter *writer, const char *key)
{
	if (!writer->first)
		g_string_append_c(writer->text, ',');
	if (writer->depth > 0)
		break_line(writer);
	writer->first = FALSE;
	if (key == NULL)
		return;
	append_quoted(writer->text, key);
	g_string_append(writer->text, writer->indented ? ": " : ":");
}

static void begin_group(JsonWriter *writer, const char *key, char bracket)
{
	begin_value(writer, key);
	g_string_append_c(writer->text, bracket);
	writer->depth++;
	writer->first = TRUE;
}

static void end_group(JsonWriter *writer, char bracket)
{
	gboolean empty = writer->first;
	writer->depth--;
	writer->first = FALSE;
	if (!empty)
		break_line(writer);
	g_string_append_c(writer->text, bracket);
}

void json_begin_object(JsonWriter *writer, const char *key)
{
	begin_group(writer, key, '{');
}

void json_end_object(JsonWriter *writer)
{
	end_group(writer, '}');
}

void json_begin_array(JsonWriter *writer, const char *key)
{
	begin_group(writer, key, '[');
}

void json_end_array(JsonWriter *writer)
{
	end_group(writer, ']');
}

void json_add_string(JsonWriter *writer, const char *key, const char *value)
{
	if (value == NULL) {
		json_add_null(writer, key);
		return;
	}
	begin_value(writer, key);
	append_quoted(writer->text, value);
}

void json_add_int(JsonWriter *writer, const char *key, gint64 value)
{
	begin_value(writer, key);
	g_string_append_printf(writer->text, "%" G_GINT64_FORMAT, value);
}

void json_add_bool(JsonWriter *writer, const char *key, gboolean value)
{
	begin_value(writer, key);
	g_string_append(writer->text, value ? "true" : "false");
}

void json_add_null(JsonWriter *writer, const char *key)
{
	begin_value(writer, key);
	g_string_append(writer->text, "null");
}

void json_add_strings(JsonWriter *writer, const char *key, const char *const *values)
{
	json_begin_array(writer, key);
	for (gsize i = 0; values != NULL && values[i] != NULL; i++)
		json_add_string(writer, NULL, values[i]);
	json_end_array(writer);
}

const char *json_writer_text(const JsonWriter *writer)
{
	return writer->text->str;
}
