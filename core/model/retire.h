/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ids that a resource has shown once. A kubelet since 1.34 crashes when an id that
 * it is just allocating vanishes from the list, and every kubelet reports the device of
 * a vanished id as healthy. So an id that is not wanted any more stays in the list,
 * Unhealthy, until it has been so for some time and the kubelet has said that no pod
 * holds it. Pure.
 */
#pragma once

#include "model/snapshot.h"

typedef struct retire Retire;

/* 'after_us': how long an id stays at least. */
Retire *retire_new(gint64 after_us);
void retire_free(Retire *retire);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Retire, retire_free)

void retire_set_after(Retire *retire, gint64 after_us);

/* What to publish for 'wanted': that itself, or a copy with the retiring ids at its end.
 * To be called for everything that is published. Returns a reference. */
Snapshot *retire_apply(Retire *retire, Snapshot *wanted, gint64 now_us);

/* What the kubelet said when it was asked at 'asked_us': ids that had stayed long enough
 * by then and that nobody holds are forgotten. TRUE if there were any: then the next
 * retire_apply gives another list. */
gboolean retire_release(Retire *retire, gint64 asked_us,
			gboolean (*is_held)(const char *id, gpointer data), gpointer data);

/* How many ids are retiring, and when the first of them may go (from then on it is
 * worth while to ask the kubelet). */
guint retire_count(const Retire *retire);
gint64 retire_due_us(const Retire *retire);
