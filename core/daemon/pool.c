/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/pool_private.h"

#include <string.h>

#include "edge/backend.h"
#include "edge/log.h"
#include "model/exclusive.h"
#include "model/selector.h"
#include "model/text.h"

/* How long the clock waits for others that are due soon: they share one message. */
#define SLACK_US (50 * G_GINT64_CONSTANT(1000))

static gint64 delay_us(double override_s, double setting_s)
{
	return (gint64)((override_s >= 0 ? override_s : setting_s) * G_USEC_PER_SEC + 0.5);
}

static struct offer_rules rules_of(const ResourceConfig *config, const struct pool_host *host)
{
	const struct health_overrides *own = &config->health;
	const Settings *settings = host->settings;

	return (struct offer_rules){
		.health =
			{
				.down_delay_us =
					delay_us(own->down_delay_s, settings->down_delay_s),
				.up_delay_us = delay_us(own->up_delay_s, settings->up_delay_s),
				.unknown_limit_us =
					delay_us(own->unknown_limit_s, settings->unknown_limit_s),
				.missing_scans =
					(guint)(own->missing_scans >= 0 ? own->missing_scans
									: settings->missing_scans),
				.assume_initial = own->assume_initial >= 0
							  ? own->assume_initial
							  : settings->assume_initial,
			},
		.retire_after_us = delay_us(-1, settings->retire_after_s),
		.exclusive = mode_label_is_exclusive(host->mode_label),
		.undecided = !mode_label_is_known(host->mode_label),
	};
}

/* --- life --- */

/* What is right here and has consequences that its author may not expect. */
static void pool_say_config(const ResourceConfig *config, const Settings *settings)
{
	if (config->mode == RESOURCE_AUTO && settings->mode_label_file[0] == '\0')
		log_warning(
			config->full_name,
			"its mode is \"auto\", and mode_label_file is not set: it stays shared");
	if (strstr(config->prefix, "huawei.com") != NULL)
		log_info(config->full_name,
			 "ascend-for-volcano (seen up to v26.1) takes every resource with "
			 "'huawei.com' in its name for an NPU: for pods that it schedules use "
			 "another resourcePrefix");
}

Pool *pool_new(const struct pool_host *host, ResourceConfig *config)
{
	Pool *pool = g_new0(Pool, 1);
	struct offer_rules rules = rules_of(config, host);
	const struct hca_probe probe = {node_check_look, host->node_check};

	pool->host = host;
	pool->config = resource_config_ref(config);
	pool->offer = offer_new(config, &rules);
	resource_set_probe(offer_resource(pool->offer), &probe);
	pool->asked_from_us = -1;
	pool->answered_us = -1;
	pool_say_config(config, host->settings);
	pool->double_watch =
		double_watch_new(host->holders, config->full_name, DOUBLE_WATCH_DELAY_MS);
	pool->plugin = kubelet_add(
		host->kubelet, config->full_name,
		config->mode == RESOURCE_SHARED ? &pool_shared_ops : &pool_exclusive_ops, pool);
	return pool;
}

void pool_free(Pool *pool)
{
	if (pool == NULL)
		return;
	g_clear_handle_id(&pool->tick, g_source_remove);
	holders_forget(pool->host->holders, pool);
	plugin_remove(pool->plugin);
	device_info_dir_free(pool->device_info);
	double_watch_free(pool->double_watch);
	offer_free(pool->offer);
	resource_config_unref(pool->config);
	g_free(pool->barred);
	g_free(pool->waiting);
	g_free(pool->trouble);
	g_free(pool->ask_trouble);
	g_free(pool);
}

const ResourceConfig *pool_config(const Pool *pool)
{
	return pool->config;
}

const Resource *pool_resource(const Pool *pool)
{
	return offer_resource(pool->offer);
}

const Offer *pool_offer(const Pool *pool)
{
	return pool->offer;
}

Plugin *pool_plugin(const Pool *pool)
{
	return pool->plugin;
}

char *pool_trouble(const Pool *pool)
{
	if (pool->refused)
		return g_strdup("its backend cannot be used");
	if (pool->barred != NULL || pool->waiting != NULL)
		return g_strdup(pool->barred != NULL ? pool->barred : pool->waiting);
	return resource_trouble(pool_resource(pool));
}

/* --- what is said --- */

/* The problem of the only HCA, if the resource's trouble is about to be told: that has
 * the same sentence. */
static const char *pool_told_twice(const Pool *pool, gboolean publishes)
{
	GPtrArray *hcas = resource_hcas(pool_resource(pool));
	g_autofree char *trouble = NULL;

	/* Most often it is asked for nothing: after each look at each device. */
	if (!publishes || hcas->len != 1 || pool->barred != NULL)
		return NULL;
	trouble = resource_trouble(pool_resource(pool));
	if (trouble == NULL || g_strcmp0(trouble, pool->trouble) == 0)
		return NULL;
	return ((const struct hca *)g_ptr_array_index(hcas, 0))->missing;
}

static void pool_say_news(Pool *pool, gint64 now_us, gboolean publishes)
{
	const char *twice = pool_told_twice(pool, publishes);
	g_autoptr(GPtrArray) list = news_new();

	offer_tell(pool->offer, now_us, list);
	for (guint i = list->len; twice != NULL && i > 0; i--) {
		const struct news *news = g_ptr_array_index(list, i - 1);

		if (news->level == NEWS_INFO && strstr(news->text, twice) != NULL)
			g_ptr_array_remove_index(list, i - 1);
	}
	log_news(pool->config->full_name, list);
}

/* Says once why the resource has nothing to offer, and once that it has again. Without any
 * HCA it is a matter of selection.c. */
static void pool_say_trouble(Pool *pool)
{
	g_autofree char *trouble = resource_trouble(pool_resource(pool));

	if (pool->refused || pool->barred != NULL || g_strcmp0(trouble, pool->trouble) == 0)
		return;
	if (trouble != NULL && resource_hcas(pool_resource(pool))->len > 0)
		log_warning(pool->config->full_name, "offers nothing: %s", trouble);
	else if (trouble == NULL)
		log_info(pool->config->full_name, "has devices to offer again");
	g_free(pool->trouble);
	pool->trouble = g_steal_pointer(&trouble);
}

/* --- the clock --- */

static gboolean pool_on_tick(gpointer data)
{
	Pool *pool = data;

	pool->tick = 0;
	offer_tick(pool->offer, g_get_monotonic_time());
	pool_flush(pool);
	return G_SOURCE_REMOVE;
}

/* Others that are due a moment later are waited for: what happened at the same time is
 * told at the same time. */
static void pool_arm_tick(Pool *pool, gint64 now_us)
{
	gint64 deadline_us = offer_deadline(pool->offer);
	gint64 wait_us = MAX(deadline_us - now_us, 0);

	g_clear_handle_id(&pool->tick, g_source_remove);
	if (deadline_us < 0)
		return;
	wait_us += MIN(wait_us / 20, SLACK_US);
	pool->tick = g_timeout_add((guint)(wait_us / 1000 + 1), pool_on_tick, pool);
}

/* --- publishing --- */

static void pool_say_first(const Pool *pool, const Snapshot *list)
{
	g_autofree char *hcas = text_count(resource_hcas(pool_resource(pool))->len, "HCA");
	g_autofree char *slots =
		text_count(list->slots->len, list->units != NULL ? "device" : "slot");

	log_info(pool->config->full_name, "%s, %s, %zu of them healthy", hcas, slots,
		 snapshot_n_healthy(list));
}

static void pool_publish(Pool *pool, Snapshot *list)
{
	if (!pool->published) {
		pool_clean_device_info(pool, list);
		pool_say_extra_devices(pool);
		pool_say_first(pool, list);
	}
	pool->published = TRUE;
	pool_say_trouble(pool);
	node_check_forget(pool->host->node_check);
	plugin_publish(pool->plugin, list);
	state_touch(pool->host->state);
}

void pool_flush(Pool *pool)
{
	gint64 now_us = g_get_monotonic_time();
	g_autoptr(Snapshot) list = offer_take_list(pool->offer, now_us);

	pool_say_news(pool, now_us, list != NULL);
	if (list != NULL)
		pool_publish(pool, list);
	pool_arm_tick(pool, now_us);
	pool_ask(pool);
	pool->host->changed(pool->host->data);
	if (offer_is_over(pool->offer))
		pool->host->over(pool, pool->host->data);
}

/* --- configuration --- */

static int pool_match(const Device *device, const char *key, const char *value, gpointer data)
{
	return backend_match(data, device, key, value);
}

static gboolean pool_selects(const Device *device, gpointer data)
{
	const Pool *pool = data;

	return pool->vtable == NULL ||
	       selector_judge(pool->config, device, pool_match, (gpointer)pool->vtable, NULL);
}

static gboolean selects_nothing(const Device *device G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
	return FALSE;
}

void pool_configure(Pool *pool, ResourceConfig *config)
{
	gboolean moved = strcmp(config->bus, pool->config->bus) != 0;
	struct offer_rules rules = rules_of(config, pool->host);

	resource_config_ref(config);
	resource_config_unref(pool->config);
	pool->config = config;
	if (moved)
		pool->vtable = NULL;
	offer_configure(pool->offer, config, &rules, moved ? selects_nothing : pool_selects, pool,
			g_get_monotonic_time());
}

void pool_take_settings(Pool *pool)
{
	struct offer_rules rules = rules_of(pool->config, pool->host);

	offer_set_rules(pool->offer, &rules, g_get_monotonic_time());
	pool_flush(pool);
}

gboolean pool_is_leaving(const Pool *pool)
{
	return offer_is_leaving(pool->offer);
}

void pool_follow_label(Pool *pool)
{
	gboolean exclusive = mode_label_is_exclusive(pool->host->mode_label);

	if (offer_want_exclusive(pool->offer, exclusive, g_get_monotonic_time()))
		pool_change_mode(pool);
	pool_flush(pool);
}

void pool_leave(Pool *pool)
{
	offer_leave(pool->offer);
}

/* --- its bus --- */

void pool_refuse(Pool *pool)
{
	pool->refused = TRUE;
	offer_give_up(pool->offer, g_get_monotonic_time());
}

void pool_bar(Pool *pool, const char *why)
{
	if (pool->barred != NULL && why == NULL)
		log_info(pool->config->full_name, "nothing bars it any more");
	g_free(pool->barred);
	pool->barred = g_strdup(why);
	offer_refuse(pool->offer, why != NULL);
}

void pool_set_waiting(Pool *pool, const char *why)
{
	g_free(pool->waiting);
	pool->waiting = g_strdup(why);
}

gboolean pool_competes(const Pool *pool)
{
	return !pool->refused && pool->barred == NULL && !offer_is_leaving(pool->offer);
}

GPtrArray *pool_select(Pool *pool, const struct rdmadp_backend *vtable, GPtrArray *devices)
{
	GPtrArray *taken = g_ptr_array_new();

	pool->refused = FALSE;
	pool->vtable = vtable;
	for (guint i = 0; i < devices->len; i++)
		if (pool_selects(g_ptr_array_index(devices, i), pool))
			g_ptr_array_add(taken, g_ptr_array_index(devices, i));
	return taken;
}

GPtrArray *pool_shown_devices(const Pool *pool)
{
	const Snapshot *shown = offer_shown(pool->offer);
	GPtrArray *hcas = resource_hcas(pool_resource(pool));
	GPtrArray *devices = g_ptr_array_new();

	for (guint i = 0; shown != NULL && i < hcas->len; i++) {
		Device *device = ((const struct hca *)g_ptr_array_index(hcas, i))->device;

		if (snapshot_find(shown, exclusive_id(device)) != NULL)
			g_ptr_array_add(devices, device);
	}
	return devices;
}

/* Why a device that is on the bus is not taken. */
static char *pool_refusal(const Pool *pool, const Device *device)
{
	struct refusal refusal = {0};
	char *text;

	if (selector_judge(pool->config, device, pool_match, (gpointer)pool->vtable, &refusal))
		return g_strdup("no longer its own: another resource or a pod of one has it, or "
				"its virtual functions are given away");
	text = g_strdup_printf("no longer selected: %s: has %s, wanted %s", refusal.key,
			       refusal.seen, refusal.wanted);
	refusal_clear(&refusal);
	return text;
}

/* An HCA that is not taken any more is gone, or there and refused: people want to know. */
static void pool_note_refusals(const Pool *pool, GPtrArray *taken, GPtrArray *all)
{
	Resource *resource = offer_resource(pool->offer);
	GPtrArray *hcas = resource_hcas(resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		resource_set_refusal(resource, device_identity(hca->device), NULL);
	}
	for (guint i = 0; i < all->len; i++) {
		const Device *device = g_ptr_array_index(all, i);
		g_autofree char *why = NULL;

		if (resource_find(resource, device_identity(device)) == NULL ||
		    g_ptr_array_find(taken, device, NULL))
			continue;
		why = pool_refusal(pool, device);
		resource_set_refusal(resource, device_identity(device), why);
	}
}

void pool_take(Pool *pool, GPtrArray *devices, GPtrArray *all, enum offer_scan scan)
{
	pool_note_refusals(pool, devices, all);
	offer_scanned(pool->offer, devices, scan, g_get_monotonic_time());
}

void pool_observe(Pool *pool, Device *device, const struct rdmadp_health *health)
{
	offer_observe(pool->offer, device_identity(device), health, g_get_monotonic_time());
}

void pool_observe_stuck(Pool *pool, Device *device)
{
	offer_observe_stuck(pool->offer, device_identity(device), g_get_monotonic_time());
}

void pool_poll_begin(Pool *pool)
{
	offer_poll(pool->offer, g_get_monotonic_time());
}

void pool_first_look_over(Pool *pool)
{
	offer_first_look_over(pool->offer, g_get_monotonic_time());
}

/* --- across a restart --- */

void pool_restore(Pool *pool, const struct saved_resource *saved)
{
	offer_restore(pool->offer, saved->hcas, saved->ids, g_get_monotonic_time());
}

void pool_save(const Pool *pool, SavedState *state)
{
	saved_state_add_resource(state, pool->config, offer_save(pool->offer),
				 offer_shown(pool->offer));
}
