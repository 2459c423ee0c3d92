/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared mode: slots that all stand for all HCAs of the resource. Only for
 * resource.c, which has what every mode needs.
 */
#pragma once

#include "model/resource.h"

/* Which of the slots that the HCAs (struct hca *, by ordinal) make are bad: a byte a
 * slot. Empty before the first HCA is ready. */
GByteArray *shared_bad_slots(const ResourceConfig *config, GPtrArray *hcas);

/* Adds these slots. '*ids' are those of the last call; replaced if there are more. */
void shared_add_slots(Snapshot *snapshot, const ResourceConfig *config, GPtrArray *hcas,
		      SlotIds **ids);

/* As resource_compose. */
Allocation *shared_compose(const ResourceConfig *config, const Snapshot *snapshot,
			   const struct file_checker *checker, GError **error);
