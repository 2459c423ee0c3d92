/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean …?": finds the word that somebody probably wanted to write. */
#pragma once

#include <glib.h>

/* Edits (insert, delete, replace, swap neighbours) from one word to the other.
 * Letter case, '_' and '-' do not count. */
guint suggest_distance(const char *a, const char *b);

/* The nearest of 'candidates' (NULL-terminated), or NULL if none is near enough to
 * be what was meant. Of equally near ones the first. */
const char *suggest_nearest(const char *word, const char *const *candidates);
