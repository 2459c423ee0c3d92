/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what must survive a restart of the daemon in the state directory. Without a
 * directory that can be used everything works, but for ids and matches that are made
 * anew. Nothing ever waits for the disk: files are written in a thread.
 */
#pragma once

#include "edge/settings.h"
#include "model/saved_state.h"

typedef struct state State;

/* Reads what the former process has left. 'collect' fills an empty state with what is
 * to be saved now. */
State *state_new(const char *dir, const char *boot_id_file,
		 void (*collect)(SavedState *saved, gpointer data), gpointer data);
/* Collects for the last time: afterwards the buses and pools may go. */
void state_stop(State *state);
/* Writes what has changed, waiting at most 'wait_ms' for the disk. */
void state_free(State *state, guint wait_ms);

/* What is known of a bus (Device *), or NULL. Borrowed. */
GPtrArray *state_bus(const State *state, const char *name);
/* The former process's entry, once; NULL if there is none. Without HCAs if its selectors
 * were others. */
struct saved_resource *state_take_resource(State *state, const ResourceConfig *config);

/* What the former process has left and nobody has taken. Borrowed. */
const SavedState *state_before(const State *state);

/* Something may have changed: looked at, and written if so, within a second. */
void state_touch(State *state);

/* The former process's state, for a program that only looks; NULL if there is none. */
SavedState *state_peek(const char *dir, const char *boot_id_file);

#define STATE_BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
