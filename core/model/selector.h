/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a device by a resource's selectors: OR inside a list, AND between lists,
 * an absent list does not restrict, several objects are a union. 'exclude' is judged
 * like a selector (AND between its lists) and removes what it takes; without a list
 * it removes nothing.
 *
 * Pure; what only the backend can judge is asked through a callback: vendors,
 * deviceIDs, drivers and attributes, with the keys "vendor", "device", "driver" and
 * the attribute's own. A driver is also taken by the contract's members (bus driver,
 * RDMA driver). pfNames and rootDevices read the attributes "pf_name" and "vf_index"
 * (or "sfnum") and the parent's id.
 */
#pragma once

#include "model/device.h"
#include "model/resource_config.h"

/* As backend_match: 1 yes, 0 no, negative: no device ever could. */
typedef int (*selector_match_fn)(const Device *device, const char *key, const char *value,
				 gpointer data);

/* Why a device was refused: the first list that refused it. Texts are owned. */
struct refusal {
	char *key; /* "deviceIDs", "exclude.ifNames", "attributes.type" */
	char *seen; /* the value or values that the device has: "1017"; "none" */
	char *wanted; /* what the list asks for (excludes): "101b, 101d" */
};

void refusal_clear(struct refusal *refusal);

/* TRUE if the resource takes the device. Otherwise *ret_refusal (may be NULL) says
 * why; with several selector objects it is the refusal of the one that got furthest. */
gboolean selector_judge(const ResourceConfig *config, const Device *device, selector_match_fn match,
			gpointer match_data, struct refusal *ret_refusal);
