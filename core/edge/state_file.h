/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What outlives the process, on disk: one JSON file, replaced as a whole. It helps a
 * new process to keep its ids and its matches, and nothing depends on it: a file that
 * is missing, of another boot, of a later version or damaged is as none.
 */
#pragma once

#include "model/saved_state.h"

#define STATE_FILE_NAME "state.json"

enum state_file_error {
	STATE_FILE_ERROR_MISSING, /* there is none: nothing to be said about */
	STATE_FILE_ERROR_STALE, /* of another boot */
	STATE_FILE_ERROR_UNUSABLE, /* anything else */
};

#define STATE_FILE_ERROR (state_file_error_quark())
GQuark state_file_error_quark(void);

/* One word that changes with every boot, from a file such as
 * /proc/sys/kernel/random/boot_id. NULL and an error if it cannot be read. */
char *state_file_boot_id(const char *path, GError **error);

char *state_file_text(const SavedState *state, const char *boot_id);
SavedState *state_file_parse(const char *text, gsize length, const char *boot_id, GError **error);

/* 'dir' has the file. Anything else than a regular file of sane length is refused,
 * without waiting for it. */
SavedState *state_file_read(const char *dir, const char *boot_id, GError **error);

/* Makes the directory if only that is missing. */
gboolean state_file_make_dir(const char *dir, GError **error);
/* After a crash at any moment there is the old text or the new one. May block as long
 * as the disk does; any thread. */
gboolean state_file_write(const char *dir, const char *text, GError **error);
