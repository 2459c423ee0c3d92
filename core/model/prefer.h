/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices to prefer for one container in exclusive mode. Pure, n log n, never
 * fails: a request that cannot be met gets what there is.
 *
 * Packed: after the devices that must be included, as few NUMA nodes as possible, then
 * as few PCIe roots, switches and cards; where that leaves a choice, a group that just
 * suffices is taken before a larger one, so that large groups stay whole, then the
 * lowest ids. Where several groups are needed the largest are taken first.
 * Distributed: as few NUMA nodes as possible, there over the physical functions, so
 * that what is left is even, and as many of them as that allows.
 */
#pragma once

#include <glib.h>

#include "model/resource_config.h"

struct prefer_candidate {
	const char *id;
	int numa_node; /* -1: not known */
	const char *pcie_root; /* "" or NULL: not known */
	const char *pcie_path; /* from the root down, the device itself last */
	const char *parent; /* physical function of a VF or SF; NULL: the device itself */
	gboolean must; /* has to be included */
	/* prefer.c's own */
	guint root; /* by name */
	gsize switch_length, card_length; /* bytes of pcie_path */
};

/* Reorders 'candidates'. Returns 'size' ids (fewer if there are fewer), sorted;
 * borrowed from the candidates. */
GPtrArray *prefer_choose(struct prefer_candidate *candidates, gsize n_candidates, gsize size,
			 enum allocation_policy policy);
