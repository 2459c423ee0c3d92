/* SPDX-License-Identifier: Apache-2.0 */
/* Which RDMA driver works on top of which PCI driver. Pure. */
#pragma once

#include <stdbool.h>

/* "mlx5_core" -> "mlx5_ib"; a driver that does both gives itself; NULL: none is known. */
const char *drivers_rdma_of(const char *pci_driver);
/* The version of the uverbs ABI that its driver in the kernel has; NULL: not known. */
const char *drivers_uverbs_abi(const char *rdma_driver);
/* Another name that configurations use: "hns" -> "hns3"; else NULL. */
const char *drivers_alias(const char *name);
/* Drivers that keep a function for virtual machines or user-space drivers. */
bool drivers_is_passthrough(const char *pci_driver);
/* The driver of the virtual functions of a physical one with that driver; NULL: not known. */
const char *drivers_of_vfs(const char *pf_driver);
/* The driver to load for an unbound function, where that is certain; else NULL. */
const char *drivers_wanted(const char *vendor, const char *device);
