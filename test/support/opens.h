/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a directory a piece of code opens: inotify tells. */
#pragma once

#include <glib.h>

/* Starts watching; ends the test if it cannot. */
int opens_watch(const char *root, const char *dir);
/* The names (char *) of what was opened since; stops watching. */
GHashTable *opens_end(int watch);
