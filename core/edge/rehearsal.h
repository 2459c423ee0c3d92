/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first discovery of a backend happens in a child process, so that a backend
 * that crashes or hangs takes nothing down but itself. The child is this program
 * started again ("rdmadp rehearse …"), not a fork.
 */
#pragma once

#include <glib.h>

#define REHEARSAL_LIMIT_MS 5000

/* Called once in the thread-default main context. 'error' is NULL when the
 * backend survived; otherwise it names the signal, the exit status with the
 * child's last line, or the time-out. */
typedef void (*rehearsal_done_fn)(const GError *error, gpointer data);

typedef struct rehearsal Rehearsal;

/* Starts the child. Several rehearsals run side by side. */
Rehearsal *rehearsal_start(const char *program, const char *backend_dir, const char *name,
			   const char *sysfs_root, const char *dev_root, rehearsal_done_fn done,
			   gpointer data);
/* Kills a child that still runs; 'done' is not called any more. */
void rehearsal_free(Rehearsal *rehearsal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rehearsal, rehearsal_free)

/* The child's side: loads, init, discover, fini. Returns the exit status and
 * writes one line of reason to stderr when it is not 0. */
int rehearsal_perform(const char *backend_dir, const char *name, const char *sysfs_root,
		      const char *dev_root);
