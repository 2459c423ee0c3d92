/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the classes infiniband, infiniband_verbs, infiniband_mad, net and misc hold, in
 * one pass for a whole scan, sorted by the bus device that each entry hangs below. So a
 * scan costs one look at each entry, not one search a device.
 */
#pragma once

#include "common/arena.h"
#include "common/sysfs.h"

struct netdev_facts;

struct class_entry {
	const char *name; /* "mlx5_0", "uverbs3", "ens1f0np0" */
	const char *dir; /* "devices/pci0000:3a/0000:3b:00.0/infiniband/mlx5_0" */
	const char *parent; /* "devices/pci0000:3a/0000:3b:00.0", "devices/virtual" */
	/* Of a character device only. */
	enum rdmadp_node_kind kind;
	const char *ibdev;
	uint32_t port;
	uint32_t dev_major, dev_minor;
	const struct netdev_facts *facts; /* of an interface, where they were read already */
	bool taken; /* some device of the scan has it */
};

struct class_index {
	struct list rdma; /* struct class_entry *, as all three */
	struct list nodes; /* uverbs, umad and issm that have their ibdev and number */
	struct list nets;
	struct class_entry *rdma_cm; /* NULL: rdma_ucm is not loaded */
};

/* A class that is not there is empty. */
int class_index_read(const struct sysfs *sysfs, struct arena *arena, struct class_index *index);

/* The entries of 'list' whose parent is 'dir' or below it: *ret_first and the number. */
uint32_t class_index_below(const struct list *list, const char *dir, uint32_t *ret_first);
/* The entry with that name, or NULL. */
struct class_entry *class_index_named(const struct list *list, const char *name);
