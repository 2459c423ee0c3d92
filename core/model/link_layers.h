/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HCA can have ports of both link layers (ConnectX-3). A resource that names one in
 * its "linkTypes" cares about the ports of that one only. Pure.
 */
#pragma once

#include "model/resource_config.h"
#include "rdmadp/backend.h"

/* What 'health' means for that resource: a device without an ACTIVE port of its link types
 * has no link. */
struct rdmadp_health link_layers_judge(const ResourceConfig *config,
				       const struct rdmadp_health *health);
