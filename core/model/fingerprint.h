/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether a resource still asks for the same devices as a former process's. */
#pragma once

#include "model/resource_config.h"

/* The same for two configurations exactly if they name the same bus and the same
 * selectors, whatever the order inside a list: a short word. */
char *selectors_fingerprint(const ResourceConfig *config);
