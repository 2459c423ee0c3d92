/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the socket of one resource in its directory: makes it, makes it again when it
 * was removed or replaced, and tries twice a second while it cannot be made.
 */
#pragma once

#include <glib.h>

typedef struct endpoint Endpoint;

struct endpoint_events {
	/* The socket is there, new. 'replaces': another instance had its name until now, to
	 * which the kubelet may still listen. */
	void (*served)(gboolean replaces, gpointer data);
	void (*unserved)(gpointer data); /* it is gone and could not be made again */
	void (*accepted)(int fd, gpointer data); /* takes the descriptor over */
};

/* Does nothing until endpoint_open. 'instance' as in model/socket_name.h. NULL and an
 * error if the directory is too long. */
Endpoint *endpoint_new(const char *dir, const char *resource, const char *instance,
		       const struct endpoint_events *events, gpointer data, GError **error);
/* Removes the socket. NULL is a no-op. */
void endpoint_free(Endpoint *endpoint);

void endpoint_open(Endpoint *endpoint);
/* Something may have happened in the directory. */
void endpoint_look(Endpoint *endpoint);
/* Removes the socket and makes it again, for one who only notices new ones. */
void endpoint_renew(Endpoint *endpoint);

const char *endpoint_name(const Endpoint *endpoint);
const char *endpoint_path(const Endpoint *endpoint);
/* Why it is not there; NULL if it is. */
const char *endpoint_trouble(const Endpoint *endpoint);
