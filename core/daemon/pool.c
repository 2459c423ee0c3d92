/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/pool.h"

#include <string.h>

#include "edge/backend.h"
#include "edge/device_info.h"
#include "edge/log.h"
#include "model/exclusive.h"
#include "model/health.h"
#include "model/selector.h"

struct pool {
	const struct pool_host *host;
	ResourceConfig *config;
	Resource *resource;
	Plugin *plugin;
	DeviceInfoDir *device_info; /* NULL: none are written */
	void (*rescan)(gpointer data);
	gpointer rescan_data;
	struct health_rules rules;
	GHashTable *trackers; /* identity -> struct health * */
	gboolean refused;
	gboolean published;
	gboolean dirty; /* something changed since the last list */
	guint tick; /* source of the next health_tick, or 0 */
	char *trouble; /* what was last said about having nothing to offer */
};

static void tracker_free(gpointer data)
{
	health_clear(data);
	g_free(data);
}

static gint64 delay_us(double override_s, double setting_s)
{
	return (gint64)((override_s >= 0 ? override_s : setting_s) * G_USEC_PER_SEC + 0.5);
}

static void rules_set(struct health_rules *rules, const struct health_overrides *overrides,
		      const Settings *settings)
{
	rules->down_delay_us = delay_us(overrides->down_delay_s, settings->down_delay_s);
	rules->up_delay_us = delay_us(overrides->up_delay_s, settings->up_delay_s);
	rules->unknown_limit_us = delay_us(overrides->unknown_limit_s, settings->unknown_limit_s);
	rules->missing_scans = (guint)(overrides->missing_scans >= 0 ? overrides->missing_scans
								     : settings->missing_scans);
	rules->assume_initial = overrides->assume_initial >= 0 ? overrides->assume_initial
							       : settings->assume_initial;
}

static char *pool_resolve(const struct char_file *file, gpointer data, GError **error)
{
	Pool *pool = data;
	char *path = node_check_resolve(pool->host->node_check, file, error);

	/* What the last scan saw is no longer so: look again soon. */
	if (path == NULL || strcmp(path, file->host_path) != 0)
		pool->rescan(pool->rescan_data);
	return path;
}

static void pool_left_out(const char *text, gpointer data)
{
	Pool *pool = data;

	log_warning(pool->config->full_name, "Allocate: %s", text);
}

static gboolean pool_add_extra_devices(Pool *pool, Allocation *allocation, GError **error)
{
	g_auto(GStrv) paths = NULL;

	if (pool->config->extra_devices == NULL)
		return TRUE;
	paths = node_check_expand(pool->host->node_check,
				  (const char *const *)pool->config->extra_devices, error);
	for (gsize i = 0; paths != NULL && paths[i] != NULL; i++)
		allocation_add_device(allocation, paths[i]);
	return paths != NULL;
}

/* Tells the container and the network plugins which devices were given. */
static void pool_describe(Pool *pool, Allocation *allocation)
{
	g_autoptr(GError) error = NULL;

	device_info_add_env(allocation, pool->config);
	if (pool->device_info != NULL &&
	    !device_info_dir_write(pool->device_info, allocation, &error))
		log_warning(pool->config->full_name, "Allocate: %s", error->message);
}

static Allocation *pool_allocate(Snapshot *snapshot, const char *const *ids, gsize n_ids,
				 gpointer data, GError **error)
{
	Pool *pool = data;
	const struct file_checker checker = {
		.resolve = pool_resolve,
		.left_out = pool_left_out,
		.data = pool,
	};
	g_autoptr(Allocation) allocation =
		resource_compose(pool->config, snapshot, ids, n_ids, &checker, error);

	if (allocation == NULL || !pool_add_extra_devices(pool, allocation, error))
		return NULL;
	if (allocation->grants->len > 0)
		pool_describe(pool, allocation);
	allocation_finish(allocation);
	return g_steal_pointer(&allocation);
}

static GPtrArray *pool_prefer(Snapshot *snapshot, const struct preference *wanted, gpointer data)
{
	const Pool *pool = data;

	/* All slots of a shared resource are alike. */
	if (snapshot->units == NULL)
		return NULL;
	return exclusive_prefer(snapshot, (const char *const *)wanted->available,
				(const char *const *)wanted->must, (gsize)wanted->size,
				pool->config->allocation_policy);
}

static const struct plugin_ops shared_ops = {.allocate = pool_allocate};
static const struct plugin_ops exclusive_ops = {.allocate = pool_allocate, .prefer = pool_prefer};

Pool *pool_new(const struct pool_host *host, ResourceConfig *config, void (*rescan)(gpointer data),
	       gpointer rescan_data)
{
	Pool *pool = g_new0(Pool, 1);

	pool->host = host;
	pool->config = resource_config_ref(config);
	pool->resource = resource_new(resource_config_ref(config));
	pool->rescan = rescan;
	pool->rescan_data = rescan_data;
	rules_set(&pool->rules, &config->health, host->settings);
	pool->trackers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, tracker_free);
	if (config->mode != RESOURCE_SHARED && host->settings->devinfo_dir[0] != '\0')
		pool->device_info =
			device_info_dir_new(host->settings->devinfo_dir, config->full_name);
	pool->plugin =
		kubelet_add(host->kubelet, config->full_name,
			    config->mode == RESOURCE_SHARED ? &shared_ops : &exclusive_ops, pool);
	return pool;
}

void pool_free(Pool *pool)
{
	if (pool == NULL)
		return;
	if (pool->tick != 0)
		g_source_remove(pool->tick);
	if (pool->plugin != NULL)
		plugin_remove(pool->plugin);
	device_info_dir_free(pool->device_info);
	g_hash_table_unref(pool->trackers);
	resource_free(pool->resource);
	resource_config_unref(pool->config);
	g_free(pool->trouble);
	g_free(pool);
}

const ResourceConfig *pool_config(const Pool *pool)
{
	return pool->config;
}

const Resource *pool_resource(const Pool *pool)
{
	return pool->resource;
}

Plugin *pool_plugin(const Pool *pool)
{
	return pool->plugin;
}

/* Says once why the resource has nothing to offer, and once that it has again. */
static void pool_say_trouble(Pool *pool)
{
	g_autofree char *trouble = resource_trouble(pool->resource);

	if (pool->refused || g_strcmp0(trouble, pool->trouble) == 0)
		return;
	if (trouble != NULL)
		log_warning(pool->config->full_name, "offers nothing: %s", trouble);
	else
		log_info(pool->config->full_name, "has devices to offer again");
	g_free(pool->trouble);
	pool->trouble = g_steal_pointer(&trouble);
}

static void pool_publish(Pool *pool)
{
	g_autoptr(Snapshot) snapshot = resource_snapshot(pool->resource);

	if (!pool->published)
		log_info(pool->config->full_name, "%u HCAs, %u slots, %zu of them healthy",
			 resource_hcas(pool->resource)->len, snapshot->slots->len,
			 snapshot_n_healthy(snapshot));
	pool->published = TRUE;
	pool->dirty = FALSE;
	pool_say_trouble(pool);
	node_check_forget(pool->host->node_check);
	plugin_publish(pool->plugin, snapshot);
	state_touch(pool->host->state);
}

static struct health *pool_tracker(Pool *pool, const char *identity)
{
	struct health *tracker = g_hash_table_lookup(pool->trackers, identity);

	if (tracker == NULL) {
		tracker = g_new0(struct health, 1);
		g_hash_table_insert(pool->trackers, g_strdup(identity), tracker);
	}
	return tracker;
}

/* Hands what a tracker says to the resource; TRUE if that is news. */
static void pool_tell(Pool *pool, const char *identity, const struct health *tracker)
{
	gboolean good = health_is_good(tracker);

	if (pool->published)
		log_message(good ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, pool->config->full_name,
			    "HCA '%s' is %s%s%s", identity, good ? "Healthy" : "Unhealthy",
			    good || tracker->reason == NULL ? "" : ": ",
			    good || tracker->reason == NULL ? "" : tracker->reason);
	resource_set_health(pool->resource, identity, good, good ? NULL : tracker->reason);
}

static gboolean pool_on_tick(gpointer data);

/* Arms the timer for the earliest tracker that time alone will change. */
static void pool_arm_tick(Pool *pool)
{
	gint64 earliest = -1;
	gint64 now = g_get_monotonic_time();
	GHashTableIter iter;
	gpointer tracker;

	g_hash_table_iter_init(&iter, pool->trackers);
	while (g_hash_table_iter_next(&iter, NULL, &tracker)) {
		gint64 deadline = health_deadline(tracker, &pool->rules);

		if (deadline >= 0 && (earliest < 0 || deadline < earliest))
			earliest = deadline;
	}
	if (pool->tick != 0)
		g_source_remove(pool->tick);
	pool->tick = 0;
	if (earliest >= 0)
		pool->tick = g_timeout_add((guint)(MAX(earliest - now, 0) / 1000 + 1), pool_on_tick,
					   pool);
}

static gboolean pool_on_tick(gpointer data)
{
	Pool *pool = data;
	gint64 now = g_get_monotonic_time();
	gboolean changed = FALSE;
	gpointer identity;
	gpointer tracker;
	GHashTableIter iter;

	pool->tick = 0;
	g_hash_table_iter_init(&iter, pool->trackers);
	while (g_hash_table_iter_next(&iter, &identity, &tracker)) {
		if (!health_tick(tracker, &pool->rules, now))
			continue;
		pool_tell(pool, identity, tracker);
		changed = TRUE;
	}
	if (changed)
		pool_publish(pool);
	pool_arm_tick(pool);
	return G_SOURCE_REMOVE;
}

static gboolean pool_note(Pool *pool, const char *identity, enum health_observed observed,
			  gboolean link, const char *reason)
{
	struct health *tracker = pool_tracker(pool, identity);

	if (pool->config->health_policy == HEALTH_OFF) {
		tracker->since_us = 1; /* looked at: nothing to wait for */
		return FALSE;
	}
	if (!health_observe(tracker, &pool->rules, observed, link, reason, g_get_monotonic_time()))
		return FALSE;
	pool_tell(pool, identity, tracker);
	return TRUE;
}

/* TRUE while an HCA that counts has not been looked at even once: the list waits for
 * that, so that it does not say Healthy first and Unhealthy a moment later. */
static gboolean pool_is_looking(Pool *pool)
{
	GPtrArray *hcas = resource_hcas(pool->resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		if (hca->present && hca->ready &&
		    !g_hash_table_contains(pool->trackers, device_identity(hca->device)))
			return TRUE;
	}
	return FALSE;
}

/* After observations and scans: sends what changed once every HCA was looked at. */
static void pool_settle(Pool *pool, gboolean changed)
{
	pool_arm_tick(pool);
	pool->dirty |= changed || !pool->published;
	if (pool->dirty && !pool_is_looking(pool))
		pool_publish(pool);
}

/* The reason for which files make an HCA bad, or NULL. */
static char *pool_files_reason(const struct hca *hca)
{
	return hca->present && hca->ready && hca->missing != NULL
		       ? g_strconcat("files: ", hca->missing, NULL)
		       : NULL;
}

static gboolean pool_note_health(Pool *pool, const struct hca *hca,
				 const struct rdmadp_health *health)
{
	const char *identity = device_identity(hca->device);
	g_autofree char *files = pool_files_reason(hca);

	if (files != NULL)
		return pool_note(pool, identity, HEALTH_OBSERVED_BAD, FALSE, files);
	if (health->state == RDMADP_HEALTHY)
		return pool_note(pool, identity, HEALTH_OBSERVED_GOOD, FALSE, NULL);
	if (health->state != RDMADP_UNHEALTHY)
		return pool_note(pool, identity, HEALTH_OBSERVED_UNREADABLE, FALSE, NULL);
	if (health->reason == RDMADP_REASON_GONE)
		return pool_note(pool, identity, HEALTH_OBSERVED_ABSENT, FALSE, health->text);
	return pool_note(pool, identity, HEALTH_OBSERVED_BAD, health->reason == RDMADP_REASON_LINK,
			 health->text);
}

void pool_observe(Pool *pool, Device *device, const struct rdmadp_health *health)
{
	const struct hca *hca = resource_find(pool->resource, device_identity(device));

	if (hca != NULL)
		pool_settle(pool, pool_note_health(pool, hca, health));
}

void pool_observe_stuck(Pool *pool, Device *device)
{
	static const struct rdmadp_health unknown = {.size = sizeof(unknown)};

	pool_observe(pool, device, &unknown);
}

/* Feeds every HCA that the last scan did not find. */
static gboolean pool_note_absent(Pool *pool, enum health_observed observed)
{
	GPtrArray *hcas = resource_hcas(pool->resource);
	gboolean changed = FALSE;

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		if (!hca->present)
			changed |= pool_note(pool, device_identity(hca->device), observed, FALSE,
					     "gone: the device is not on the bus any more");
	}
	return changed;
}

/* HCAs that a former process has offered keep their ids. */
void pool_refuse(Pool *pool)
{
	GPtrArray *hcas = resource_hcas(pool->resource);

	pool->refused = TRUE;
	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		pool_note(pool, device_identity(hca->device), HEALTH_OBSERVED_BAD, FALSE,
			  "its backend cannot be used");
	}
	pool_settle(pool, TRUE);
}

void pool_poll_begin(Pool *pool)
{
	pool_settle(pool, pool_note_absent(pool, HEALTH_OBSERVED_ABSENT));
}

static int pool_match(const Device *device, const char *key, const char *value, gpointer data)
{
	return backend_match(data, device, key, value);
}

static void pool_note_files(Pool *pool)
{
	GPtrArray *hcas = resource_hcas(pool->resource);

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);
		g_autofree char *files = pool_files_reason(hca);

		if (files != NULL)
			pool_note(pool, device_identity(hca->device), HEALTH_OBSERVED_BAD, FALSE,
				  files);
	}
}

void pool_scanned(Pool *pool, const struct rdmadp_backend *vtable, GPtrArray *devices,
		  gboolean event_driven)
{
	g_autoptr(GPtrArray) taken = g_ptr_array_new();

	pool->refused = FALSE;
	for (guint i = 0; i < devices->len; i++) {
		Device *device = g_ptr_array_index(devices, i);

		if (selector_judge(pool->config, device, pool_match, (gpointer)vtable, NULL))
			g_ptr_array_add(taken, device);
	}
	resource_set_devices(pool->resource, taken);
	if (event_driven)
		pool_note_absent(pool, HEALTH_OBSERVED_REMOVED);
	pool_note_files(pool);
	/* Even without a change of health, files may have come or gone. */
	pool_settle(pool, TRUE);
}

void pool_first_look_over(Pool *pool)
{
	GPtrArray *hcas = resource_hcas(pool->resource);
	gboolean changed = FALSE;

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);
		const char *identity = device_identity(hca->device);

		if (hca->present && hca->ready && !g_hash_table_contains(pool->trackers, identity))
			changed |=
				pool_note(pool, identity, HEALTH_OBSERVED_UNREADABLE, FALSE, NULL);
	}
	pool_settle(pool, changed);
}

/* --- across a restart --- */

/* What was told stays so until it is looked at; then the usual delays apply, so that a
 * restart of the daemon by itself changes nothing that the kubelet sees. */
void pool_restore(Pool *pool, const struct saved_resource *saved)
{
	gint64 now = g_get_monotonic_time();

	resource_restore(pool->resource, saved->hcas);
	for (guint i = 0; i < saved->hcas->len; i++) {
		const struct saved_hca *hca = g_ptr_array_index(saved->hcas, i);

		health_restore(pool_tracker(pool, device_identity(hca->device)), hca->healthy,
			       hca->was_good, hca->reason, now);
	}
	pool_settle(pool, TRUE);
}

void pool_save(const Pool *pool, SavedState *state)
{
	GPtrArray *hcas = resource_save(pool->resource);

	for (guint i = 0; i < hcas->len; i++) {
		struct saved_hca *hca = g_ptr_array_index(hcas, i);
		const struct health *tracker =
			g_hash_table_lookup(pool->trackers, device_identity(hca->device));

		hca->was_good = tracker != NULL && tracker->was_good;
	}
	saved_state_add_resource(state, pool->config, hcas);
}
