/* SPDX-License-Identifier: Apache-2.0 */
/* The command 'rdmadp check-config': says everything that is wrong with both files. */
#pragma once

#include <glib.h>

/* Checks and prints to stdout; the exit status: 0 without errors, else 1.
 * 'settings_path' NULL: the default file, which need not be there. 'resources_path'
 * NULL: the one that the settings name. */
int check_config_run(const char *settings_path, const char *resources_path, gboolean json);
