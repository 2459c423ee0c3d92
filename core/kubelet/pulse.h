/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the instance that has our socket's name still lives. A server greets whoever
 * connects. A process that is stopped does not, nor one that was killed while the driver
 * holds one of its threads: that one keeps its sockets, its connection to the kubelet
 * too, until the driver lets go.
 */
#pragma once

#include <glib.h>

typedef struct pulse Pulse;

Pulse *pulse_new(void);
void pulse_free(Pulse *pulse);
/* Looks again. TRUE once the socket at the path has had a connection and been silent
 * for ten seconds in which we have looked at it. Another file there begins anew. */
gboolean pulse_has_stopped(Pulse *pulse, const char *path, gint64 now_us);
/* Removes the file of which that was said, if it is still the same. */
gboolean pulse_bury(Pulse *pulse, const char *path);
