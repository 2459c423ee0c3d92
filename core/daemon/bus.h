/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bus: its backend from rehearsal to shutdown, the timers that drive it, and the
 * pools that take its devices.
 */
#pragma once

#include <glib.h>

#include "daemon/custodian.h"
#include "daemon/pool.h"
#include "edge/backend.h"
#include "edge/settings.h"

typedef struct bus Bus;

/* What every bus of the process shares; outlives them. */
struct bus_host {
	const Settings *settings;
	State *state;
	Custodian *custodian;
	const char *program; /* this executable, for rehearsals */
};

/* Starts at once. */
Bus *bus_new(const struct bus_host *host, const char *name);
/* Asks its threads to end, without waiting: for all buses, before each is freed. */
void bus_stop(Bus *bus);
/* Waits at most 'wait_ms' for calls into the backend. */
void bus_free(Bus *bus, guint wait_ms);

void bus_save(const Bus *bus, SavedState *state);

const char *bus_name(const Bus *bus);

struct bus_status {
	const char *refusal; /* why the backend is not there, or NULL */
	const char *version; /* of the backend; NULL before it is accepted */
	const char *scan_trouble; /* why the last scan failed, or NULL */
	gboolean has_scanned;
	guint devices;
	guint64 scans, failed_scans;
	guint workers, stuck; /* threads that read health, and those that hang */
};

void bus_get_status(const Bus *bus, struct bus_status *ret_status);

/* Borrowed. It gets devices with bus_settle. */
void bus_add_pool(Bus *bus, Pool *pool);
/* After pools were added, removed, sorted or want something else: settles which of them
 * has which device of the last scan, if there was one. */
void bus_settle(Bus *bus);
void bus_remove_pool(Bus *bus, Pool *pool);
guint bus_n_pools(const Bus *bus);
/* Their order is that of 'pools', all of the process. */
void bus_sort_pools(Bus *bus, const GPtrArray *pools);

/* Periods in seconds; 0 = not periodically. */
void bus_set_periods(Bus *bus, double rescan_s, double poll_s);
/* A scan soon; a refused backend is tried again. */
void bus_rescan(Bus *bus);

/* --- what the kernel tells --- */

/* Looks at the devices that have this interface, and at those whose parent has it. FALSE
 * if there are none. */
gboolean bus_link_changed(Bus *bus, const char *interface);
/* Looks at all devices. */
void bus_look(Bus *bus);
/* A scan because of an event: what it misses is gone. */
void bus_scan_event(Bus *bus);
