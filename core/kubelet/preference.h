/* SPDX-License-Identifier: Apache-2.0 */
/* What the kubelet asks with GetPreferredAllocation, for one container. */
#pragma once

#include <glib.h>

struct preference {
	GStrv available; /* ids that are free, those of 'must' included */
	GStrv must; /* ids that are chosen already */
	int size; /* how many ids the container gets in all */
};
