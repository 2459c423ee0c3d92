/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Character devices that got other numbers while pods hold them. A container may use
 * the numbers that its HCA had when it was allocated; after a driver was reloaded they
 * can belong to another HCA, and the container's files lead there. Who holds what is the
 * kubelet's word; what was allocated after a change has the right numbers. Pure.
 */
#pragma once

#include <glib.h>

typedef struct renumber Renumber;

Renumber *renumber_new(void);
void renumber_free(Renumber *renumber);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Renumber, renumber_free)

/* The numbers of one HCA now: which device ("uverbs 0") -> "231:192". Taken over. TRUE
 * if one of them is another than it was before, at any time since all that was
 * allocated then has gone: then the kubelet should be asked who holds what. */
gboolean renumber_note(Renumber *renumber, const char *identity, GHashTable *numbers,
		       gint64 now_us);
void renumber_forget(Renumber *renumber, const char *identity);
/* These numbers were handed out just now. */
void renumber_allocated(Renumber *renumber, const char *id, gint64 now_us);

/* TRUE while pods may hold old numbers. */
gboolean renumber_is_open(const Renumber *renumber);

/* The kubelet's word of 'asked_us': the ids (char *) that pods hold. 'identity_of' tells
 * of which HCA an id is; NULL: of all. TRUE if other ids are stale than before. */
gboolean renumber_held(Renumber *renumber, GPtrArray *ids,
		       const char *(*identity_of)(const char *id, gpointer data), gpointer data,
		       gint64 asked_us);

/* Calls 'visit' for each stale id, with why pods that hold it have wrong numbers. */
void renumber_each_stale(const Renumber *renumber,
			 void (*visit)(const char *id, const char *why, gpointer data),
			 gpointer data);
