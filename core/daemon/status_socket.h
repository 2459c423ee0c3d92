/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket on which the daemon tells what it is doing, line by line, to a few local
 * clients. Nobody is waited for: who does not read is dropped.
 */
#pragma once

#include <glib.h>

typedef struct status_socket StatusSocket;

struct status_socket_ops {
	void (*connected)(guint64 client, gpointer data);
	/* A line that a client has sent, without its end. */
	void (*asked)(guint64 client, const char *line, gpointer data);
};

/* Says it if the socket cannot be made now; that is tried again when something changes
 * at its place. 'group' as for listener_new_for_group. */
StatusSocket *status_socket_new(const char *path, const char *group,
				const struct status_socket_ops *ops, gpointer data);
/* Removes the socket. NULL is a no-op. */
void status_socket_free(StatusSocket *socket);

/* The line gets its end here. Nothing if the client has gone. */
void status_socket_send(StatusSocket *socket, guint64 client, const char *line);
void status_socket_send_all(StatusSocket *socket, const char *line);
guint status_socket_clients(const StatusSocket *socket);
