/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/inbox.h"

#include <pthread.h>
#include <stdatomic.h>

struct inbox {
	atomic_uint refs;
	inbox_receive_fn receive;
	gpointer data;
	GDestroyNotify discard;
	GSource *source; /* its ready time is what wakes the receiver */
	pthread_mutex_t lock;
	GQueue items; /* under the lock */
	gboolean closed; /* set under the lock, by the receiving thread only */
};

struct inbox_source {
	GSource base;
	Inbox *inbox;
};

/* What comes while this runs waits for the next round, so that other sources of the
 * loop have their turn. */
static gboolean inbox_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	Inbox *inbox = inbox_ref(((struct inbox_source *)source)->inbox);
	GQueue batch;
	gpointer item;

	(void)callback;
	(void)data;
	g_source_set_ready_time(source, -1);
	pthread_mutex_lock(&inbox->lock);
	batch = inbox->items;
	g_queue_init(&inbox->items);
	pthread_mutex_unlock(&inbox->lock);
	while ((item = g_queue_pop_head(&batch))) {
		if (inbox->closed)
			inbox->discard(item);
		else
			inbox->receive(item, inbox->data);
	}
	inbox_unref(inbox);
	return G_SOURCE_CONTINUE;
}

Inbox *inbox_new(inbox_receive_fn receive, gpointer data, GDestroyNotify discard)
{
	static GSourceFuncs functions = {.dispatch = inbox_dispatch};
	g_autoptr(GMainContext) context = g_main_context_ref_thread_default();
	Inbox *inbox = g_new0(Inbox, 1);

	atomic_init(&inbox->refs, 1);
	inbox->receive = receive;
	inbox->data = data;
	inbox->discard = discard;
	pthread_mutex_init(&inbox->lock, NULL);
	g_queue_init(&inbox->items);
	inbox->source = g_source_new(&functions, sizeof(struct inbox_source));
	((struct inbox_source *)inbox->source)->inbox = inbox;
	g_source_attach(inbox->source, context);
	return inbox;
}

Inbox *inbox_ref(Inbox *inbox)
{
	atomic_fetch_add(&inbox->refs, 1);
	return inbox;
}

void inbox_unref(Inbox *inbox)
{
	if (atomic_fetch_sub(&inbox->refs, 1) != 1)
		return;
	g_source_unref(inbox->source);
	pthread_mutex_destroy(&inbox->lock);
	g_free(inbox);
}

void inbox_post(Inbox *inbox, gpointer item)
{
	gboolean closed;

	pthread_mutex_lock(&inbox->lock);
	closed = inbox->closed;
	if (!closed)
		g_queue_push_tail(&inbox->items, item);
	pthread_mutex_unlock(&inbox->lock);
	if (closed)
		inbox->discard(item);
	else
		g_source_set_ready_time(inbox->source, 0);
}

void inbox_close(Inbox *inbox)
{
	gpointer item;
	GQueue rest;

	pthread_mutex_lock(&inbox->lock);
	inbox->closed = TRUE;
	rest = inbox->items;
	g_queue_init(&inbox->items);
	pthread_mutex_unlock(&inbox->lock);
	g_source_destroy(inbox->source);
	while ((item = g_queue_pop_head(&rest)))
		inbox->discard(item);
}
