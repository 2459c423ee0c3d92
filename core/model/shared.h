/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared mode: slots that all stand for all HCAs of the resource. Only for
 * resource.c, which has what every mode needs.
 */
#pragma once

#include "model/resource.h"

/* Adds the slots for 'hcas' (struct hca *, by ordinal). */
void shared_add_slots(Snapshot *snapshot, const ResourceConfig *config, GPtrArray *hcas);

/* As resource_compose. */
Allocation *shared_compose(const ResourceConfig *config, const Snapshot *snapshot,
			   const struct file_checker *checker, GError **error);
