/* SPDX-License-Identifier: Apache-2.0 */
/* Says in plain words what is wrong with a text that is not JSON. */
#pragma once

#include <glib.h>

/* "line 3, column 5: …". 'position' is the byte after the token that the library
 * did not want, 'reason' what it said. */
char *json_syntax_explain(const char *text, gsize length, gsize position, const char *reason);
