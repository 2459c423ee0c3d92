/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the network namespace mode of the RDMA subsystem means for a resource. In the
 * exclusive mode an RDMA device belongs to one network namespace and no other one can
 * open it; in the shared mode every namespace sees all of them.
 */
#pragma once

#include <glib.h>

/* Why a resource cannot be offered and what helps, or NULL: it can. */
const char *netns_refusal(gboolean resource_is_exclusive, gboolean netns_is_exclusive);
/* What its administrator should know all the same, or NULL. */
const char *netns_remark(gboolean resource_is_exclusive, gboolean netns_is_exclusive);
