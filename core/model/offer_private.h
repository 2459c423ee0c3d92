/* SPDX-License-Identifier: Apache-2.0 */
/* For offer*.c only. */
#pragma once

#include "model/mode_switch.h"
#include "model/offer.h"
#include "model/retire.h"

struct offer {
	ResourceConfig *config;
	Resource *resource;
	HealthBoard *board;
	Renumber *renumber;
	Retire *retire;
	ModeSwitch *mode;
	gboolean wants_exclusive; /* the configuration, or the label that it follows */
	gboolean undecided; /* the label is not known yet */
	GHashTable *discovered; /* set: ids of exclusive devices that were told about */
	gint64 renumbered_us; /* of the last change of numbers */
	gboolean dirty; /* something may have changed since the last list */
	gboolean refused;
	Snapshot *shown; /* the last list; NULL before the first */
	gboolean leaving;
	gboolean left; /* the list that says so was taken */
	GPtrArray *news; /* about what is not health */
	GHashTable *unusable; /* identity -> why, of what was said */
};

/* --- offer_mode.c --- */

/* 'ids' are those of a former process, or NULL; 'rules' NULL: as before. */
void offer_begin_mode(Offer *offer, const struct offer_rules *rules, GPtrArray *ids, gint64 now_us);
void offer_configure_mode(Offer *offer, const struct offer_rules *rules, gint64 now_us);
/* TRUE if the resource is in another mode now. */
gboolean offer_mode_held(Offer *offer, GPtrArray *ids, const char *holder, gint64 asked_us);
/* While the mode is about to change nothing is given away. */
void offer_drain(const Offer *offer, Snapshot *wanted);
/* Tells about exclusive devices that are new. */
void offer_tell_devices(Offer *offer, const Snapshot *list);

/* --- offer_health.c --- */

/* Hands what the board says about an HCA to the resource; 'data' is the offer. */
void offer_apply_health(const char *identity, gpointer data);
void offer_note_sight(Offer *offer, const struct hca *hca, const struct health_sight *sight,
		      gint64 now_us);
/* The HCA lacks character devices. */
void offer_note_files(Offer *offer, const struct hca *hca, gint64 now_us);
/* Feeds every HCA that the last scan did not find. */
void offer_note_absent(Offer *offer, enum health_observed observed, gint64 now_us);
/* TRUE while an HCA that counts has not been looked at even once: the list waits for
 * that, so that it does not say Healthy first and Unhealthy a moment later. */
gboolean offer_is_looking(const Offer *offer);

/* --- offer.c --- */

/* The character devices of an HCA as they are now. */
void offer_note_numbers(Offer *offer, const struct hca *hca, gint64 now_us);
