/* SPDX-License-Identifier: Apache-2.0 */
/* For offer*.c only. */
#pragma once

#include "model/offer.h"
#include "model/retire.h"

struct offer {
	ResourceConfig *config;
	Resource *resource;
	HealthBoard *board;
	Renumber *renumber;
	Retire *retire;
	gint64 renumbered_us; /* of the last change of numbers */
	gboolean dirty; /* something may have changed since the last list */
	gboolean refused;
	Snapshot *shown; /* the last list; NULL before the first */
	gboolean leaving;
	gboolean left; /* the list that says so was taken */
	GPtrArray *news; /* about what is not health */
	GHashTable *unusable; /* identity -> why, of what was said */
};

/* The character devices of an HCA as they are now. */
void offer_note_numbers(Offer *offer, const struct hca *hca, gint64 now_us);
