/* SPDX-License-Identifier: Apache-2.0 */
/* Shared or exclusive: what mode_switch.h decides about the list. */
#include "model/discovered.h"
#include "model/offer_private.h"

static void note_wanted(Offer *offer, const struct offer_rules *rules)
{
	offer->undecided = offer->config->mode == RESOURCE_AUTO && rules->undecided;
	if (!offer->undecided)
		offer->wants_exclusive = offer->config->mode == RESOURCE_AUTO
						 ? rules->exclusive
						 : offer->config->mode == RESOURCE_EXCLUSIVE;
}

/* The mode alone is no reason for a first list: that is a scan's. */
static void note_change(Offer *offer, gboolean another_list)
{
	offer->dirty |= another_list && offer->shown != NULL;
}

/* TRUE if the resource is in another mode now. */
static gboolean follow(Offer *offer)
{
	gboolean exclusive = mode_switch_is_exclusive(offer->mode);

	if (!mode_switch_is_known(offer->mode) ||
	    !exclusive == !resource_is_exclusive(offer->resource))
		return FALSE;
	resource_set_exclusive(offer->resource, exclusive);
	return TRUE;
}

/* Current ids come first in a list, those that only wait to leave behind them. */
static enum mode_saved saved_mode(GPtrArray *ids)
{
	if (ids == NULL || ids->len == 0)
		return MODE_SAVED_NONE;
	return mode_id_is_slot(g_ptr_array_index(ids, 0)) ? MODE_SAVED_SHARED
							  : MODE_SAVED_EXCLUSIVE;
}

void offer_begin_mode(Offer *offer, const struct offer_rules *rules, GPtrArray *ids, gint64 now_us)
{
	enum mode_saved saved = saved_mode(ids);

	if (rules != NULL)
		note_wanted(offer, rules);
	if (offer->undecided && saved != MODE_SAVED_NONE)
		offer->wants_exclusive = saved == MODE_SAVED_EXCLUSIVE;
	mode_switch_free(offer->mode);
	offer->mode = offer->config->mode == RESOURCE_AUTO
			      ? mode_switch_new(offer->wants_exclusive, saved, now_us)
			      : mode_switch_new_fixed(offer->wants_exclusive, saved, now_us);
	/* Until it is known, what is most likely. */
	resource_set_exclusive(offer->resource, saved == MODE_SAVED_NONE
							? offer->wants_exclusive
							: saved == MODE_SAVED_EXCLUSIVE);
}

void offer_configure_mode(Offer *offer, const struct offer_rules *rules, gint64 now_us)
{
	note_wanted(offer, rules);
	mode_switch_set_order(offer->mode, offer->config->mode != RESOURCE_AUTO);
	mode_switch_want(offer->mode, offer->wants_exclusive, now_us);
}

gboolean offer_want_exclusive(Offer *offer, gboolean exclusive, gint64 now_us)
{
	if (offer->config->mode != RESOURCE_AUTO)
		return FALSE;
	offer->undecided = FALSE;
	offer->wants_exclusive = exclusive;
	note_change(offer, mode_switch_want(offer->mode, exclusive, now_us));
	return follow(offer);
}

gboolean offer_mode_held(Offer *offer, GPtrArray *ids, const char *holder, gint64 asked_us)
{
	note_change(offer, mode_switch_held(offer->mode, ids, holder, asked_us));
	return follow(offer);
}

gboolean offer_held_early(Offer *offer, GPtrArray *ids, gint64 asked_us)
{
	note_change(offer, mode_switch_held_early(offer->mode, ids, asked_us));
	return follow(offer);
}

gboolean offer_silent(Offer *offer, const char *reason, gboolean away, gint64 now_us)
{
	note_change(offer, mode_switch_silent(offer->mode, reason, away, now_us));
	return follow(offer);
}

const ModeSwitch *offer_mode(const Offer *offer)
{
	return offer->mode;
}

void offer_drain(const Offer *offer, Snapshot *wanted)
{
	if (!mode_switch_is_draining(offer->mode))
		return;
	for (guint i = 0; i < wanted->slots->len; i++)
		((struct slot *)g_ptr_array_index(wanted->slots, i))->healthy = FALSE;
}

/* Each device once, until the mode changes. */
void offer_tell_devices(Offer *offer, const Snapshot *list)
{
	if (list->units == NULL) {
		g_hash_table_remove_all(offer->discovered);
		return;
	}
	for (guint i = 0; i < list->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(list->slots, i);
		const struct unit *unit = snapshot_unit(list, slot->id);
		g_autofree char *text = NULL;

		if (unit == NULL || !g_hash_table_add(offer->discovered, g_strdup(slot->id)))
			continue;
		text = discovered_text(unit);
		news_add(offer->news, NEWS_INFO, "%s", text);
	}
}
