/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells when a file has changed, however it changed: written, replaced by a rename, its
 * permissions, or a link on the way to it, as the kubelet does it with a ConfigMap (the
 * path is a link to ..data/name, and ..data is the link that is replaced). A file that is
 * empty, missing or just being written is given a second before that is told.
 */
#pragma once

#include <glib.h>

typedef struct file_watch FileWatch;

/* 'changed' is called in the thread-default main context once things have been quiet
 * for a moment and the file is another one than before (also when it has appeared or
 * vanished). A directory that does not exist yet is waited for. NULL and an error if
 * the kernel has no watch left. */
FileWatch *file_watch_new(const char *path, void (*changed)(gpointer data), gpointer data,
			  GError **error);
void file_watch_free(FileWatch *watch);

/* Looks at the file now, which it also does each minute: not every change can be heard. */
void file_watch_look(FileWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileWatch, file_watch_free)
