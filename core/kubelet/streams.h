/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ListAndWatch streams of one resource. Each knows what it has shown: a stream that
 * is slow, stale or about to end takes nothing from another. The kubelet's counts, and of
 * several the newest; when it ends the others are ended, too. Others are guests, up to a
 * number: what becomes of them changes nothing.
 */
#pragma once

#include <glib.h>

#include "edge/rpc.h"
#include "model/snapshot.h"

typedef struct streams Streams;

struct streams_events {
	/* One that counts. */
	void (*opened)(gpointer data);
	/* The one that counts has ended, and not by streams_end. */
	void (*lost)(gpointer data);
};

Streams *streams_new(const struct streams_events *events, gpointer data);
/* After the last stream has closed: when the server has stopped. */
void streams_free(Streams *streams);

/* Takes a call that is to become a stream. The list goes out at once. 'counts': it is the
 * kubelet's, not a guest's. */
void streams_open(Streams *streams, RpcCall *call, gboolean counts);
/* The list to show from now on; goes out to streams that have shown another. */
void streams_show(Streams *streams, Snapshot *snapshot);
/* Ends all streams, without an event. */
void streams_end(Streams *streams, const char *reason);

guint streams_count(const Streams *streams);
guint64 streams_lists_sent(const Streams *streams);
