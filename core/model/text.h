/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for people: what came from elsewhere made safe to print, and counts. */
#pragma once

#include <glib.h>

/* Appends 'text' with control characters as \n, \t, \xNN and bytes that are not
 * UTF-8 as \xNN, so that it can neither forge a line nor talk to a terminal. */
void text_append_escaped(GString *out, const char *text);

/* The same as a new string, cut with "…" when it is longer than 'most' bytes. */
char *text_escape(const char *text, gsize most);

/* "1 HCA", "2 HCAs": 'thing' is the word for one that takes an s for others. */
char *text_count(guint64 n, const char *thing);
