/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that goes from one resource to another: by another configuration, or because
 * one of two that select it has become exclusive. Pods may hold it through the resource
 * that had it, so unless both share it is kept back from the other until the kubelet, asked
 * some time after the first has stopped to offer it, names none of these pods any more.
 * Without the kubelet's word it is handed over after a while: only an administrator moves
 * devices where podresources cannot be asked (mode_switch.h).
 *
 * Pure: times are the caller's (microseconds, monotonic).
 */
#pragma once

#include "model/device.h"
#include "model/saved_state.h"

typedef struct custody Custody;

/* One container that holds devices of a resource. Borrowed. */
struct custody_holding {
	const char *resource;
	const char *pod; /* the container, too: it tells one from another */
	GPtrArray *ids; /* char * */
};

Custody *custody_new(void);
void custody_free(Custody *custody);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Custody, custody_free)

/* The resources of a former process have offered their devices, and so have those that
 * custody_save has added. */
void custody_restore(Custody *custody, const SavedState *before, gint64 now_us);
/* Adds what resources had and have no more, while pods may hold it: an entry for each
 * device, to come behind those of the resources themselves. */
void custody_save(const Custody *custody, SavedState *state);

/* What the resources of one bus are to have (struct overlap_claim *, resolved): devices
 * that are kept back are taken out, and 'waits' says why. */
void custody_settle(Custody *custody, const char *bus, GPtrArray *claims, gint64 now_us);

/* From when on the kubelet should be asked who holds what; -1: there is no need to. */
gint64 custody_asks_from(const Custody *custody);
/* The kubelet's word of 'asked_us' (struct custody_holding *). TRUE if a device is not kept
 * back any more: then custody_settle has another result. */
gboolean custody_told(Custody *custody, GPtrArray *holdings, gint64 asked_us);
/* The kubelet said nothing, for that reason. 'away': it is not there at all. */
gboolean custody_silent(Custody *custody, const char *reason, gboolean away, gint64 now_us);

/* Moves what is to be said to 'list' (news.h). */
void custody_tell(Custody *custody, GPtrArray *list);
