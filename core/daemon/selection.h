/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which resource of a bus gets which devices: what selectors take, which of several
 * resources keeps a device (model/overlap.h), which have to wait for pods of others
 * (model/custody.h), and what the network namespace mode of the
 * RDMA subsystem allows. What is wrong is said when it begins and again when it changes.
 */
#pragma once

#include <glib.h>

#include "daemon/custodian.h"
#include "daemon/pool.h"

typedef struct selection Selection;

Selection *selection_new(const char *bus, const char *sysfs_root, Custodian *custodian);
void selection_free(Selection *selection);

/* Before the first scan: resources that cannot be served offer nothing. */
void selection_check(Selection *selection, GPtrArray *pools);

/* Shows the pools (Pool *, in file order) the devices of a scan. */
void selection_run(Selection *selection, GPtrArray *pools, const struct rdmadp_backend *vtable,
		   GPtrArray *devices, enum offer_scan scan);
