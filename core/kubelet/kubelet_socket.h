/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's registration socket: is it there, and is it still the same? Its file is
 * held open, so that a new one cannot get the old one's inode number.
 */
#pragma once

#include <glib.h>

#define KUBELET_SOCKET_ERROR (kubelet_socket_error_quark())
GQuark kubelet_socket_error_quark(void);
enum kubelet_socket_error {
	KUBELET_SOCKET_ERROR_ABSENT,
	KUBELET_SOCKET_ERROR_UNUSABLE,
};

typedef struct kubelet_socket KubeletSocket;

KubeletSocket *kubelet_socket_new(const char *dir);
void kubelet_socket_free(KubeletSocket *socket);
const char *kubelet_socket_path(const KubeletSocket *socket);

/* Looks now. TRUE if there is a socket that was not there the last time. */
gboolean kubelet_socket_look(KubeletSocket *socket);
/* Which socket it is: the number of those that were seen, 0 before the first. */
guint kubelet_socket_generation(const KubeletSocket *socket);
/* May it be dialled? It must be a socket of root or of our own user. */
gboolean kubelet_socket_check(const KubeletSocket *socket, GError **error);
/* Where to dial so that this socket answers or none does: not one that has taken its place
 * meanwhile. Good for as long as *ret_fd is open. Where that cannot be had (there is no
 * /proc): the path, and -1. */
char *kubelet_socket_pin(const KubeletSocket *socket, int *ret_fd);
