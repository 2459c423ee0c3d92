/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be set and which values are right, without the syntax of the file. For
 * settings*.c only.
 */
#pragma once

#include "edge/settings.h"

enum setting_kind {
	SETTING_TEXT,
	SETTING_PATH, /* absolute; slashes at the end are taken off */
	SETTING_CHOICE,
	SETTING_SECONDS, /* double */
	SETTING_COUNT, /* int */
	SETTING_FLAG,
};

struct setting_choice {
	const char *word; /* NULL ends the list */
	int value;
};

struct setting_key {
	const char *path; /* "log.level"; NULL ends the table */
	enum setting_kind kind;
	gsize offset; /* in struct settings */
	double min, max; /* of numbers; of text: the shortest and longest, in bytes */
	const struct setting_choice *choices;
	const char *(*check)(const char *text); /* NULL: any text */
};

extern const struct setting_key setting_keys[];

const struct setting_key *settings_find_key(const char *path);
/* "log" and the other keys whose value is a group. */
gboolean settings_is_group(const char *path);
/* What was meant by an unknown key, as a whole path; NULL if it cannot be told. */
const char *settings_nearest_key(const char *path);

/* NULL, or why the value is not right, as a sentence that begins with it. */
char *settings_set_text(Settings *settings, const struct setting_key *key, const char *text);
char *settings_set_number(Settings *settings, const struct setting_key *key, double number);
char *settings_set_flag(Settings *settings, const struct setting_key *key, gboolean flag);
/* "text", "a number", … */
const char *settings_kind_name(const struct setting_key *key);
