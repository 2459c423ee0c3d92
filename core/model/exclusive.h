/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exclusive mode: the kubelet's devices are the HCAs themselves (physical functions,
 * virtual functions, sub-functions), and a container gets those that were given to it.
 *
 * A device is in the list once it counts (hca_counts), and never leaves it: what is gone,
 * broken or incomplete is Unhealthy. 'healthPolicy' says
 * what a bad device means to the others: nothing with perDevice, and with allDevices,
 * since what a device of the list stands for is one HCA; with anyDevice one bad HCA
 * makes all of them Unhealthy; with "off" health is not looked at.
 */
#pragma once

#include "model/resource.h"

/* What the kubelet, and the network plugins behind it, call a device: the identity (a
 * PCI address, the guid of a UB entity), for a sub-function the name of its auxiliary
 * device. */
const char *exclusive_id(const Device *device);

/* The list that the HCAs (struct hca *, by ordinal) make. */
void exclusive_add_units(Snapshot *snapshot, const ResourceConfig *config, GPtrArray *hcas);

/* As resource_compose: the files of these devices only, mounts, the list of HCAs and
 * the grants. A device that cannot be handed out is an error. */
Allocation *exclusive_compose(const ResourceConfig *config, const Snapshot *snapshot,
			      const char *const *ids, gsize n_ids,
			      const struct file_checker *checker, GError **error);

/* 'size' of the ids in 'available' and 'must', all of 'must' among them: those that are
 * nearest to each other, or spread, as the policy says (prefer.h). Borrowed from the
 * arguments; fewer if there are fewer. */
GPtrArray *exclusive_prefer(const Snapshot *snapshot, const char *const *available,
			    const char *const *must, gsize size, enum allocation_policy policy);
