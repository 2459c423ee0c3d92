/* SPDX-License-Identifier: Apache-2.0 */
/* Text files that are read and written whole. */
#pragma once

#include <glib.h>

#define SMALL_FILE_MIB ((gsize)1024 * 1024)

/* The whole file; a byte of value zero follows. Somebody may have put something else in
 * its place. Never waits: what is no regular file, or holds more than 'limit' bytes (whole MiB), is an error (G_FILE_ERROR). The error does
 * not name the file. */
char *small_file_read(const char *path, gsize limit, gsize *ret_length, GError **error);
/* The same, from the directory 'dir_fd'. */
char *small_file_read_at(int dir_fd, const char *path, gsize limit, gsize *ret_length,
			 GError **error);

/* Writes all of the text; FALSE with errno. */
gboolean small_file_write(int fd, const char *text);
