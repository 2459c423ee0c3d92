/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of HTTP/2 that behaves badly: as much of the protocol as it takes to ask for
 * a list and then read slowly, read nothing, or break off. gRPC's own client is too well
 * brought up for that.
 */
#pragma once

#include <glib.h>

/* Frame types that matter here. */
enum {
	H2_DATA = 0,
	H2_HEADERS = 1,
	H2_RST_STREAM = 3,
	H2_SETTINGS = 4,
	H2_GOAWAY = 7,
	H2_WINDOW_UPDATE = 8
};

typedef struct sim_h2 SimH2;

/* Connects to a unix socket and sends nothing yet. */
SimH2 *sim_h2_connect(const char *path, GError **error);
void sim_h2_free(SimH2 *h2);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimH2, sim_h2_free)

/* Preface, SETTINGS with that window for each stream, and a call of 'method' with an
 * empty message on stream 1. */
void sim_h2_call(SimH2 *h2, const char *method, guint32 window);
void sim_h2_reset(SimH2 *h2); /* RST_STREAM on stream 1 */
void sim_h2_goaway(SimH2 *h2);
void sim_h2_half_close(SimH2 *h2); /* nothing more will come from us */
void sim_h2_send(SimH2 *h2, const void *data, gsize size);
/* At most 'size' bytes of what has come; -1 if there is nothing, 0 at the end. */
gssize sim_h2_read(SimH2 *h2, void *data, gsize size);

/* Runs the main loop until a frame of that type has come whole. FALSE if it does not in
 * the time, or the other side has closed. */
gboolean sim_h2_await_frame(SimH2 *h2, int type, guint limit_ms);
/* Runs the main loop until the other side has closed the connection. */
gboolean sim_h2_await_close(SimH2 *h2, guint limit_ms);
