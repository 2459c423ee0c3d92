/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains selectors that match nothing by what is there instead: most of them are
 * a typing error or an id of another kind.
 */
#pragma once

#include "model/selector.h"

/* One text (char *) for each thing that keeps a selector object from matching, such
 * as "deviceIDs 0d00, b500 match no device; devices that pass the other lists have
 * 159b", and one for each attribute that is none of 'keys', the ones that the backend can
 * report (NULL: any). Where devices are taken, one for the names and addresses of a list
 * that are nobody's. Empty if there is nothing of all that.
 * 'devices' (Device *) are all that the bus has. */
GPtrArray *selector_candidates(const ResourceConfig *config, GPtrArray *devices,
			       selector_match_fn match, gpointer match_data,
			       const char *const *keys);
