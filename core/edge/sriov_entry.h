/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of the SR-IOV plugin's "resourceList". Only for sriov_*.c. */
#pragma once

#include "edge/json.h"
#include "model/finding.h"

/* Lists that have the same meaning here. */
enum sriov_list {
	SRIOV_VENDORS,
	SRIOV_DEVICE_IDS,
	SRIOV_DRIVERS,
	SRIOV_ADDRESSES,
	SRIOV_PF_NAMES,
	SRIOV_ROOT_DEVICES,
	SRIOV_LINK_TYPES,
	SRIOV_N_LISTS
};

/* One of "selectors": lists of char *; NULL if not given. */
struct sriov_object {
	GPtrArray *lists[SRIOV_N_LISTS];
};

/* One entry of "resourceList". */
struct sriov_entry {
	char *name;
	char *prefix;
	GPtrArray *objects; /* struct sriov_object * */
	gboolean no_topology;
	gboolean vhost_net;
	gboolean is_rdma;
	gboolean is_auxiliary; /* sub-functions only */
	gboolean is_lost; /* it cannot be the same here */
};

/* Reads an entry. What is wrong, cannot be the same here, or will be different is
 * reported. Never NULL. */
struct sriov_entry *sriov_entry_read(const JsonValue *value, GPtrArray *findings);
void sriov_entry_free(struct sriov_entry *entry);
