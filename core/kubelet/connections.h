/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many connections of a socket are open. They belong to gRPC, which does not tell
 * when it closes one; but while a socket is open its inode number is its own.
 */
#pragma once

#include <glib.h>

typedef struct connections Connections;

Connections *connections_new(guint max);
void connections_free(Connections *connections);

/* FALSE, and not counted, if 'max' others are open. */
gboolean connections_add(Connections *connections, int fd);
