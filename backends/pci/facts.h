/* SPDX-License-Identifier: Apache-2.0 */
/* What sysfs says of one PCI function by itself. Read in any thread, judged later. */
#pragma once

#include <stdbool.h>

#include "common/sysfs.h"

enum facts_id { FACTS_VENDOR, FACTS_DEVICE, FACTS_SUBSYSTEM_VENDOR, FACTS_SUBSYSTEM_DEVICE };
#define FACTS_IDS 4

/* The names of these attributes, in the order of enum facts_id. */
extern const char *const facts_id_names[FACTS_IDS];

struct facts {
	const char *driver; /* NULL while unbound */
	const char *physfn; /* of a virtual function: its physical one; else NULL */
	struct sysfs_value ids[FACTS_IDS];
	struct sysfs_value numa_node;
	struct sysfs_value numvfs; /* not read of a virtual function */
};

void facts_read(const struct sysfs *sysfs, const char *dir, struct arena *arena,
		struct facts *facts);
