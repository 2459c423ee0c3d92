/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file name of a resource's socket. Pure.
 *
 * A name is [A-Za-z0-9_.-]{1,64} and ".sock", never begins with a dot, and together
 * with its directory fits into the 107 bytes of a unix socket's address. What is too
 * long is cut and ends in a hash of the whole: the same after every restart.
 */
#pragma once

#include <glib.h>

/* The longest path of a socket, and the least that a directory must leave of it. */
#define SOCKET_NAME_MAX_PATH 107
#define SOCKET_NAME_LEAST 24
/* Length of what tells instances of the daemon apart. */
#define SOCKET_NAME_INSTANCE 8

#define SOCKET_NAME_ERROR (socket_name_error_quark())
GQuark socket_name_error_quark(void);

/* 'resource' is "prefix/name". 'instance' (SOCKET_NAME_INSTANCE lower-case hexadecimal
 * digits) makes the name unique to this instance of the daemon; NULL if it need not be.
 * NULL and an error if the directory is too long. */
char *socket_name_new(const char *dir, const char *resource, const char *instance, GError **error);

/* TRUE if 'file' is what some instance of the daemon calls this resource's socket. */
gboolean socket_name_is_of(const char *file, const char *dir, const char *resource);
