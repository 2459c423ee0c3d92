/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel tells everybody that an interface went down before it tells the RDMA driver,
 * whose port still shows the former state then. So what a link message is about is looked
 * at again a few times, for a second.
 */
#pragma once

#include <glib.h>

typedef struct relook Relook;

typedef void (*relook_fn)(const char *interface, gpointer data);

Relook *relook_new(relook_fn look, gpointer data);
void relook_free(Relook *relook); /* NULL is a no-op */

/* The interface was looked at just now. */
void relook_note(Relook *relook, const char *interface);
