/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to an Allocate: shown, kept, and compared with those of other resources. */
#pragma once

#include "kubelet/sim_events.h"
#include "kubelet/sim_state.h"

/* "devices", "mounts", "envs", "annotations", "cdi_devices". */
json_t *sim_answer_json(const V1beta1__ContainerAllocateResponse *container);
GBytes *sim_answer_pack(const V1beta1__ContainerAllocateResponse *container);
/* What other resources gave to the same container must not say something else. */
void sim_answer_conflicts(const SimState *state, const char *pod, const char *container_name,
			  const V1beta1__ContainerAllocateResponse *container, GPtrArray *problems);
