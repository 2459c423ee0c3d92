/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels as the downward API writes them: a line key="value" for each, the value quoted
 * as Go does it. Written by hand a value may go without quotes; blank lines and lines
 * that begin with '#' are passed over.
 */
#pragma once

#include <glib.h>

/* The value of the last line with this key; NULL if there is none. */
char *labels_find(const char *text, const char *key);
