/* SPDX-License-Identifier: Apache-2.0 */
/* Which container holds which device, as the kubelet said at one moment. Immutable. */
#pragma once

#include <glib.h>

#include "kubelet/messages.h"

typedef struct holdings Holdings;

/* Takes the array of messages_unpack_pod_resources over. 'asked_us': when the kubelet
 * was asked; what it said is not older. 'age_us': how long it had run by then. */
Holdings *holdings_new(GPtrArray *list, gint64 asked_us, gint64 age_us);
Holdings *holdings_ref(Holdings *holdings);
void holdings_unref(Holdings *holdings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Holdings, holdings_unref)

gint64 holdings_asked_us(const Holdings *holdings);
/* A young kubelet may not know all of the pods that run. */
gint64 holdings_age_us(const Holdings *holdings);
/* struct holding *, in the kubelet's order; borrowed. Ids mean something only together
 * with their resource. */
const GPtrArray *holdings_list(const Holdings *holdings);

/* An id that two containers hold. */
struct double_holding {
	const char *id;
	const struct holding *first, *second;
};
/* struct double_holding: of one resource, in the kubelet's order; borrowed from it. */
GArray *holdings_doubles(const Holdings *holdings, const char *resource);
