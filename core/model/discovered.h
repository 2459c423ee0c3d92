/* SPDX-License-Identifier: Apache-2.0 */
/* An exclusive device in the log. */
#pragma once

#include "model/snapshot.h"

/* "discovered RDMA device: mlx5_bond_0 (PCI=0000:7f:00.0, NUMA=0, uverbs=uverbs0,
 * pcieRoot=pci0000:7b) at 0000:7b:00.0/0000:7f:00.0": operators of ACK look for it. */
char *discovered_text(const struct unit *unit);
