/* SPDX-License-Identifier: Apache-2.0 */
/* Makes text that came from elsewhere safe to print. */
#pragma once

#include <glib.h>

/* Appends 'text' with control characters as \n, \t, \xNN and bytes that are not
 * UTF-8 as \xNN, so that it can neither forge a line nor talk to a terminal. */
void text_append_escaped(GString *out, const char *text);

/* The same as a new string, cut with "…" when it is longer than 'most' bytes. */
char *text_escape(const char *text, gsize most);
