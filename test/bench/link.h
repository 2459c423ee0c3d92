/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link that can be cut: a pair of virtual Ethernet interfaces in a network namespace
 * of this thread's own, which the programs that it starts share.
 */
#pragma once

#include <glib.h>

typedef struct link Link;

/* The thread is in a new namespace with an interface of that name, which is up. NULL,
 * and why, where that is not allowed. */
Link *link_new(const char *interface, char **ret_why);
/* Back in the namespace of before. */
void link_free(Link *link);

/* Takes the other end down: the interface loses its carrier; or brings it up. */
void link_set_carrier(const Link *link, gboolean on);
/* Something else of the interface changes, which the kernel tells at once. */
void link_nudge(const Link *link);
