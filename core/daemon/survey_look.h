/* SPDX-License-Identifier: Apache-2.0 */
/* For survey.c: asks all buses at once for their devices and these devices' health. */
#pragma once

#include "daemon/survey.h"
#include "model/saved_state.h"

/* Fills 'buses' (struct survey_bus *), whose names are set. 'before' (may be NULL) is
 * what a daemon has remembered. Runs the main context; at most a few seconds. */
void survey_look(GPtrArray *buses, const struct survey_plan *plan, const SavedState *before);
