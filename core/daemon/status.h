/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whoever connects to the status socket what the daemon is doing: a snapshot,
 * then a line for each thing that changes. A client that writes the line "pods" gets
 * another snapshot, with the pods that hold devices.
 */
#pragma once

#include "daemon/status_text.h"

typedef struct status Status;

/* No socket while the settings name none. */
Status *status_new(const Configuration *configuration, const Roster *roster, Holders *holders);
/* NULL is a no-op. */
void status_free(Status *status);
/* The settings may name another socket or another group. NULL is a no-op. */
void status_configured(Status *status);
/* There may be something new. Costs nothing while nobody listens. NULL is a no-op. */
void status_touch(Status *status);
