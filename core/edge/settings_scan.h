/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the text of the settings for what the library would pass over or die of:
 * integers that it wraps without a word, comments and text without an end, included
 * files that are no files. For settings.c only.
 */
#pragma once

#include "edge/small_file.h"
#include "model/finding.h"

#define SETTINGS_LARGEST_FILE SMALL_FILE_MIB

/* 'dir' is where included files are. FALSE if the library must not see the text. */
gboolean settings_scan(const char *text, const char *dir, GPtrArray *findings);
