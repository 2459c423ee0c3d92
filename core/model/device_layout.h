/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public contract's structs as tables, so that copying, checking and comparing
 * them is one walk. Only for device.c.
 */
#pragma once

#include <glib.h>

#include "rdmadp/backend.h"

/* Owns every byte of a copy. */
struct device_arena {
	GStringChunk *texts;
	GPtrArray *blocks;
};

void device_arena_init(struct device_arena *arena);
void device_arena_clear(struct device_arena *arena);

/* Copies and checks. On failure the error names the member, *to is of no use. */
gboolean device_layout_copy(struct device_arena *arena, const struct rdmadp_device *from,
			    struct rdmadp_device *to, GError **error);
/* Both are copies. */
gboolean device_layout_equal(const struct rdmadp_device *a, const struct rdmadp_device *b);
