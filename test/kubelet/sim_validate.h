/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the answer to an Allocate: what a kubelet passes on without a look and a
 * container runtime then refuses, or what nobody can want. */
#pragma once

#include "kubelet/sim_messages.h"
#include "kubelet/sim_problem.h"
#include "kubelet/sim_profile.h"

/* 'dev_root' stands for /dev: host paths below /dev are looked up there and must be
 * character devices; NULL = not looked up. */
void sim_validate_response(const SimAllocated *response, const struct sim_profile *profile,
			   const char *dev_root, GPtrArray *problems);

/* Two answers for one container (two resources): the first wins, a different value
 * for the same key is only logged by the kubelet. */
void sim_validate_conflicts(const V1beta1__ContainerAllocateResponse *first,
			    const V1beta1__ContainerAllocateResponse *second, GPtrArray *problems);
