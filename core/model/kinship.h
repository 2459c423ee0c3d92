/* SPDX-License-Identifier: Apache-2.0 */
/* How the devices of one bus depend on each other. Pure. */
#pragma once

#include "model/device.h"

/* TRUE if the device (of 'devices', Device *) has the network interface, or one of those
 * above it has: a virtual function follows the interface of its PF, a sub-function that
 * of its parent. A bond counts as an interface of the devices below it. */
gboolean kinship_depends_on(GPtrArray *devices, const Device *device, const char *interface);
