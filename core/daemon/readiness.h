/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the daemon does what its configuration asks for, as somebody who waits for it
 * wants to know: each backend is loaded and has once found out what is there, and each
 * resource is registered with the kubelet. A resource may offer nothing, or only
 * unhealthy devices: that is the node's state, not the daemon's.
 */
#pragma once

#include "daemon/configuration.h"
#include "daemon/roster.h"

/* What it is not ready for (char *, new); empty: it is ready. */
GPtrArray *readiness_lacks(const Configuration *configuration, const Roster *roster);
