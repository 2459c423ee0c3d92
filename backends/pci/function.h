/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI functions that a scan looks at closely. */
#pragma once

#include "common/adapter.h"
#include "pci/facts.h"

struct function {
	const char *id; /* "0000:3b:00.0" */
	const char *dir; /* "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0" */
	const char *class; /* "020000", or NULL */
	struct facts facts;
	const struct function *pf; /* of a virtual function, if it is in the scan */
	const char *vf_index; /* its number there, or NULL */
	const char *numvfs; /* how many it has now: 'sriov_numvfs', or NULL */
	bool has_vfs;
	struct adapter adapter;
	uint32_t n_own_nets; /* of the adapter's: those of other bond members come after */
	const struct function *port_owner; /* a bond made its port part of this one's device */
};

struct pci_scan {
	struct scan scan;
	struct list entries; /* of bus/pci/devices */
	struct list functions; /* struct function *, by address */
	struct list subfunctions; /* struct subfunction * */
};

/* Finds the functions: network class, or with something in the RDMA classes. Of all
 * others nothing but 'class' is read. */
int functions_find(struct pci_scan *pci);
/* Reads what is to be known of them and how they belong together. */
int functions_read(struct pci_scan *pci);
struct function *function_named(const struct pci_scan *pci, const char *id);

/* Of its first port; by its class where that cannot be seen. */
enum rdmadp_link_layer function_link_layer(const struct function *function);

/* The function whose RDMA device has its port: itself, or another one of its bond. */
const char *function_uplink(const struct function *function);

/* The address of the innermost function in a path below "devices", and where that ends;
 * FALSE if there is none. */
bool function_in_path(const char *path, char id[SYSFS_TEXT], size_t *ret_end);
