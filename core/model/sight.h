/* SPDX-License-Identifier: Apache-2.0 */
/* What a scan and a health read say about an HCA, as observations for health.h. */
#pragma once

#include "model/hca.h"
#include "model/health.h"
#include "rdmadp/backend.h"

/* TRUE if the last scan found files missing, so that nothing else matters. */
gboolean sight_lacks_files(const struct hca *hca);
struct health_sight sight_of_files(const struct hca *hca);
/* Borrows the text of 'health'. */
struct health_sight sight_of_health(const struct rdmadp_health *health);
/* TRUE if what a health read says, that it or files of it are gone, is a matter of the scan
 * that has been under way for 'scan_age_ms' (-1: there is none): it may have other ones. */
gboolean sight_waits_for_scan(const struct rdmadp_health *health, gint64 scan_age_ms);
/* TRUE if it is a VF none of whose ports the last scan found ACTIVE: if it is healthy,
 * users should know why. */
gboolean sight_is_idle_function(const struct hca *hca);
