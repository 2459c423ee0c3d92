/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a fixture that stand for what the kernel shows of one thing. */
#pragma once

#include <glib.h>

/* 'words' is the line, split; options of the form key=value may stand anywhere after
 * the first. */
gboolean fixture_run_macro(const char *root, const char *const *words, GError **error);
