/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a directory of the kubelet. The only file that calls inotify.
 *
 * Events are hints and can be lost, so a look is also due every five seconds; what has
 * changed the owner finds out by looking. A directory that is not there yet, or is
 * removed and made again, is picked up through its parent.
 */
#pragma once

#include <glib.h>

typedef struct watch Watch;

/* 'look' is called in the main loop after each burst of changes of sockets (*.sock) or
 * of the directory itself, and every five seconds. */
Watch *watch_new(const char *dir, void (*look)(gpointer data), gpointer data);
/* NULL is a no-op. */
void watch_free(Watch *watch);
