/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads backend objects. The only file that calls dlopen. Trust rules: the name
 * comes from the configuration and matches [a-z][a-z0-9_]{0,31}; the real path
 * lies in the real backend directory; file and directory belong to root or to us
 * and nobody else may write them; the symbol comes from that file; never unloaded.
 *
 * One thread at a time: it is the main thread that loads.
 */
#pragma once

#include <glib.h>

#include "edge/module_file.h"
#include "rdmadp/backend.h"

/* The backend's vtable, copied to the size that this core knows (entries that the
 * backend does not have are NULL, keys never is); lives as long as the process. On
 * failure NULL and an error that says what is wrong with the file, and which
 * backends are there when it is missing. A file that was replaced after this
 * process had loaded it is an error: only a new process can load the new one. */
const struct rdmadp_backend *module_load(const char *backend_dir, const char *name, GError **error);

/* Names of the files in the directory that could be loaded, sorted. */
GStrv module_list(const char *backend_dir);

/* Why that leaves out the directory, or files in it; NULL if it does not. */
char *module_list_trouble(const char *backend_dir);
