/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be known of one RDMA device. */
#pragma once

#include "common/scan.h"

/* NULL when out of memory. The states of its ports are added to scan->port_reads.
 * *ret_raw: it is a switchdev representor, which can do nothing but raw packets. */
struct rdmadp_rdma_device *rdma_read(struct scan *scan, const struct class_entry *entry,
				     const char *driver, bool *ret_raw);

/* TRUE for the RDMA device of a switchdev uplink, whose other ports are those of
 * functions: the kernel gives it a GID table without entries. */
bool rdma_is_raw(const struct sysfs *sysfs, const char *ib_dir);

/* Flags those of one bus device that are for management only, by their character
 * devices. 'rdma': struct rdmadp_rdma_device *, 'nodes': struct rdmadp_node *. */
void rdma_mark_management(const struct list *rdma, const struct list *nodes);
