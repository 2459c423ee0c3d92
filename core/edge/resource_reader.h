/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How every value of the resource file is read: walks objects by tables of keys and
 * turns values into C, reporting what is wrong at its path. For resource_*.c and sriov_*.c.
 */
#pragma once

#include "edge/json.h"
#include "model/finding.h"

struct json_field {
	const char *key; /* NULL ends a table */
	/* Not called for null, which is as absent. */
	void (*read)(const JsonValue *value, const struct json_field *field, gpointer target,
		     GPtrArray *findings);
	int number; /* for 'read' */
};

/* What to say about a key that we do not have but another place or plugin has. */
struct json_advice {
	const char *key; /* NULL ends a table */
	const char *text;
};

struct json_level {
	const struct json_field *fields;
	const struct json_advice *advice;
};

/* Reads every member; unknown and repeated keys (letter case does not count) are
 * errors. FALSE, reported, if it is no object. */
gboolean reader_walk(const JsonValue *object, const struct json_level *level, gpointer target,
		     GPtrArray *findings);

/* Report at the value's path; the text begins after "path: ". */
void reader_error(const JsonValue *value, GPtrArray *findings, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
void reader_warning(const JsonValue *value, GPtrArray *findings, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Each: FALSE, reported, if the value is not of the kind or out of range. */
gboolean reader_expect(const JsonValue *value, enum json_kind kind, GPtrArray *findings);
gboolean reader_int(const JsonValue *value, int min, int max, int *ret_number, GPtrArray *findings);
gboolean reader_seconds(const JsonValue *value, double max, double *ret_seconds,
			GPtrArray *findings);
gboolean reader_choice(const JsonValue *value, const char *const *words, int *ret_choice,
		       GPtrArray *findings);
/* Text that is not empty and has no white space at its ends. Borrowed. */
const char *reader_text(const JsonValue *value, GPtrArray *findings);
/* The same, a copy, if 'check' (or NULL) has nothing against it; it returns NULL or what is
 * wrong, to follow the text in the message. */
char *reader_checked_text(const JsonValue *value, const char *(*check)(const char *text),
			  GPtrArray *findings);
