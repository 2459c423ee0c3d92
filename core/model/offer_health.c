/* SPDX-License-Identifier: Apache-2.0 */
/* What is observed of HCAs, on its way through the board (health_board.h) to the resource. */
#include "model/link_layers.h"
#include "model/offer_private.h"
#include "model/sight.h"

void offer_apply_health(const char *identity, gpointer data)
{
	Offer *offer = data;
	g_autofree char *reason = health_board_reason(offer->board, identity);

	resource_set_health(offer->resource, identity, reason == NULL, reason);
	offer->dirty = TRUE;
}

/* A reason can change while the HCA stays Unhealthy: that is no news for the kubelet. */
static void refresh_reason(Offer *offer, const struct hca *hca)
{
	const char *identity = device_identity(hca->device);
	g_autofree char *reason = hca->healthy ? NULL : health_board_reason(offer->board, identity);

	if (reason != NULL)
		resource_set_health(offer->resource, identity, FALSE, reason);
}

void offer_note_sight(Offer *offer, const struct hca *hca, const struct health_sight *sight,
		      gint64 now_us)
{
	const char *identity = device_identity(hca->device);

	if (offer->config->health_policy == HEALTH_OFF)
		return;
	if (health_board_observe(offer->board, identity, device_id(hca->device), sight, now_us))
		offer_apply_health(identity, offer);
	else
		refresh_reason(offer, hca);
}

void offer_note_files(Offer *offer, const struct hca *hca, gint64 now_us)
{
	const struct health_sight sight = sight_of_files(hca);

	offer_note_sight(offer, hca, &sight, now_us);
}

void offer_observe(Offer *offer, const char *identity, const struct rdmadp_health *health,
		   gint64 now_us)
{
	const struct hca *hca = resource_find(offer->resource, identity);
	const struct rdmadp_health judged = link_layers_judge(offer->config, health);
	struct health_sight sight;

	if (hca == NULL || !hca->usable || !hca->present)
		return;
	offer->dirty |= resource_probe(offer->resource, identity);
	if (sight_lacks_files(hca)) {
		offer_note_files(offer, hca, now_us);
		return;
	}
	sight = sight_of_health(&judged);
	offer_note_sight(offer, hca, &sight, now_us);
	/* While the link is down it is not asked for. */
	if (sight.observed == HEALTH_OBSERVED_GOOD)
		health_board_count(offer->board, identity, health->link_downs);
	if (sight.observed == HEALTH_OBSERVED_GOOD && sight_is_idle_function(hca))
		health_board_remark(offer->board, identity, sight.text);
}

void offer_observe_stuck(Offer *offer, const char *identity, gint64 now_us)
{
	static const struct rdmadp_health unknown = {.size = sizeof(unknown)};

	offer_observe(offer, identity, &unknown, now_us);
}

void offer_note_absent(Offer *offer, enum health_observed observed, gint64 now_us)
{
	struct health_sight sight = {observed, HEALTH_CODE_GONE, NULL};
	GPtrArray *hcas = resource_hcas(offer->resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		sight.text = hca->refusal != NULL ? hca->refusal : "it is not on the bus any more";
		if (!hca->present && hca_counts(hca))
			offer_note_sight(offer, hca, &sight, now_us);
	}
}

void offer_poll(Offer *offer, gint64 now_us)
{
	offer_note_absent(offer, HEALTH_OBSERVED_ABSENT, now_us);
}

static gboolean waits_for_look(const Offer *offer, const struct hca *hca)
{
	const struct health *health = health_board_find(offer->board, device_identity(hca->device));

	return hca_is_complete(hca) && offer->config->health_policy != HEALTH_OFF &&
	       (health == NULL || health->pending);
}

gboolean offer_is_looking(const Offer *offer)
{
	GPtrArray *hcas = resource_hcas(offer->resource);

	for (guint i = 0; i < hcas->len; i++)
		if (waits_for_look(offer, g_ptr_array_index(hcas, i)))
			return TRUE;
	return FALSE;
}

void offer_first_look_over(Offer *offer, gint64 now_us)
{
	const struct health_sight sight = {.observed = HEALTH_OBSERVED_UNREADABLE};
	GPtrArray *hcas = resource_hcas(offer->resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		if (waits_for_look(offer, hca))
			offer_note_sight(offer, hca, &sight, now_us);
	}
}

void offer_tick(Offer *offer, gint64 now_us)
{
	GPtrArray *hcas = resource_hcas(offer->resource);

	health_board_tick(offer->board, now_us, offer_apply_health, offer);
	for (guint i = 0; i < hcas->len; i++)
		refresh_reason(offer, g_ptr_array_index(hcas, i));
}
