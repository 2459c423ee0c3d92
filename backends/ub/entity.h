/* SPDX-License-Identifier: Apache-2.0 */
/* The entities of the bus that a scan looks at closely. */
#pragma once

#include "common/adapter.h"

struct entity {
	const char *id; /* "0000f": not stable, may be another entity's after a hot-plug */
	const char *dir;
	const char *guid; /* NULL where it cannot be read */
	const char *driver; /* NULL while unbound */
	uint32_t class_code; /* 0 where it cannot be read */
	struct adapter adapter;
	const struct entity *port_owner; /* a bond made its ports part of this one's device */
};

struct ub_scan {
	struct scan scan;
	struct list entities; /* struct entity *, by id */
};

/* Finds and reads the network entities and those with something in the classes. */
int entities_read(struct ub_scan *ub);
/* What stays the same over reboot and hot-plug; NULL when out of memory. */
const char *entity_identity(struct ub_scan *ub, const struct entity *entity);
