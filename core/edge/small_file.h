/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a text file that somebody may have put something else in the place of. */
#pragma once

#include <glib.h>

#define SMALL_FILE_MIB ((gsize)1024 * 1024)

/* The whole file; a byte of value zero follows. Never waits: what is no regular file, or
 * holds more than 'limit' bytes (whole MiB), is an error (G_FILE_ERROR). The error does
 * not name the file. */
char *small_file_read(const char *path, gsize limit, gsize *ret_length, GError **error);
/* The same, from the directory 'dir_fd'. */
char *small_file_read_at(int dir_fd, const char *path, gsize limit, gsize *ret_length,
			 GError **error);
