/* SPDX-License-Identifier: Apache-2.0 */
/* What one discover of a bus works with, from its start to its end. */
#pragma once

#include <stdint.h>

#include "common/arena.h"
#include "common/class_index.h"
#include "common/port_probe.h"
#include "common/sysfs.h"

struct scan {
	struct sysfs *sysfs;
	struct arena arena;
	struct class_index index;
	struct list port_reads; /* struct port_read *: states still to be read */
	uint64_t numa_nodes; /* those below 64 that are known to exist */
};

/* Reads the classes. What it returns, scan_end takes back, also after a failure. */
int scan_begin(struct scan *scan, struct sysfs *sysfs);
/* 'result' is that of the discover so far. Returns what discover is to return: without
 * descriptors or memory the kernel had no chance to tell what there is, and a scan that
 * has missed something must not look whole. */
int scan_end(struct scan *scan, int result);
