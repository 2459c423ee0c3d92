/* SPDX-License-Identifier: Apache-2.0 */
/* What a pool learns from the kubelet about the pods that hold its devices. */
#include <string.h>

#include "daemon/pool_private.h"
#include "edge/log.h"

/* The resource's ids; *ret_holder is the first pod that holds one, or NULL. */
static GPtrArray *held_ids(const Holdings *holdings, const char *resource, char **ret_holder)
{
	const GPtrArray *list = holdings_list(holdings);
	GPtrArray *ids = g_ptr_array_new();

	*ret_holder = NULL;
	for (guint i = 0; i < list->len; i++) {
		const struct holding *holding = g_ptr_array_index(list, i);

		if (strcmp(holding->resource, resource) != 0)
			continue;
		if (*ret_holder == NULL)
			*ret_holder = g_strdup_printf("'%s/%s'", holding->name_space, holding->pod);
		g_ptr_array_extend(ids, holding->ids, NULL, NULL);
	}
	return ids;
}

static void say_silence(Pool *pool, const GError *error)
{
	const char *text = error != NULL ? error->message : NULL;

	if (g_strcmp0(text, pool->ask_trouble) == 0)
		return;
	if (text != NULL && renumber_is_open(offer_renumber(pool->offer)))
		log_warning(pool->config->full_name,
			    "%s: pods that were given devices before their numbers changed cannot "
			    "be named; delete them",
			    text);
	else if (text != NULL && offer_n_retiring(pool->offer) > 0)
		log_info(pool->config->full_name, "%s: devices that are gone stay in the list",
			 text);
	g_free(pool->ask_trouble);
	pool->ask_trouble = g_strdup(text);
}

void pool_change_mode(Pool *pool)
{
	if (!resource_is_exclusive(pool_resource(pool)))
		g_clear_pointer(&pool->device_info, device_info_dir_free);
	pool->host->mode_changed(pool, pool->host->data);
}

static gboolean take_holdings(Pool *pool, const Holdings *holdings)
{
	g_autofree char *holder = NULL;
	g_autoptr(GPtrArray) ids = held_ids(holdings, pool->config->full_name, &holder);

	pool->answered_us = holdings_asked_us(holdings);
	if (!holders_knows_all(pool->host->holders, holdings))
		return offer_held_early(pool->offer, ids, pool->answered_us);
	return offer_held(pool->offer, ids, holder, pool->answered_us);
}

static gboolean take_silence(Pool *pool, const GError *error)
{
	pool->answered_us = g_get_monotonic_time();
	return offer_silent(pool->offer, error->message,
			    holders_is_away(pool->host->holders, error), pool->answered_us);
}

static void on_holdings(Holdings *holdings, const GError *error, gpointer data)
{
	Pool *pool = data;

	pool->asked_from_us = -1;
	say_silence(pool, error);
	if (holdings != NULL ? take_holdings(pool, holdings) : take_silence(pool, error))
		pool_change_mode(pool);
	pool_flush(pool);
}

void pool_ask(Pool *pool)
{
	gint64 from_us = offer_asks_from(pool->offer, pool->answered_us);

	if (from_us == pool->asked_from_us)
		return;
	holders_forget(pool->host->holders, pool);
	pool->asked_from_us = from_us;
	if (from_us >= 0)
		holders_ask(pool->host->holders, from_us, on_holdings, pool);
}
