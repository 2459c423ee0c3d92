/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short files below one directory that are read again and again, such as attributes in
 * sysfs. They are held open, because to open an attribute costs several times what it
 * costs to read it; what is read is always what the path names now.
 */
#pragma once

#include <glib.h>

typedef struct held_files HeldFiles;

/* 'root_fd' stays the caller's and must outlive it; -1 makes every read fail. */
HeldFiles *held_files_new(int root_fd);
void held_files_free(HeldFiles *files);

/* The file's text, at most size - 1 bytes, without the final newline. FALSE with errno
 * set; an empty file is ENODATA. What is no regular file is not waited for. */
gboolean held_files_read(HeldFiles *files, const char *path, char *ret_text, gsize size);
/* Closes all of them. */
void held_files_forget(HeldFiles *files);
