/* SPDX-License-Identifier: Apache-2.0 */
#include "model/offer_private.h"

#include <string.h>

#include "model/exclusive.h"
#include "model/sight.h"

/* Between two questions to the kubelet about the same: longer with each. */
#define SHORTEST_PAUSE_US ((gint64)1 * G_USEC_PER_SEC)
#define LONGEST_PAUSE_US ((gint64)30 * G_USEC_PER_SEC)

Offer *offer_new(ResourceConfig *config, const struct offer_rules *rules)
{
	Offer *offer = g_new0(Offer, 1);

	offer->config = resource_config_ref(config);
	offer->resource = resource_new(resource_config_ref(config));
	offer->board = health_board_new(&rules->health);
	offer->renumber = renumber_new();
	offer->retire = retire_new(rules->retire_after_us);
	offer->news = news_new();
	offer->discovered = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	offer_begin_mode(offer, rules, NULL, 0);
	offer->unusable = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return offer;
}

void offer_free(Offer *offer)
{
	if (offer == NULL)
		return;
	g_ptr_array_unref(offer->news);
	g_hash_table_unref(offer->unusable);
	g_hash_table_unref(offer->discovered);
	mode_switch_free(offer->mode);
	snapshot_unref(offer->shown);
	retire_free(offer->retire);
	renumber_free(offer->renumber);
	health_board_free(offer->board);
	resource_free(offer->resource);
	resource_config_unref(offer->config);
	g_free(offer);
}

Resource *offer_resource(const Offer *offer)
{
	return offer->resource;
}

const HealthBoard *offer_health(const Offer *offer)
{
	return offer->board;
}

const Renumber *offer_renumber(const Offer *offer)
{
	return offer->renumber;
}

guint offer_n_retiring(const Offer *offer)
{
	return retire_count(offer->retire);
}

/* --- scans --- */

void offer_note_numbers(Offer *offer, const struct hca *hca, gint64 now_us)
{
	const char *identity = device_identity(hca->device);

	if (!renumber_note(offer->renumber, identity, hca_numbers(hca, offer->config), now_us))
		return;
	offer->renumbered_us = now_us;
	news_add(offer->news, NEWS_INFO,
		 "the character devices of '%s' have other numbers than before",
		 device_id(hca->device));
}

/* One that went before it counted is never heard of. */
static void forget_unborn(Offer *offer)
{
	GPtrArray *hcas = resource_hcas(offer->resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		if (!hca->present && !hca_counts(hca))
			health_board_forget(offer->board, device_identity(hca->device));
	}
}

/* A device that the selectors take and that is no HCA now does not count, but whoever
 * wrote them wants to know. */
static void say_unusable(Offer *offer, const struct hca *hca)
{
	const char *identity = device_identity(hca->device);

	if (g_strcmp0(g_hash_table_lookup(offer->unusable, identity), hca->missing) == 0)
		return;
	g_hash_table_replace(offer->unusable, g_strdup(identity), g_strdup(hca->missing));
	news_add(offer->news, NEWS_INFO, "'%s' is selected and cannot be used: %s%s%s",
		 device_id(hca->device), hca->missing, hca->remedy == NULL ? "" : "; ",
		 hca->remedy == NULL ? "" : hca->remedy);
}

static void note_found(Offer *offer, gint64 now_us)
{
	GPtrArray *hcas = resource_hcas(offer->resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		if (sight_lacks_files(hca))
			offer_note_files(offer, hca, now_us);
		else if (hca_is_complete(hca))
			offer_note_numbers(offer, hca, now_us);
		else if (hca->present && !hca->usable)
			say_unusable(offer, hca);
	}
}

void offer_scanned(Offer *offer, GPtrArray *devices, enum offer_scan scan, gint64 now_us)
{
	resource_set_devices(offer->resource, devices);
	forget_unborn(offer);
	if (scan != OFFER_SCAN_POLLED)
		offer_note_absent(offer,
				  scan == OFFER_SCAN_EVENT ? HEALTH_OBSERVED_REMOVED
							   : HEALTH_OBSERVED_ABSENT,
				  now_us);
	note_found(offer, now_us);
	/* Even without a change of health, files may have come or gone. */
	offer->dirty = TRUE;
}

void offer_give_up(Offer *offer, gint64 now_us)
{
	static const struct health_sight sight = {HEALTH_OBSERVED_BAD, HEALTH_CODE_BACKEND,
						  "its backend cannot be used"};
	GPtrArray *hcas = resource_hcas(offer->resource);

	for (guint i = 0; i < hcas->len; i++)
		if (hca_counts(g_ptr_array_index(hcas, i)))
			offer_note_sight(offer, g_ptr_array_index(hcas, i), &sight, now_us);
	offer->dirty = TRUE;
}

/* --- pods --- */

void offer_allocated(Offer *offer, const char *const *ids, gsize n_ids, gint64 now_us)
{
	for (gsize i = 0; i < n_ids; i++)
		renumber_allocated(offer->renumber, ids[i], now_us);
	mode_switch_allocated(offer->mode, now_us);
}

/* An exclusive device's id is that of its HCA; a slot stands for all of them. */
static const char *identity_of(const char *id, gpointer data)
{
	GPtrArray *hcas = resource_hcas(((const Offer *)data)->resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		if (strcmp(exclusive_id(hca->device), id) == 0)
			return device_identity(hca->device);
	}
	return NULL;
}

static gboolean is_held(const char *id, gpointer data)
{
	return g_hash_table_contains(data, id);
}

struct stale {
	GString *ids;
	const char *why;
};

static void list_stale(const char *id, const char *why, gpointer data)
{
	struct stale *stale = data;

	g_string_append_printf(stale->ids, "%s'%s'", stale->ids->len > 0 ? ", " : "", id);
	stale->why = why;
}

static void tell_stale(Offer *offer)
{
	g_autoptr(GString) ids = g_string_new(NULL);
	struct stale stale = {ids, NULL};

	renumber_each_stale(offer->renumber, list_stale, &stale);
	if (stale.why == NULL)
		news_add(offer->news, NEWS_INFO, "no pod has old device numbers any more");
	else
		news_add(offer->news, NEWS_ERROR,
			 "pods that hold %s have access to the numbers of before, which can be "
			 "another HCA's now, and are reported as Unhealthy until they end: %s",
			 ids->str, stale.why);
}

gboolean offer_held(Offer *offer, GPtrArray *ids, const char *holder, gint64 asked_us)
{
	g_autoptr(GHashTable) held = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < ids->len; i++)
		g_hash_table_add(held, g_ptr_array_index(ids, i));
	if (retire_release(offer->retire, asked_us, is_held, held))
		offer->dirty = TRUE;
	if (renumber_held(offer->renumber, ids, identity_of, offer, asked_us)) {
		tell_stale(offer);
		offer->dirty = TRUE;
	}
	return offer_mode_held(offer, ids, holder, asked_us);
}

/* What is new is asked at once, the same again only after a while. */
static gint64 again_from(gint64 from_us, gint64 answered_us)
{
	gint64 pause_us = CLAMP(answered_us - from_us, SHORTEST_PAUSE_US, LONGEST_PAUSE_US);

	return from_us <= answered_us ? answered_us + pause_us : from_us;
}

gint64 offer_asks_from(const Offer *offer, gint64 answered_us)
{
	gint64 mode_us = mode_switch_asks_from(offer->mode);
	gint64 due_us = retire_due_us(offer->retire);
	gint64 from_us = mode_us < 0 ? G_MAXINT64 : mode_us;

	if (renumber_is_open(offer->renumber))
		due_us = offer->renumbered_us;
	if (due_us != G_MAXINT64)
		from_us = MIN(from_us, again_from(due_us, answered_us));
	return from_us == G_MAXINT64 ? -1 : from_us;
}

/* --- another configuration --- */

static void drop_hcas(Offer *offer, gboolean (*keeps)(const Device *device, gpointer data),
		      gpointer data)
{
	g_autoptr(GPtrArray) saved = resource_save(offer->resource);
	Resource *renewed = resource_new_like(offer->resource, resource_config_ref(offer->config));

	for (guint i = 0; i < saved->len;) {
		const struct saved_hca *one = g_ptr_array_index(saved, i);

		if (keeps(one->device, data)) {
			i++;
			continue;
		}
		health_board_forget(offer->board, device_identity(one->device));
		renumber_forget(offer->renumber, device_identity(one->device));
		g_ptr_array_remove_index(saved, i);
	}
	resource_free(offer->resource);
	offer->resource = renewed;
	resource_restore(offer->resource, saved);
}

/* Without a policy nothing is bad, and health begins anew when there is one again. */
static void configure_health(Offer *offer)
{
	GPtrArray *hcas = resource_hcas(offer->resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);
		const char *identity = device_identity(hca->device);

		if (offer->config->health_policy == HEALTH_OFF)
			health_board_forget(offer->board, identity);
		offer_apply_health(identity, offer);
	}
}

void offer_configure(Offer *offer, ResourceConfig *config, const struct offer_rules *rules,
		     gboolean (*keeps)(const Device *device, gpointer data), gpointer data,
		     gint64 now_us)
{
	resource_config_ref(config);
	resource_config_unref(offer->config);
	offer->config = config;
	offer->leaving = offer->left = FALSE;
	drop_hcas(offer, keeps, data);
	offer_set_rules(offer, rules, now_us);
	configure_health(offer);
	offer_configure_mode(offer, rules, now_us);
	offer->dirty = TRUE;
}

void offer_set_rules(Offer *offer, const struct offer_rules *rules, gint64 now_us)
{
	health_board_set_rules(offer->board, &rules->health);
	retire_set_after(offer->retire, rules->retire_after_us);
	offer_tick(offer, now_us);
}

void offer_leave(Offer *offer)
{
	offer->leaving = TRUE;
	offer->dirty = TRUE;
}

gboolean offer_is_leaving(const Offer *offer)
{
	return offer->leaving;
}

void offer_refuse(Offer *offer, gboolean refused)
{
	offer->dirty |= !refused != !offer->refused;
	offer->refused = refused;
}

gboolean offer_is_over(const Offer *offer)
{
	return offer->leaving && offer->left && retire_count(offer->retire) == 0;
}

/* --- what follows --- */

static void mark_stale(const char *id, const char *why G_GNUC_UNUSED, gpointer data)
{
	snapshot_set_unhealthy(data, id);
}

static Snapshot *wanted_list(const Offer *offer)
{
	Snapshot *snapshot;

	if (offer->leaving || offer->refused)
		return snapshot_new(offer->config->full_name);
	snapshot = resource_snapshot(offer->resource);
	renumber_each_stale(offer->renumber, mark_stale, snapshot);
	offer_drain(offer, snapshot);
	return snapshot;
}

Snapshot *offer_take_list(Offer *offer, gint64 now_us)
{
	g_autoptr(Snapshot) wanted = NULL;

	if (!offer->dirty || offer_is_over(offer) ||
	    (!offer->leaving && !offer->refused &&
	     (offer_is_looking(offer) || !mode_switch_is_known(offer->mode))))
		return NULL;
	offer->dirty = FALSE;
	offer->left = offer->leaving;
	wanted = wanted_list(offer);
	snapshot_unref(offer->shown);
	offer->shown = retire_apply(offer->retire, wanted, now_us);
	mode_switch_listed(offer->mode, now_us);
	offer_tell_devices(offer, offer->shown);
	return snapshot_ref(offer->shown);
}

gint64 offer_deadline(const Offer *offer)
{
	return health_board_deadline(offer->board);
}

void offer_tell(Offer *offer, gint64 now_us, GPtrArray *list)
{
	mode_switch_tell(offer->mode, list);
	for (guint i = 0; i < offer->news->len; i++) {
		const struct news *news = g_ptr_array_index(offer->news, i);

		news_add(list, news->level, "%s", news->text);
	}
	g_ptr_array_set_size(offer->news, 0);
	health_board_tell(offer->board, now_us, list);
}
