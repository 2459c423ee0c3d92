/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands items from any thread to the thread of a main context, in order.
 *
 * The locks here and in workers.c are pthread's rather than GLib's: ThreadSanitizer
 * sees what they order.
 */
#pragma once

#include <glib.h>

typedef struct inbox Inbox;

/* Takes the item over. May close the inbox. */
typedef void (*inbox_receive_fn)(gpointer item, gpointer data);

/* Receives in the main context that is the thread's default now. 'discard' frees items
 * that nobody will receive. Close it before the last unref. */
Inbox *inbox_new(inbox_receive_fn receive, gpointer data, GDestroyNotify discard);
Inbox *inbox_ref(Inbox *inbox);
void inbox_unref(Inbox *inbox);

/* Any thread. Takes the item over. */
void inbox_post(Inbox *inbox, gpointer item);

/* In the receiving thread: 'receive' is not called any more. */
void inbox_close(Inbox *inbox);
