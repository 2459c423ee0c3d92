/* SPDX-License-Identifier: Apache-2.0 */
/* A unix socket that listens on the main loop. */
#pragma once

#include <glib.h>

typedef struct sim_listener SimListener;

/* 'accepted' takes the descriptor over. */
typedef void (*sim_listener_accept_fn)(int fd, gpointer data);

/* Makes the socket file; a file that is there already is an error. */
SimListener *sim_listener_new(const char *path, sim_listener_accept_fn accepted, gpointer data,
			      GError **error);
/* Stops listening. The file stays, as after a crash, unless 'unlink_file'. */
void sim_listener_free(SimListener *listener, gboolean unlink_file);
