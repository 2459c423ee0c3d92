/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that several resources select. Shared resources may have it together; where
 * one of two is exclusive, the first in file order keeps it. And a physical function is
 * not given away as a whole while one of its virtual functions is, or was a moment ago:
 * all of them vanish when their number is changed. Pure.
 */
#pragma once

#include "model/device.h"
#include "model/finding.h"
#include "model/resource_config.h"

/* What one resource selects. */
struct overlap_claim {
	const ResourceConfig *config;
	gboolean exclusive; /* as it is now: "auto" may be either */
	GPtrArray *devices; /* Device *; what it may not have is taken out */
	GPtrArray *shown; /* Device *: what pods may have through it, there or not; or NULL */
	char *waits; /* by custody_settle: why devices are kept back, or NULL */
};

enum overlap_kind {
	OVERLAP_SHARED, /* both have it */
	OVERLAP_EXCLUSIVE, /* the second does not get it */
	OVERLAP_PARENT, /* the second does not get it: the first has one of its VFs */
};

struct overlap {
	enum overlap_kind kind;
	Device *device; /* held */
	const ResourceConfig *first, *second; /* in file order, but for OVERLAP_PARENT */
};

void overlap_free(struct overlap *overlap);

/* Of the resources (struct overlap_claim *) of one bus, in file order. Returns struct
 * overlap *, which borrow the configurations. */
GPtrArray *overlap_resolve(GPtrArray *claims);

/* One finding for each pair of resources and kind: an error where the file order had to
 * decide. */
void overlap_tell(GPtrArray *overlaps, GPtrArray *findings);
