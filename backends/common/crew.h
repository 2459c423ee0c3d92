/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at many things side by side. The kernel answers most attributes from memory, a
 * few microseconds each; with thousands of functions that is what a scan takes, and on
 * every node but the smallest a second CPU can take a part of it.
 */
#pragma once

#include "common/arena.h"

/* Looks at number 'i', and at nothing that belongs to another one. What it keeps comes
 * out of 'arena'. May run in any thread: no message, no list of the scan. */
typedef void (*crew_look_fn)(void *data, uint32_t i, struct arena *arena);

/* Calls 'look' for each number below 'n' and returns when all are done. What was kept
 * belongs to 'arena'. Without a second CPU, or a thread, the caller does it alone. */
void crew_look(uint32_t n, crew_look_fn look, void *data, struct arena *arena);
