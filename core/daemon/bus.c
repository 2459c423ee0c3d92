/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bus.h"

#include <string.h>

#include "daemon/admission.h"
#include "daemon/bus_log.h"
#include "daemon/looks.h"
#include "daemon/selection.h"
#include "edge/log.h"
#include "model/inventory.h"
#include "model/kinship.h"
#include "model/sight.h"
#include "model/text.h"

/* How long the first list waits for the first health reads. One that hangs does not
 * hold up the others: an HCA that could not be read yet counts as healthy. */
#define FIRST_LOOK_MS 100

struct period {
	guint timer;
	double seconds;
};

struct bus {
	const Settings *settings;
	State *state;
	char *name;
	BusLog *log;
	Admission *admission;
	Backend *backend; /* once it is accepted */
	Inventory *inventory;
	GPtrArray *devices; /* those of the last good scan, as known; NULL before the first */
	GPtrArray *pools; /* borrowed, in file order */
	Selection *selection;
	Looks *looks;
	guint64 scans, failed_scans;
	guint first_look_timer;
	struct period rescans, polls;
};

/* Only what a resource selected is watched: other adapters are not our business. */
static gboolean bus_device_is_taken(const Bus *bus, const Device *device)
{
	for (guint i = 0; i < bus->pools->len; i++)
		if (resource_find(pool_resource(g_ptr_array_index(bus->pools, i)),
				  device_identity(device)) != NULL)
			return TRUE;
	return FALSE;
}

/* --- health reads --- */

static void bus_start_look(Device *device, gpointer data)
{
	Bus *bus = data;

	backend_check_health(bus->backend, device, NULL);
}

static void bus_on_stuck(Device *device, gpointer data)
{
	Bus *bus = data;

	bus_log_stuck(bus->log, device);
	for (guint i = 0; i < bus->pools->len; i++)
		pool_observe_stuck(g_ptr_array_index(bus->pools, i), device);
}

static void bus_flush(gpointer data)
{
	Bus *bus = data;

	for (guint i = 0; i < bus->pools->len; i++)
		pool_flush(g_ptr_array_index(bus->pools, i));
}

static const struct looks_ops bus_looks = {
	.start = bus_start_look,
	.stuck = bus_on_stuck,
	.settled = bus_flush,
};

/* 'news': something may have happened just now. The backend gets back what it reported
 * itself, not what is remembered. */
static void bus_look_at_all(Bus *bus, gboolean news)
{
	g_autoptr(GPtrArray) entries = inventory_list(bus->inventory, bus->name);

	for (guint i = 0; bus->backend != NULL && i < entries->len; i++) {
		const struct inventory_entry *entry = g_ptr_array_index(entries, i);

		if (bus_device_is_taken(bus, entry->known))
			looks_at(bus->looks, entry->reported, news);
	}
	looks_settle(bus->looks);
}

void bus_look(Bus *bus)
{
	bus_look_at_all(bus, TRUE);
}

gboolean bus_link_changed(Bus *bus, const char *interface)
{
	g_autoptr(GPtrArray) entries = inventory_list(bus->inventory, bus->name);
	gboolean concerns = FALSE;

	for (guint i = 0; bus->devices != NULL && bus->backend != NULL && i < entries->len; i++) {
		const struct inventory_entry *entry = g_ptr_array_index(entries, i);

		if (!kinship_depends_on(bus->devices, entry->known, interface) ||
		    !bus_device_is_taken(bus, entry->known))
			continue;
		looks_at(bus->looks, entry->reported, TRUE);
		concerns = TRUE;
	}
	/* Most messages are of pods' interfaces. */
	if (concerns)
		looks_settle(bus->looks);
	return concerns;
}

static gboolean bus_on_poll(gpointer data)
{
	Bus *bus = data;

	for (guint i = 0; bus->devices != NULL && i < bus->pools->len; i++)
		pool_poll_begin(g_ptr_array_index(bus->pools, i));
	bus_look_at_all(bus, FALSE);
	return G_SOURCE_CONTINUE;
}

static gboolean bus_on_rescan(gpointer data)
{
	Bus *bus = data;

	if (bus->backend != NULL)
		backend_scan(bus->backend);
	return G_SOURCE_CONTINUE;
}

static gboolean bus_on_first_look_over(gpointer data)
{
	Bus *bus = data;

	bus->first_look_timer = 0;
	for (guint i = 0; i < bus->pools->len; i++)
		pool_first_look_over(g_ptr_array_index(bus->pools, i));
	looks_settle(bus->looks);
	return G_SOURCE_REMOVE;
}

/* Lets the pools wait for the first health reads, for a while. */
static void bus_begin_first_look(Bus *bus)
{
	if (bus->first_look_timer == 0)
		bus->first_look_timer = g_timeout_add(FIRST_LOOK_MS, bus_on_first_look_over, bus);
}

static GPtrArray *bus_present_devices(const Bus *bus)
{
	g_autoptr(GPtrArray) entries = inventory_list(bus->inventory, bus->name);
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);

	for (guint i = 0; i < entries->len; i++) {
		const struct inventory_entry *entry = g_ptr_array_index(entries, i);

		g_ptr_array_add(devices, device_ref(entry->known));
	}
	return devices;
}

static void bus_take_devices(Bus *bus, GPtrArray *found)
{
	struct inventory_change change;

	inventory_update(bus->inventory, bus->name, found, &change);
	bus_log_doubles(bus->log, change.doubles);
	inventory_change_clear(&change);
	if (bus->devices == NULL)
		bus_log_found(bus->log, found);
	else
		g_ptr_array_unref(bus->devices);
	bus->devices = bus_present_devices(bus);
}

/* Misses are counted by polls, where there are any. */
static enum offer_scan bus_scan_kind(const Bus *bus, gboolean event_driven)
{
	if (event_driven)
		return OFFER_SCAN_EVENT;
	return bus->polls.timer != 0 ? OFFER_SCAN_POLLED : OFFER_SCAN_COUNTS;
}

static void bus_on_scanned(Backend *backend, GPtrArray *devices, const GError *error,
			   gboolean event_driven, gpointer data)
{
	Bus *bus = data;
	enum offer_scan scan = bus_scan_kind(bus, event_driven);

	bus->scans++;
	bus->failed_scans += error != NULL ? 1 : 0;
	bus_log_scan(bus->log, error, bus->devices != NULL ? bus->devices->len : 0);
	if (devices == NULL && bus->devices != NULL) {
		bus_look_at_all(bus, TRUE); /* a health read may have counted on this scan */
		return;
	}
	if (devices != NULL)
		bus_take_devices(bus, devices);
	else /* what a former process knew is better than nothing */
		bus->devices = inventory_save(bus->inventory, bus->name);
	selection_run(bus->selection, bus->pools, backend_vtable(backend), bus->devices, scan);
	bus_begin_first_look(bus);
	bus_look_at_all(bus, TRUE);
	state_touch(bus->state);
}

/* What says nothing of the device as it is now is not told: another read follows it. */
static void bus_on_health(Backend *backend, Device *device, const struct rdmadp_health *health,
			  gpointer data)
{
	Bus *bus = data;
	gboolean counts = !looks_is_outdated(bus->looks, device) &&
			  !sight_waits_for_scan(health, backend_scan_age(backend));

	for (guint i = 0; counts && i < bus->pools->len; i++)
		pool_observe(g_ptr_array_index(bus->pools, i), device, health);
	looks_done(bus->looks, device);
}

/* A backend's event is looked into at once; its scan follows when things are quiet. */
static void bus_on_hint(Backend *backend G_GNUC_UNUSED, gpointer data)
{
	bus_look_at_all(data, TRUE);
}

static const struct backend_callbacks bus_callbacks = {
	.scanned = bus_on_scanned,
	.health = bus_on_health,
	.hint = bus_on_hint,
};

static void bus_on_accepted(const struct rdmadp_backend *vtable, gpointer data)
{
	Bus *bus = data;

	bus->backend = backend_new(vtable, bus->settings->sysfs_root, bus->settings->dev_root,
				   &bus_callbacks, bus);
}

static void bus_on_refused(gpointer data)
{
	Bus *bus = data;

	for (guint i = 0; i < bus->pools->len; i++)
		pool_refuse(g_ptr_array_index(bus->pools, i));
	looks_settle(bus->looks);
}

static const struct admission_ops bus_admission = {
	.accepted = bus_on_accepted,
	.refused = bus_on_refused,
};

Bus *bus_new(const struct bus_host *host, const char *name)
{
	Bus *bus = g_new0(Bus, 1);
	GPtrArray *before = state_bus(host->state, name);

	bus->settings = host->settings;
	bus->state = host->state;
	bus->name = g_strdup(name);
	bus->log = bus_log_new(name);
	bus->pools = g_ptr_array_new();
	bus->inventory = inventory_new();
	if (before != NULL)
		inventory_restore(bus->inventory, name, before);
	bus->selection = selection_new(name, host->settings->sysfs_root, host->custodian);
	bus->looks = looks_new(&bus_looks, bus);
	bus->admission = admission_new(host->settings, host->program, name, &bus_admission, bus);
	admission_try(bus->admission);
	return bus;
}

void bus_stop(Bus *bus)
{
	if (bus->backend != NULL)
		backend_stop(bus->backend);
}

void bus_free(Bus *bus, guint wait_ms)
{
	g_clear_handle_id(&bus->rescans.timer, g_source_remove);
	g_clear_handle_id(&bus->polls.timer, g_source_remove);
	g_clear_handle_id(&bus->first_look_timer, g_source_remove);
	admission_free(bus->admission);
	if (bus->backend != NULL)
		backend_free(bus->backend, wait_ms);
	looks_free(bus->looks);
	bus_log_free(bus->log);
	selection_free(bus->selection);
	if (bus->devices != NULL)
		g_ptr_array_unref(bus->devices);
	g_ptr_array_unref(bus->pools);
	inventory_free(bus->inventory);
	g_free(bus->name);
	g_free(bus);
}

void bus_save(const Bus *bus, SavedState *state)
{
	saved_state_add_bus(state, bus->name, inventory_save(bus->inventory, bus->name));
}

const char *bus_name(const Bus *bus)
{
	return bus->name;
}

void bus_get_status(const Bus *bus, struct bus_status *ret_status)
{
	*ret_status = (struct bus_status){
		.refusal = admission_refusal(bus->admission),
		.version = bus->backend != NULL ? backend_vtable(bus->backend)->version : NULL,
		.scan_trouble = bus_log_scan_trouble(bus->log),
		.has_scanned = bus->devices != NULL,
		.devices = bus->devices != NULL ? bus->devices->len : 0,
		.scans = bus->scans,
		.failed_scans = bus->failed_scans,
	};
	if (bus->backend != NULL)
		ret_status->workers = backend_workers(bus->backend, &ret_status->stuck);
}

void bus_settle(Bus *bus)
{
	if (bus->devices != NULL && bus->backend != NULL)
		selection_run(bus->selection, bus->pools, backend_vtable(bus->backend),
			      bus->devices, OFFER_SCAN_POLLED);
	else
		selection_check(bus->selection, bus->pools);
	if (bus->devices != NULL)
		bus_begin_first_look(bus);
	bus_look_at_all(bus, FALSE);
}

void bus_add_pool(Bus *bus, Pool *pool)
{
	g_ptr_array_add(bus->pools, pool);
	if (admission_refusal(bus->admission) != NULL)
		pool_refuse(pool);
}

void bus_remove_pool(Bus *bus, Pool *pool)
{
	g_ptr_array_remove(bus->pools, pool);
}

guint bus_n_pools(const Bus *bus)
{
	return bus->pools->len;
}

/* A period that stays goes on as it was: a file that is written every few seconds must
 * not keep polls from coming. */
static void bus_set_period(Bus *bus, struct period *period, double seconds, GSourceFunc function)
{
	gboolean stays =
		seconds > 0 ? period->timer != 0 && period->seconds == seconds : period->timer == 0;

	if (stays)
		return;
	g_clear_handle_id(&period->timer, g_source_remove);
	period->seconds = seconds;
	if (seconds > 0)
		period->timer = g_timeout_add((guint)(seconds * 1000), function, bus);
}

void bus_set_periods(Bus *bus, double rescan_s, double poll_s)
{
	bus_set_period(bus, &bus->rescans, rescan_s, bus_on_rescan);
	bus_set_period(bus, &bus->polls, poll_s, bus_on_poll);
}

void bus_rescan(Bus *bus)
{
	if (bus->backend != NULL)
		backend_scan(bus->backend);
	else
		admission_try(bus->admission);
}

void bus_scan_event(Bus *bus)
{
	if (bus->backend != NULL)
		backend_scan_event(bus->backend);
}

/* --- several resources --- */

static guint rank_of(const GPtrArray *pools, const Pool *pool)
{
	guint rank = G_MAXUINT;

	g_ptr_array_find((GPtrArray *)pools, pool, &rank);
	return rank;
}

static int by_rank(gconstpointer a, gconstpointer b, gpointer data)
{
	guint rank_a = rank_of(data, *(Pool *const *)a);
	guint rank_b = rank_of(data, *(Pool *const *)b);

	return rank_a < rank_b ? -1 : rank_a > rank_b;
}

void bus_sort_pools(Bus *bus, const GPtrArray *pools)
{
	g_ptr_array_sort_with_data(bus->pools, by_rank, (gpointer)pools);
}
