/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the lists of a plugin: what the kubelet accepts, but nobody wants. Pure. */
#pragma once

#include "kubelet/sim_problem.h"
#include "kubelet/sim_state.h"

/* 'devices' is about to replace what 'state' knows of the resource; 'previous' is the
 * last list of the same stream, NULL for its first. Each rule is reported once. */
void sim_lint_list(const SimState *state, const char *resource, GPtrArray *devices,
		   GPtrArray *previous, GPtrArray *problems);
