/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON text piece by piece: the log's lines, every --json output and the
 * status socket. 'key' names the member inside an object and is NULL inside an
 * array and at the top. Bytes that are not UTF-8 become U+FFFD.
 */
#pragma once

#include <glib.h>

typedef struct json_writer JsonWriter;

/* 'indented': one member a line, for people; else one line without spaces. */
JsonWriter *json_writer_new(gboolean indented);
void json_writer_free(JsonWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonWriter, json_writer_free)

void json_begin_object(JsonWriter *writer, const char *key);
void json_end_object(JsonWriter *writer);
void json_begin_array(JsonWriter *writer, const char *key);
void json_end_array(JsonWriter *writer);

/* A NULL value is written as null. */
void json_add_string(JsonWriter *writer, const char *key, const char *value);
void json_add_int(JsonWriter *writer, const char *key, gint64 value);
/* Not finite is written as null: JSON has no such number. */
void json_add_bool(JsonWriter *writer, const char *key, gboolean value);
void json_add_null(JsonWriter *writer, const char *key);
/* An array of the strings; NULL is an empty one. */
void json_add_strings(JsonWriter *writer, const char *key, const char *const *values);

/* What has been written so far, without a newline at the end; owned by the writer. */
const char *json_writer_text(const JsonWriter *writer);
