/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a text file that somebody may have put something else in the place of. */
#pragma once

#include <glib.h>

#define SMALL_FILE_ERROR (small_file_error_quark())
GQuark small_file_error_quark(void);

/* The whole file; a byte of value zero follows. Never waits: what is no regular file, or
 * is larger than a mebibyte, is an error. The error does not name the file. */
char *small_file_read(const char *path, gsize *ret_length, GError **error);
