/* SPDX-License-Identifier: Apache-2.0 */
/* Events as lines for people. */
#pragma once

#include <jansson.h>

/* Without newline; g_free it. */
char *sim_text_line(const json_t *event);
