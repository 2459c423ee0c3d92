/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/roster.h"

#include <string.h>

#include "daemon/events.h"
#include "edge/log.h"
#include "edge/startup.h"

/* How long a resource that was taken away stays away before it may come back: a kubelet
 * that hears of the new one before it has seen the end of the old one ends both. */
#define REST_MS 1500

struct roster {
	struct roster_host host;
	struct pool_host pool_host;
	char *program; /* this executable, for rehearsals */
	ModeLabel *mode_label;
	Custodian *custodian;
	Events *events;
	GPtrArray *buses; /* Bus * */
	GPtrArray *pools; /* Pool * */
	guint reaper; /* source that takes away what is over, or 0 */
	GHashTable *resting; /* name of a resource -> gint64 *, until when */
	guint rest_timer;
};

/* --- buses --- */

static Bus *find_bus(const Roster *roster, const char *name)
{
	for (guint i = 0; i < roster->buses->len; i++)
		if (strcmp(bus_name(g_ptr_array_index(roster->buses, i)), name) == 0)
			return g_ptr_array_index(roster->buses, i);
	return NULL;
}

static void set_periods(const Roster *roster, Bus *bus)
{
	const Configuration *configuration = roster->host.configuration;

	bus_set_periods(bus, configuration_file(configuration)->rescan_s,
			configuration_poll_s(configuration));
}

static Bus *find_or_add_bus(Roster *roster, const char *name)
{
	const struct bus_host bus_host = {
		.settings = configuration_settings(roster->host.configuration),
		.state = roster->host.state,
		.custodian = roster->custodian,
		.program = roster->program,
	};
	Bus *bus = find_bus(roster, name);

	if (bus != NULL)
		return bus;
	bus = bus_new(&bus_host, name);
	set_periods(roster, bus);
	g_ptr_array_add(roster->buses, bus);
	return bus;
}

/* A resource that rests will want it again. */
static gboolean is_configured(const Roster *roster, const char *bus)
{
	const ResourceFile *file = configuration_file(roster->host.configuration);

	for (guint i = 0; i < file->resources->len; i++)
		if (strcmp(((const ResourceConfig *)g_ptr_array_index(file->resources, i))->bus,
			   bus) == 0)
			return TRUE;
	return FALSE;
}

/* What hangs in a backend is left behind: nothing waits for it here. */
static void remove_idle_buses(Roster *roster)
{
	for (guint i = roster->buses->len; i > 0; i--) {
		Bus *bus = g_ptr_array_index(roster->buses, i - 1);

		if (bus_n_pools(bus) > 0 || is_configured(roster, bus_name(bus)))
			continue;
		log_info("rdmadp", "no resource is on the bus '%s' any more: it is left",
			 bus_name(bus));
		g_ptr_array_remove_index(roster->buses, i - 1);
		bus_stop(bus);
		bus_free(bus, 0);
	}
}

static void settle_buses(const Roster *roster)
{
	for (guint i = 0; i < roster->buses->len; i++)
		bus_settle(g_ptr_array_index(roster->buses, i));
}

/* --- resources --- */

Pool *roster_find_pool(const Roster *roster, const char *full_name)
{
	for (guint i = 0; i < roster->pools->len; i++) {
		Pool *pool = g_ptr_array_index(roster->pools, i);

		if (strcmp(pool_config(pool)->full_name, full_name) == 0)
			return pool;
	}
	return NULL;
}

static gboolean on_rested(gpointer data)
{
	Roster *roster = data;

	roster->rest_timer = 0;
	roster_apply(roster);
	return G_SOURCE_REMOVE;
}

static void let_rest(Roster *roster, const Pool *pool)
{
	gint64 until_us = g_get_monotonic_time() + (gint64)REST_MS * 1000;

	g_hash_table_replace(roster->resting, g_strdup(pool_config(pool)->full_name),
			     g_memdup2(&until_us, sizeof(until_us)));
}

/* TRUE if it has to be waited for, which is taken care of. */
static gboolean is_resting(Roster *roster, const char *full_name)
{
	const gint64 *until_us = g_hash_table_lookup(roster->resting, full_name);
	gint64 wait_us = until_us == NULL ? 0 : *until_us - g_get_monotonic_time();

	if (wait_us <= 0) {
		g_hash_table_remove(roster->resting, full_name);
		return FALSE;
	}
	if (roster->rest_timer == 0)
		roster->rest_timer = g_timeout_add((guint)(wait_us / 1000 + 1), on_rested, roster);
	return TRUE;
}

static Pool *add_pool(Roster *roster, ResourceConfig *config)
{
	Pool *pool = pool_new(&roster->pool_host, config);
	struct saved_resource *saved = state_take_resource(roster->host.state, config);

	if (saved != NULL)
		pool_restore(pool, saved);
	saved_resource_free(saved);
	bus_add_pool(find_or_add_bus(roster, config->bus), pool);
	return pool;
}

/* The kubelet was told another way to allocate: nothing of the old one may be left when
 * the new one begins. */
static gboolean is_other_mode(const Pool *pool, const ResourceConfig *config)
{
	return (pool_config(pool)->mode == RESOURCE_SHARED) != (config->mode == RESOURCE_SHARED);
}

static void dismiss_pool(Roster *roster, Pool *pool)
{
	Bus *bus = find_bus(roster, pool_config(pool)->bus);

	if (pool_is_leaving(pool))
		return;
	if (bus != NULL)
		bus_remove_pool(bus, pool);
	pool_leave(pool);
	pool_flush(pool);
}

static void change_pool(Roster *roster, Pool *pool, ResourceConfig *config)
{
	Bus *before = pool_is_leaving(pool) ? NULL : find_bus(roster, pool_config(pool)->bus);
	Bus *after = find_or_add_bus(roster, config->bus);

	log_info(config->full_name, "its configuration has changed");
	pool_configure(pool, config);
	if (before == after)
		return;
	if (before != NULL)
		bus_remove_pool(before, pool);
	bus_add_pool(after, pool);
}

/* The pool that serves the entry from now on; NULL: not yet. */
static Pool *apply_entry(Roster *roster, ResourceConfig *config)
{
	Pool *pool = roster_find_pool(roster, config->full_name);

	if (pool == NULL)
		return is_resting(roster, config->full_name) ? NULL : add_pool(roster, config);
	if (is_other_mode(pool, config)) {
		if (!pool_is_leaving(pool))
			log_warning(config->full_name,
				    "its mode has changed: it offers nothing until no pod can hold "
				    "one of its devices any more");
		dismiss_pool(roster, pool);
	} else if (pool_is_leaving(pool) || !resource_config_equal(pool_config(pool), config)) {
		change_pool(roster, pool, config);
	}
	return pool;
}

static void dismiss_others(Roster *roster, GPtrArray *pools)
{
	for (guint i = 0; i < roster->pools->len; i++) {
		Pool *pool = g_ptr_array_index(roster->pools, i);

		if (g_ptr_array_find(pools, pool, NULL))
			continue;
		if (!pool_is_leaving(pool))
			log_info(pool_config(pool)->full_name,
				 "is not configured any more: its devices are Unhealthy until no "
				 "pod can hold them");
		dismiss_pool(roster, pool);
		g_ptr_array_add(pools, pool);
	}
}

void roster_apply(Roster *roster)
{
	const ResourceFile *file = configuration_file(roster->host.configuration);
	GPtrArray *pools = g_ptr_array_new();

	mode_label_configure(roster->mode_label,
			     configuration_settings(roster->host.configuration));
	for (guint i = 0; i < roster->buses->len; i++)
		set_periods(roster, g_ptr_array_index(roster->buses, i));
	for (guint i = 0; i < roster->pools->len; i++)
		pool_take_settings(g_ptr_array_index(roster->pools, i));
	for (guint i = 0; i < file->resources->len; i++) {
		Pool *pool = apply_entry(roster, g_ptr_array_index(file->resources, i));

		if (pool != NULL)
			g_ptr_array_add(pools, pool);
	}
	dismiss_others(roster, pools);
	g_ptr_array_unref(roster->pools);
	roster->pools = pools;
	for (guint i = 0; i < roster->buses->len; i++)
		bus_sort_pools(g_ptr_array_index(roster->buses, i), pools);
	remove_idle_buses(roster);
	/* Not before all of them are as they are to be: the first in the file comes first. */
	settle_buses(roster);
	state_touch(roster->host.state);
	roster->host.changed(roster->host.data);
}

/* --- what is over --- */

/* What was only waited for can begin now. */
static gboolean on_reap(gpointer data)
{
	Roster *roster = data;

	roster->reaper = 0;
	for (guint i = roster->pools->len; i > 0; i--) {
		Pool *pool = g_ptr_array_index(roster->pools, i - 1);

		if (!offer_is_over(pool_offer(pool)))
			continue;
		log_info(pool_config(pool)->full_name, "no pod can hold it any more: it is gone");
		g_ptr_array_remove_index(roster->pools, i - 1);
		let_rest(roster, pool);
		pool_free(pool);
	}
	roster_apply(roster);
	return G_SOURCE_REMOVE;
}

static void on_over(Pool *pool G_GNUC_UNUSED, gpointer data)
{
	Roster *roster = data;

	if (roster->reaper == 0)
		roster->reaper = g_idle_add(on_reap, roster);
}

/* --- events --- */

static gboolean on_link(const char *interface, gpointer data)
{
	const Roster *roster = data;
	gboolean concerns = FALSE;

	for (guint i = 0; i < roster->buses->len; i++)
		concerns |= bus_link_changed(g_ptr_array_index(roster->buses, i), interface);
	return concerns;
}

static void on_look(gpointer data)
{
	const Roster *roster = data;

	for (guint i = 0; i < roster->buses->len; i++)
		bus_look(g_ptr_array_index(roster->buses, i));
}

static void on_scan(gpointer data)
{
	const Roster *roster = data;

	for (guint i = 0; i < roster->buses->len; i++)
		bus_scan_event(g_ptr_array_index(roster->buses, i));
}

static const struct events_ops kernel_events = {on_link, on_look, on_scan};

static void on_changed(gpointer data)
{
	const Roster *roster = data;

	roster->host.changed(roster->host.data);
}

static void on_rescan(Pool *pool, gpointer data)
{
	Bus *bus = find_bus(data, pool_config(pool)->bus);

	if (bus != NULL)
		bus_rescan(bus);
}

static void on_mode_changed(Pool *pool, gpointer data)
{
	Bus *bus = find_bus(data, pool_config(pool)->bus);

	if (bus != NULL)
		bus_settle(bus);
}

static void on_freed(gpointer data)
{
	settle_buses(data);
}

static void on_label(gpointer data)
{
	const Roster *roster = data;

	for (guint i = 0; i < roster->pools->len; i++)
		pool_follow_label(g_ptr_array_index(roster->pools, i));
}

void roster_rescan(Roster *roster)
{
	for (guint i = 0; i < roster->buses->len; i++)
		bus_rescan(g_ptr_array_index(roster->buses, i));
}

/* --- life --- */

Roster *roster_new(const struct roster_host *host)
{
	Roster *roster = g_new0(Roster, 1);

	roster->host = *host;
	roster->mode_label =
		mode_label_new(configuration_settings(host->configuration), on_label, roster);
	roster->pool_host = (struct pool_host){
		.settings = configuration_settings(host->configuration),
		.kubelet = host->kubelet,
		.node_check = host->node_check,
		.state = host->state,
		.holders = host->holders,
		.mode_label = roster->mode_label,
		.rescan = on_rescan,
		.mode_changed = on_mode_changed,
		.changed = on_changed,
		.over = on_over,
		.data = roster,
	};
	roster->custodian =
		custodian_new(host->holders, state_before(host->state), on_freed, roster);
	roster->program = startup_program();
	roster->buses = g_ptr_array_new();
	roster->pools = g_ptr_array_new();
	roster->resting = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	roster->events = events_new(&kernel_events, roster);
	return roster;
}

void roster_stop(Roster *roster)
{
	g_clear_pointer(&roster->events, events_free);
	g_clear_handle_id(&roster->reaper, g_source_remove);
	g_clear_handle_id(&roster->rest_timer, g_source_remove);
	for (guint i = 0; i < roster->pools->len; i++) {
		Pool *pool = g_ptr_array_index(roster->pools, i);
		Bus *bus = find_bus(roster, pool_config(pool)->bus);

		if (bus != NULL)
			bus_remove_pool(bus, pool);
		pool_free(pool);
	}
	g_ptr_array_set_size(roster->pools, 0);
}

void roster_free(Roster *roster, guint wait_ms)
{
	gint64 until_us = g_get_monotonic_time() + wait_ms * G_TIME_SPAN_MILLISECOND;

	for (guint i = 0; i < roster->buses->len; i++)
		bus_stop(g_ptr_array_index(roster->buses, i));
	for (guint i = 0; i < roster->buses->len; i++) {
		gint64 left_ms = (until_us - g_get_monotonic_time()) / G_TIME_SPAN_MILLISECOND;

		bus_free(g_ptr_array_index(roster->buses, i), (guint)MAX(left_ms, 1));
	}
	g_ptr_array_unref(roster->buses);
	g_ptr_array_unref(roster->pools);
	mode_label_free(roster->mode_label);
	custodian_free(roster->custodian);
	g_hash_table_unref(roster->resting);
	g_free(roster->program);
	g_free(roster);
}

void roster_save(const Roster *roster, SavedState *state)
{
	for (guint i = 0; i < roster->buses->len; i++)
		bus_save(g_ptr_array_index(roster->buses, i), state);
	for (guint i = 0; i < roster->pools->len; i++)
		if (!pool_is_leaving(g_ptr_array_index(roster->pools, i)))
			pool_save(g_ptr_array_index(roster->pools, i), state);
	custodian_save(roster->custodian, state);
}

const GPtrArray *roster_buses(const Roster *roster)
{
	return roster->buses;
}

const GPtrArray *roster_pools(const Roster *roster)
{
	return roster->pools;
}
