/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hangs below one bus device: RDMA devices, network interfaces and character
 * devices. The same on every bus, for the kernel's classes make it.
 */
#pragma once

#include "common/scan.h"

struct adapter {
	struct list rdma; /* struct rdmadp_rdma_device * */
	struct list nets; /* struct rdmadp_netdev * */
	struct list nodes; /* struct rdmadp_node * */
	const char *bond; /* the bond above one of its interfaces, or NULL */
	bool rdma_elsewhere; /* an RDMA device is in another network namespace */
	bool net_elsewhere; /* so is its interface */
	bool raw_only; /* switchdev: its RDMA device carries raw packets only */
};

/* Takes the entries of scan->index at 'dir' and below it that nothing has taken yet.
 * 'rdma_driver' may be NULL. */
int adapter_scan(struct scan *scan, const char *dir, const char *rdma_driver,
		 struct adapter *adapter);

/* Takes one RDMA device and its character devices, whatever else has the same parent. */
int adapter_take_rdma(struct scan *scan, struct class_entry *entry, const char *rdma_driver,
		      struct adapter *adapter);

/* The interfaces alone: the first that is not a representor, child or bond; or NULL. */
const struct rdmadp_netdev *adapter_own_net(const struct adapter *adapter);
/* An RDMA device that a pod may get, or NULL. */
const struct rdmadp_rdma_device *adapter_usable_rdma(const struct adapter *adapter);
/* Of whichever RDMA device, or NULL. */
const struct rdmadp_port *adapter_first_port(const struct adapter *adapter);
/* The ports of RDMA devices in other network namespaces cannot be seen. Where none is,
 * they are taken to have one of this link layer, unless that is unknown. */
int adapter_assume_port(struct scan *scan, struct adapter *adapter, enum rdmadp_link_layer layer);
/* Adds an interface that belongs to it, though it hangs elsewhere. */
int adapter_add_net(struct scan *scan, struct adapter *adapter, const char *name,
		    enum rdmadp_link_layer layer, uint32_t flags);
/* All interfaces of one whose ports are part of another's RDMA device, as in a bond: so a
 * configuration that names any of them means the one device, once. */
int adapter_take_nets(struct scan *scan, struct adapter *owner, struct adapter *member);
/* Why such a one has no RDMA device. */
const char *adapter_bond_note(struct scan *scan, const struct adapter *member,
			      const struct adapter *owner, const char *owner_id);
