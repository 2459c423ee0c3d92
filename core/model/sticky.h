/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a device of which a scan sees only a part. When a pod runs, its
 * interface and its RDMA device may be in the pod's network namespace: on the host
 * they have vanished, and no selector must read that as "another device". What can be
 * observed is as it is now, what cannot is as it was seen last.
 */
#pragma once

#include "model/device.h"

/* A reference to 'reported' itself, or a device that has the missing parts of
 * 'previous' (the last answer of this function; may be NULL):
 *
 *  - interfaces, if it reports none of its own, or fewer and that it is elsewhere;
 *  - RDMA devices, if it reports none, and ports, if one of them reports none: both
 *    with the port state unknown;
 *  - link layers, RDMA drivers, the NUMA node and the parent that are not known;
 *  - attributes whose key it does not report.
 *
 * Nothing is taken over from a device of another identity, driver, vendor or device
 * id, nor while no driver is bound. Nodes are always those that are there. */
Device *sticky_merge(const Device *previous, Device *reported);
