/* SPDX-License-Identifier: Apache-2.0 */
/* What an offer hands over to the one of the next process. */
#include "model/offer_private.h"

static void restore_hca(Offer *offer, const struct saved_hca *saved, gint64 now_us)
{
	const char *identity = device_identity(saved->device);
	const struct hca *hca = resource_find(offer->resource, identity);

	if (hca_counts(hca) && offer->config->health_policy != HEALTH_OFF)
		health_board_restore(offer->board, identity, device_id(saved->device),
				     saved->healthy ? NULL : saved->reason, saved->was_good,
				     now_us);
	if (hca_is_complete(hca))
		offer_note_numbers(offer, hca, now_us);
}

/* As if they had been shown just now: none of them vanishes while a pod may hold it. */
static void restore_ids(Offer *offer, GPtrArray *ids, gint64 now_us)
{
	g_autoptr(Snapshot) before = snapshot_new(offer->config->full_name);

	for (guint i = 0; i < ids->len; i++)
		snapshot_add_slot(before, g_strdup(g_ptr_array_index(ids, i)), FALSE, -1);
	snapshot_unref(retire_apply(offer->retire, before, now_us));
}

void offer_restore(Offer *offer, GPtrArray *saved, GPtrArray *ids, gint64 now_us)
{
	restore_ids(offer, ids, now_us);
	offer_begin_mode(offer, NULL, ids, now_us);
	resource_restore(offer->resource, saved);
	for (guint i = 0; i < saved->len; i++)
		restore_hca(offer, g_ptr_array_index(saved, i), now_us);
	offer->dirty = TRUE;
}

GPtrArray *offer_save(const Offer *offer)
{
	GPtrArray *saved = resource_save(offer->resource);

	for (guint i = 0; i < saved->len; i++) {
		struct saved_hca *hca = g_ptr_array_index(saved, i);
		const struct health *health =
			health_board_find(offer->board, device_identity(hca->device));

		hca->was_good = health != NULL && health->was_good;
	}
	return saved;
}

const Snapshot *offer_shown(const Offer *offer)
{
	return offer->shown;
}
