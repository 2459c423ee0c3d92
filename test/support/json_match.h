/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for events among JSON objects. */
#pragma once

#include <glib.h>
#include <jansson.h>

/* TRUE if 'value' has everything that 'pattern' has: objects member by member, arrays
 * of the same length element by element, the rest equal (1 and 1.0 are). */
gboolean json_match(const json_t *value, const json_t *pattern);

/* From text; ends the test if the text is no JSON. */
json_t *json_pattern(const char *text);
