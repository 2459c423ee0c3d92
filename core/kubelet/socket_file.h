/* SPDX-License-Identifier: Apache-2.0 */
/* The files that listener.c makes, finds and removes. Errors are the listener's. */
#pragma once

#include <sys/stat.h>
#include <sys/un.h>

#include "kubelet/listener.h"

/* Always FALSE: "WHAT 'PATH': " and the error, with what to do about it. */
gboolean socket_file_fail(GError **error, enum listener_error code, const char *what,
			  const char *path, int error_number);
/* For messages: "a socket", "a directory" and the like. */
const char *socket_file_kind(const struct stat *status);
/* Follows a uid in messages: what to do about one that stands for all that this user
 * namespace does not know, "" for others. */
const char *socket_file_uid_hint(uid_t uid);
/* Root's or our own. */
gboolean socket_file_is_trusted(const struct stat *status);
gboolean socket_file_is_same(const struct stat *a, const struct stat *b);
void socket_file_address(struct sockaddr_un *ret_address, const char *path);
/* The descriptor of a connection to whoever listens there, or a negative errno. Does not
 * wait. */
int socket_file_connect(const char *path);

/* Removes the file if it is the expected one. */
gboolean socket_file_unlink_same(int dir_fd, const char *name, const struct stat *expected);
/* Removes a socket where nobody answers; FALSE if somebody does. */
gboolean socket_file_remove_stale(int dir_fd, const char *name, const char *path,
				  const struct stat *status, GError **error);
/* Makes the name free, or says why it is not. */
gboolean socket_file_vacate(int dir_fd, const char *name, const char *path, GError **error);
/* Gives the file another name, unless there is one of that name: EEXIST. 0, or the errno. */
int socket_file_rename(int dir_fd, const char *from, const char *to);
