/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-functions: devices of the auxiliary bus below a PCI function. */
#pragma once

#include "pci/function.h"

struct subfunction {
	const char *id; /* "mlx5_core.sf.4"; not stable over reboot */
	const char *dir;
	const char *number; /* 'sfnum', stable below its parent; NULL: it cannot be read */
	const char *parent; /* the PCI function's address */
	const char *parent_dir;
	const struct facts *parent_facts;
	const char *driver; /* NULL while unbound */
	struct adapter adapter;
};

/* Finds and reads them. Before functions_read, which would take what is theirs. */
int subfunctions_read(struct pci_scan *pci);
/* After it: of those in pods what their function tells. */
int subfunctions_complete(struct pci_scan *pci);
