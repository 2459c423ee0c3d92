/* SPDX-License-Identifier: Apache-2.0 */
/* Why a resource offers what it offers, for 'explain' and 'check-config'. */
#pragma once

#include "daemon/survey.h"
#include "model/finding.h"

/* What one resource makes of one device. */
struct verdict {
	const char *word; /* "taken", "taken, not usable", "refused" */
	char *why; /* NULL if taken and usable */
	struct refusal refusal; /* members NULL unless a selector refused it */
};

struct verdict verdict_take(const Survey *survey, const struct survey_resource *resource,
			    const Device *device);
void verdict_clear(struct verdict *verdict);

/* For a resource that offers nothing why, the shortest list of reasons that explains it;
 * then what else is to be said. The texts do not name the resource. */
GPtrArray *reasons_list(const Survey *survey, const struct survey_resource *resource);

/* What is wrong with the configuration on this node. */
void reasons_tell(const Survey *survey, GPtrArray *findings);
