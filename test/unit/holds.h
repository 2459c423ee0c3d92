/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <string.h>

#include "kubelet/holdings.h"

/* Does a container hold the resource's device? */
static inline gboolean holds(const Holdings *holdings, const char *resource, const char *id)
{
	const GPtrArray *list = holdings_list(holdings);

	for (guint i = 0; i < list->len; i++) {
		const struct holding *holding = g_ptr_array_index(list, i);

		if (strcmp(holding->resource, resource) == 0 &&
		    g_ptr_array_find_with_equal_func(holding->ids, id, g_str_equal, NULL))
			return TRUE;
	}
	return FALSE;
}
