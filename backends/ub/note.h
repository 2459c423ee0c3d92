/* SPDX-License-Identifier: Apache-2.0 */
/* Why an entity cannot be used now, and what to do about it. */
#pragma once

#include "ub/entity.h"

/* NULL: nothing is in the way. Also NULL when out of memory. */
const char *entity_note(struct ub_scan *ub, const struct entity *entity);
