/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/streams.h"

#include "kubelet/messages.h"

/* A kubelet has one; others are of people who look. */
#define MAX_STREAMS 4

struct stream {
	Streams *owner;
	RpcCall *call;
	gboolean sending; /* one message is under way */
	GBytes *shown; /* the last list that was sent; NULL before the first */
};

struct streams {
	struct streams_events events;
	gpointer data;
	Snapshot *snapshot;
	GBytes *list; /* the snapshot's list packed; NULL until somebody wants it */
	GPtrArray *open; /* struct stream *, the newest last; borrowed */
	struct stream *counting; /* the kubelet's; NULL: it has none */
	GPtrArray *ending; /* struct stream *: ended by us, not closed yet; borrowed */
	guint64 lists_sent;
};

static void on_closed(RpcCall *call, gpointer data);
static void on_sent(RpcCall *call, gpointer data);

static const struct rpc_stream_events stream_events = {on_closed, on_sent};

Streams *streams_new(const struct streams_events *events, gpointer data)
{
	Streams *self = g_new0(Streams, 1);

	self->events = *events;
	self->data = data;
	self->open = g_ptr_array_new();
	self->ending = g_ptr_array_new();
	return self;
}

void streams_free(Streams *streams)
{
	g_assert(streams->open->len == 0 && streams->ending->len == 0);
	g_ptr_array_unref(streams->open);
	g_ptr_array_unref(streams->ending);
	snapshot_unref(streams->snapshot);
	g_clear_pointer(&streams->list, g_bytes_unref);
	g_free(streams);
}

static GBytes *packed_list(Streams *self)
{
	if (!self->list)
		self->list = messages_pack_list(self->snapshot);
	return self->list;
}

/* What changed and changed back while a message was under way is not sent. */
static void send_newest(struct stream *stream)
{
	Streams *self = stream->owner;
	GBytes *list = packed_list(self);

	if (stream->sending)
		return;
	if (stream->shown && g_bytes_equal(stream->shown, list))
		return;
	g_clear_pointer(&stream->shown, g_bytes_unref);
	stream->shown = g_bytes_ref(list);
	stream->sending = TRUE;
	self->lists_sent++;
	rpc_stream_send(stream->call, list);
}

static void on_sent(RpcCall *call, gpointer data)
{
	struct stream *stream = data;

	(void)call;
	stream->sending = FALSE;
	send_newest(stream);
}

static void end_stream(Streams *self, struct stream *stream, enum rpc_status status,
		       const char *reason)
{
	g_ptr_array_remove(self->open, stream);
	g_ptr_array_add(self->ending, stream);
	rpc_stream_end(stream->call, status, reason);
}

void streams_end(Streams *streams, const char *reason)
{
	streams->counting = NULL;
	while (streams->open->len > 0)
		end_stream(streams, g_ptr_array_index(streams->open, 0), RPC_UNAVAILABLE, reason);
}

static void on_closed(RpcCall *call, gpointer data)
{
	struct stream *stream = data;
	Streams *self = stream->owner;
	gboolean lost = self->counting == stream;

	(void)call;
	if (!g_ptr_array_remove(self->open, stream))
		g_ptr_array_remove(self->ending, stream);
	g_clear_pointer(&stream->shown, g_bytes_unref);
	g_free(stream);
	if (!lost)
		return;
	streams_end(self, "the kubelet's stream has ended: the resource registers again");
	self->events.lost(self->data);
}

static void make_room(Streams *self)
{
	guint oldest = g_ptr_array_index(self->open, 0) == self->counting ? 1 : 0;

	end_stream(self, g_ptr_array_index(self->open, oldest), RPC_RESOURCE_EXHAUSTED,
		   "too many streams: newer ones have taken over");
}

void streams_open(Streams *streams, RpcCall *call, gboolean counts)
{
	struct stream *stream = g_new0(struct stream, 1);

	if (streams->open->len >= MAX_STREAMS)
		make_room(streams);
	stream->owner = streams;
	stream->call = call;
	g_ptr_array_add(streams->open, stream);
	rpc_stream_open(call, &stream_events, stream);
	send_newest(stream);
	if (!counts)
		return;
	streams->counting = stream;
	streams->events.opened(streams->data);
}

void streams_show(Streams *streams, Snapshot *snapshot)
{
	gboolean same = streams->snapshot && snapshot_same_list(streams->snapshot, snapshot);

	snapshot_ref(snapshot);
	snapshot_unref(streams->snapshot);
	streams->snapshot = snapshot;
	if (same)
		return;
	g_clear_pointer(&streams->list, g_bytes_unref);
	for (guint i = 0; i < streams->open->len; i++)
		send_newest(g_ptr_array_index(streams->open, i));
}

guint streams_count(const Streams *streams)
{
	return streams->open->len;
}

guint64 streams_lists_sent(const Streams *streams)
{
	return streams->lists_sent;
}
