/* SPDX-License-Identifier: Apache-2.0 */
#include "model/inventory.h"

#include <string.h>

#include "model/identity.h"
#include "model/sticky.h"

/* A firmware reset takes a minute or more, and its events cause many scans. The limit
 * is there so that memory does not grow with identities that never come back. */
#define MISSES_LIMIT 100

/* The entries of one bus, by identity. */
struct bus {
	char *name;
	GHashTable *entries; /* borrowed identity of 'known' -> struct inventory_entry * */
};

struct inventory {
	GHashTable *buses; /* borrowed name -> struct bus * */
};

static void entry_free(gpointer data)
{
	struct inventory_entry *entry = data;

	device_unref(entry->reported);
	device_unref(entry->known);
	g_free(entry);
}

static void bus_free(gpointer data)
{
	struct bus *bus = data;

	g_hash_table_unref(bus->entries);
	g_free(bus->name);
	g_free(bus);
}

Inventory *inventory_new(void)
{
	Inventory *inventory = g_new0(Inventory, 1);

	inventory->buses = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, bus_free);
	return inventory;
}

void inventory_free(Inventory *inventory)
{
	if (inventory == NULL)
		return;
	g_hash_table_unref(inventory->buses);
	g_free(inventory);
}

static struct bus *bus_get(Inventory *inventory, const char *name)
{
	struct bus *bus = g_hash_table_lookup(inventory->buses, name);

	if (bus != NULL)
		return bus;
	bus = g_new0(struct bus, 1);
	bus->name = g_strdup(name);
	bus->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, entry_free);
	g_hash_table_insert(inventory->buses, bus->name, bus);
	return bus;
}

static struct inventory_entry *entry_find(const Inventory *inventory, const char *bus_name,
					  const char *identity)
{
	struct bus *bus = g_hash_table_lookup(inventory->buses, bus_name);

	return bus == NULL ? NULL : g_hash_table_lookup(bus->entries, identity);
}

const struct inventory_entry *inventory_find(const Inventory *inventory, const char *bus,
					     const char *identity)
{
	return entry_find(inventory, bus, identity);
}

/* The key must not outlive the device that it belongs to. */
static void entry_set_known(struct bus *bus, struct inventory_entry *entry, Device *known)
{
	g_autoptr(Device) before = entry->known;

	if (before != NULL)
		g_hash_table_steal(bus->entries, device_identity(before));
	entry->known = known;
	g_hash_table_insert(bus->entries, (gpointer)device_identity(known), entry);
}

static struct inventory_entry *entry_new(struct bus *bus, Device *device)
{
	struct inventory_entry *entry = g_new0(struct inventory_entry, 1);

	entry->bus = bus->name;
	entry->reported = device_ref(device);
	entry_set_known(bus, entry, device_ref(device));
	return entry;
}

/* --- one scan --- */

static int device_order(gconstpointer a, gconstpointer b)
{
	return device_compare(*(const Device *const *)a, *(const Device *const *)b);
}

static int entry_order(gconstpointer a, gconstpointer b)
{
	const struct inventory_entry *const *left = a, *const *right = b;

	return device_compare((*left)->known, (*right)->known);
}

static void change_init(struct inventory_change *change)
{
	change->added = g_ptr_array_new();
	change->removed = g_ptr_array_new();
	change->changed = g_ptr_array_new();
	change->doubles = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
}

void inventory_change_clear(struct inventory_change *change)
{
	g_clear_pointer(&change->added, g_ptr_array_unref);
	g_clear_pointer(&change->removed, g_ptr_array_unref);
	g_clear_pointer(&change->changed, g_ptr_array_unref);
	g_clear_pointer(&change->doubles, g_ptr_array_unref);
}

/* TRUE if something about the device is different. */
static gboolean entry_update(struct bus *bus, struct inventory_entry *entry, Device *device)
{
	Device *known = sticky_merge(entry->known, device);
	gboolean changed =
		!device_equal(entry->reported, device) || !device_equal(entry->known, known);

	device_ref(device);
	device_unref(entry->reported);
	entry->reported = device;
	entry_set_known(bus, entry, known);
	return changed;
}

static void take_device(struct bus *bus, GHashTable *seen, Device *device,
			struct inventory_change *change)
{
	struct inventory_entry *entry = g_hash_table_lookup(bus->entries, device_identity(device));
	gboolean was_present = entry != NULL && entry->present;
	gboolean changed = FALSE;

	if (!g_hash_table_add(seen, (gpointer)device_identity(device))) {
		g_ptr_array_add(change->doubles, device_ref(device));
		return;
	}
	if (entry == NULL)
		entry = entry_new(bus, device);
	else
		changed = entry_update(bus, entry, device);
	entry->present = TRUE;
	entry->misses = 0;
	if (!was_present)
		g_ptr_array_add(change->added, entry);
	else if (changed)
		g_ptr_array_add(change->changed, entry);
}

/* --- which one it is --- */

/* Borrowed id -> the entry that had it last. */
static GHashTable *entries_by_id(const struct bus *bus)
{
	GHashTable *by_id = g_hash_table_new(g_str_hash, g_str_equal);
	GHashTableIter iter;
	gpointer data;

	g_hash_table_iter_init(&iter, bus->entries);
	while (g_hash_table_iter_next(&iter, NULL, &data)) {
		struct inventory_entry *entry = data;
		const struct inventory_entry *other =
			g_hash_table_lookup(by_id, device_id(entry->known));

		if (other == NULL || entry->misses < other->misses)
			g_hash_table_insert(by_id, (gpointer)device_id(entry->known), entry);
	}
	return by_id;
}

/* A device that could not be told from others keeps its identity only as long as it
 * has not been away: after that it may be another one. */
static gboolean is_the_same(const struct inventory_entry *entry, const Device *device)
{
	enum identity_kin kin = identity_kin(device_id(device), device_identity(entry->known),
					     device_identity(device));

	return kin == IDENTITY_HIDDEN || (kin == IDENTITY_REVEALED && entry->misses == 0);
}

/* As it was known, if what it is reported as is not all there is to it. */
static Device *recognise(GHashTable *by_id, GHashTable *reported, Device *device)
{
	const struct inventory_entry *entry = g_hash_table_lookup(by_id, device_id(device));
	const char *known = entry == NULL ? NULL : device_identity(entry->known);

	if (known == NULL || g_hash_table_contains(reported, known) || !is_the_same(entry, device))
		return device_ref(device);
	return device_copy_as(device, known);
}

static GPtrArray *recognise_all(const struct bus *bus, GPtrArray *devices)
{
	g_autoptr(GHashTable) by_id = entries_by_id(bus);
	g_autoptr(GHashTable) reported = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *result = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);

	for (guint i = 0; i < devices->len; i++)
		g_hash_table_add(reported,
				 (gpointer)device_identity(g_ptr_array_index(devices, i)));
	for (guint i = 0; i < devices->len; i++)
		g_ptr_array_add(result, recognise(by_id, reported, g_ptr_array_index(devices, i)));
	return result;
}

/* --- what is not there any more --- */

struct sweep {
	GHashTable *seen; /* identities in this scan */
	struct inventory_change *change;
};

/* Notices an entry that the scan missed; TRUE if it is forgotten now. */
static gboolean sweep_entry(gpointer identity, gpointer data, gpointer user_data)
{
	struct inventory_entry *entry = data;
	const struct sweep *sweep = user_data;

	if (g_hash_table_contains(sweep->seen, identity))
		return FALSE;
	if (entry->present)
		g_ptr_array_add(sweep->change->removed, entry);
	entry->present = FALSE;
	entry->misses++;
	return entry->misses > MISSES_LIMIT;
}

void inventory_update(Inventory *inventory, const char *bus_name, GPtrArray *devices,
		      struct inventory_change *ret_change)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	struct bus *bus = bus_get(inventory, bus_name);
	g_autoptr(GPtrArray) sorted = recognise_all(bus, devices);
	struct sweep sweep = {seen, ret_change};

	change_init(ret_change);
	g_ptr_array_sort(sorted, device_order);
	for (guint i = 0; i < sorted->len; i++)
		take_device(bus, seen, g_ptr_array_index(sorted, i), ret_change);
	g_hash_table_foreach_remove(bus->entries, sweep_entry, &sweep);
	g_ptr_array_sort(ret_change->removed, entry_order);
}

/* --- lists --- */

static GPtrArray *entries_sorted(const Inventory *inventory, const char *bus_name,
				 gboolean present_only)
{
	struct bus *bus = g_hash_table_lookup(inventory->buses, bus_name);
	GPtrArray *entries = g_ptr_array_new();
	GHashTableIter iter;
	gpointer data;

	if (bus == NULL)
		return entries;
	g_hash_table_iter_init(&iter, bus->entries);
	while (g_hash_table_iter_next(&iter, NULL, &data))
		if (!present_only || ((struct inventory_entry *)data)->present)
			g_ptr_array_add(entries, data);
	g_ptr_array_sort(entries, entry_order);
	return entries;
}

GPtrArray *inventory_list(const Inventory *inventory, const char *bus)
{
	return entries_sorted(inventory, bus, TRUE);
}

/* --- across a restart --- */

GPtrArray *inventory_save(const Inventory *inventory, const char *bus)
{
	g_autoptr(GPtrArray) entries = entries_sorted(inventory, bus, FALSE);
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);

	for (guint i = 0; i < entries->len; i++) {
		const struct inventory_entry *entry = g_ptr_array_index(entries, i);

		g_ptr_array_add(devices, device_ref(entry->known));
	}
	return devices;
}

void inventory_restore(Inventory *inventory, const char *bus_name, GPtrArray *devices)
{
	struct bus *bus = bus_get(inventory, bus_name);

	for (guint i = 0; i < devices->len; i++) {
		Device *device = g_ptr_array_index(devices, i);

		if (entry_find(inventory, bus_name, device_identity(device)) == NULL)
			entry_new(bus, device);
	}
}
