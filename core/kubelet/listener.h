/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One listening unix socket in a directory of the kubelet. Nobody else's file is ever
 * replaced or removed: a socket that answers belongs to another instance and is left
 * alone, one that does not is stale and goes, anything else is refused.
 */
#pragma once

#include <glib.h>

#define LISTENER_ERROR (listener_error_quark())
GQuark listener_error_quark(void);
enum listener_error {
	LISTENER_ERROR_DIRECTORY, /* not there, not ours or not to be written */
	LISTENER_ERROR_BUSY, /* another instance serves this name */
	LISTENER_ERROR_FOREIGN, /* what has the name is no socket, or somebody else's */
	LISTENER_ERROR_FAILED,
};

/* A connection of root or of our own user; takes the descriptor over. */
typedef void (*listener_accepted_fn)(int fd, gpointer data);

typedef struct listener Listener;

/* Listens on dir/name with mode 0600; the name appears when connections are accepted
 * already. 'area' is for the log. The path is at most 107 bytes (model/socket_name.h). */
Listener *listener_new(const char *dir, const char *name, const char *area,
		       listener_accepted_fn accepted, gpointer data, GError **error);
/* The same for a group of users: mode 0660, and whoever can connect may. 'group' is a
 * name or a number; "": the process's own. */
struct listener_plan {
	const char *dir, *name, *area;
	const char *group;
};
Listener *listener_new_for_group(const struct listener_plan *plan, listener_accepted_fn accepted,
				 gpointer data, GError **error);
/* FALSE once the file at our path is not our socket any more. */
gboolean listener_is_intact(const Listener *listener);
/* Removes the file if it is still ours. NULL is a no-op. */
void listener_free(Listener *listener);

/* Removes stale sockets that instances of the daemon left for 'resource' under any
 * name, and returns how many. */
guint listener_sweep(const char *dir, const char *resource);

/* Ends an error text: what to do about EACCES, "" for other errors. */
const char *listener_access_hint(int error_number);
