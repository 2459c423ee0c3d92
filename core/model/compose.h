/* SPDX-License-Identifier: Apache-2.0 */
/* What the answer to an Allocate has in both modes. Only for shared.c and exclusive.c. */
#pragma once

#include "model/resource.h"

gboolean compose_is_uverbs(const struct char_file *file);

/* For a caller without a checker: takes every path as it is. */
extern const struct file_checker compose_trusting;

void compose_add_mounts(Allocation *allocation, const ResourceConfig *config);
/* 'names' (char *) are the RDMA devices that the container gets; sorts them. */
void compose_add_hca_list(Allocation *allocation, const ResourceConfig *config, GPtrArray *names);
