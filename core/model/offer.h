/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one resource shows the kubelet in the course of time. Scans, health reads, the
 * kubelet's word about pods and the clock go in; out come the lists that are to be
 * published and what is to be said about them. Pure: times are the caller's
 * (microseconds, monotonic).
 *
 *	resource.h      which HCAs there are and which slots they make
 *	health_board.h  which of them are good, after all delays
 *	renumber.h      pods whose HCAs have other device numbers now: their ids are Unhealthy
 *	retire.h        ids that are not wanted any more stay, Unhealthy, while a pod may hold them
 *	mode_switch.h   whether they are slots or devices, and when that may change
 */
#pragma once

#include "model/health_board.h"
#include "model/mode_switch.h"
#include "model/renumber.h"
#include "model/resource.h"
#include "rdmadp/backend.h"

typedef struct offer Offer;

struct offer_rules {
	struct health_rules health;
	gint64 retire_after_us;
	gboolean exclusive; /* what a resource with the mode "auto" is to be */
	gboolean undecided; /* nobody has said it yet: as it was, or shared */
};

/* Takes a reference to config. */
Offer *offer_new(ResourceConfig *config, const struct offer_rules *rules);
void offer_free(Offer *offer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Offer, offer_free)

/* Replaced by offer_configure, else the same for life. */
Resource *offer_resource(const Offer *offer);
const HealthBoard *offer_health(const Offer *offer);
const Renumber *offer_renumber(const Offer *offer);
const ModeSwitch *offer_mode(const Offer *offer);
/* Ids that are shown, Unhealthy, and not wanted any more. */
guint offer_n_retiring(const Offer *offer);

/* HCAs that a former process had (struct saved_hca *), and the ids (char *) that it has
 * shown, before the first scan. What was told stays so until it is looked at, so that a
 * restart by itself changes nothing that the kubelet sees. */
void offer_restore(Offer *offer, GPtrArray *saved, GPtrArray *ids, gint64 now_us);
/* The HCAs for offer_restore. */
GPtrArray *offer_save(const Offer *offer);
/* The list that was taken last; NULL before the first. */
const Snapshot *offer_shown(const Offer *offer);

/* --- what happens --- */

/* What a scan means for an HCA that it did not find. */
enum offer_scan {
	OFFER_SCAN_POLLED, /* nothing: polls count that */
	OFFER_SCAN_COUNTS, /* once missed, because nobody polls */
	OFFER_SCAN_EVENT, /* gone */
};

/* 'devices' (Device *): what was found and selected. */
void offer_scanned(Offer *offer, GPtrArray *devices, enum offer_scan scan, gint64 now_us);
/* A health read of an HCA ended. Nothing if the resource does not have it. */
void offer_observe(Offer *offer, const char *identity, const struct rdmadp_health *health,
		   gint64 now_us);
/* A health read has not come back for some time. */
void offer_observe_stuck(Offer *offer, const char *identity, gint64 now_us);
/* A round of polling has begun: HCAs that the last scan did not find are missed. */
void offer_poll(Offer *offer, gint64 now_us);
/* Nobody waits for the first look at an HCA any longer. */
void offer_first_look_over(Offer *offer, gint64 now_us);
void offer_tick(Offer *offer, gint64 now_us);
/* The bus cannot be asked: there is nothing to wait for, and what was offered is bad. */
void offer_give_up(Offer *offer, gint64 now_us);

/* An Allocate of these ids was answered. */
void offer_allocated(Offer *offer, const char *const *ids, gsize n_ids, gint64 now_us);
/* The following are TRUE if the resource is shared or exclusive and was not before: then
 * it competes anew for its devices. */

/* The kubelet's word of 'asked_us': the resource's ids (char *) that pods hold; 'holder'
 * is one of the pods, or NULL. */
gboolean offer_held(Offer *offer, GPtrArray *ids, const char *holder, gint64 asked_us);
/* The same of a kubelet that has just started: it may not know all pods yet. */
gboolean offer_held_early(Offer *offer, GPtrArray *ids, gint64 asked_us);
/* The kubelet does not say it, for that reason. 'away': there is none at all. */
gboolean offer_silent(Offer *offer, const char *reason, gboolean away, gint64 now_us);
/* What a resource with the mode "auto" is to be. */
gboolean offer_want_exclusive(Offer *offer, gboolean exclusive, gint64 now_us);

/* The resource is configured differently: HCAs that 'keeps' refuses are dropped, their
 * ids and surplus ones retire. A scan is to follow. */
void offer_configure(Offer *offer, ResourceConfig *config, const struct offer_rules *rules,
		     gboolean (*keeps)(const Device *device, gpointer data), gpointer data,
		     gint64 now_us);
/* The same resource with other delays. */
void offer_set_rules(Offer *offer, const struct offer_rules *rules, gint64 now_us);
/* The resource is not wanted any more: all of its ids retire. Undone by
 * offer_configure. */
void offer_leave(Offer *offer);
gboolean offer_is_leaving(const Offer *offer);

/* While it is refused the resource offers nothing, whatever HCAs it has. */
void offer_refuse(Offer *offer, gboolean refused);

/* --- what follows --- */

/* The list to publish; NULL: nothing has changed, or a first look has to end before it
 * is worth to be told. What was held back comes with a later call. */
Snapshot *offer_take_list(Offer *offer, gint64 now_us);
/* TRUE if offer_leave was called and no pod can hold one of its ids any more. */
gboolean offer_is_over(const Offer *offer);
/* When offer_tick should be called next; -1: not before something happens. */
gint64 offer_deadline(const Offer *offer);
/* From when on the kubelet should be asked who holds what; -1: there is no need to. Its
 * last answer was of 'answered_us' (-1: there was none). */
gint64 offer_asks_from(const Offer *offer, gint64 answered_us);
/* Adds what is to be said now to 'list' (news.h). */
void offer_tell(Offer *offer, gint64 now_us, GPtrArray *list);
