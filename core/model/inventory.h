/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of all buses, as the last scans saw them and as they are known
 * (sticky.h). A device keeps what is known of it for some scans that miss it: a
 * driver that is reloaded must not make a match forgotten. One that shows less of what
 * identifies it than before is still the same (identity.h).
 */
#pragma once

#include "model/device.h"

struct inventory_entry {
	const char *bus;
	Device *reported; /* by the last scan that saw it: for the backend's health */
	Device *known; /* with what it had before: for selectors and resources */
	gboolean present; /* in the last scan */
	guint misses; /* scans in a row that did not see it */
};

typedef struct inventory Inventory;

Inventory *inventory_new(void);
void inventory_free(Inventory *inventory);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Inventory, inventory_free)

/* What a scan changed: const struct inventory_entry *, by id. Borrowed, until the next
 * update of the same bus. */
struct inventory_change {
	GPtrArray *added; /* present now, not before */
	GPtrArray *removed; /* present before */
	GPtrArray *changed; /* present before and now, reported or known differently */
	GPtrArray *doubles; /* Device *: left out, another of the scan has its identity */
};

void inventory_change_clear(struct inventory_change *change);

/* Takes the result of a successful scan (Device *, in any order). */
void inventory_update(Inventory *inventory, const char *bus, GPtrArray *devices,
		      struct inventory_change *ret_change);

/* Of one bus, present ones only, by id; const struct inventory_entry *, borrowed. */
GPtrArray *inventory_list(const Inventory *inventory, const char *bus);
/* Present or not long gone; NULL if there is none. */
const struct inventory_entry *inventory_find(const Inventory *inventory, const char *bus,
					     const char *identity);

/* What outlives the process: what is known of one bus (Device *), by id. */
GPtrArray *inventory_save(const Inventory *inventory, const char *bus);
/* Before the bus's first update, which then finds them known, but not present. */
void inventory_restore(Inventory *inventory, const char *bus, GPtrArray *devices);
