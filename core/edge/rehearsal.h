/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first discovery of a backend happens in a child process, so that a backend
 * that crashes or hangs takes nothing down but itself. The child is this program
 * started again ("rdmadp rehearse …"), not a fork.
 */
#pragma once

#include <glib.h>

#define REHEARSAL_LIMIT_MS 5000

/* What is rehearsed. */
struct rehearsal_plan {
	const char *program; /* path of the program that has rehearsal_main; for the parent */
	const char *backend_dir;
	const char *name;
	const char *sysfs_root;
	const char *dev_root;
	guint limit_ms; /* 0 = REHEARSAL_LIMIT_MS */
};

enum rehearsal_error {
	REHEARSAL_ERROR_LACK, /* the child did not start, or was killed from outside, as for
			       * want of memory: says nothing of the backend */
	REHEARSAL_ERROR_REFUSED /* the child said no, died or was too slow */
};

#define REHEARSAL_ERROR (rehearsal_error_quark())
GQuark rehearsal_error_quark(void);

/* Called once in the thread-default main context. 'error' is NULL when the
 * backend survived; otherwise it names the signal, the exit status with the
 * child's last line, or the time-out. May free the rehearsal. */
typedef void (*rehearsal_done_fn)(const GError *error, gpointer data);

typedef struct rehearsal Rehearsal;

/* Starts the child. Several rehearsals run side by side. NULL and an error when it
 * cannot be started; then 'done' is not called. */
Rehearsal *rehearsal_start(const struct rehearsal_plan *plan, rehearsal_done_fn done, gpointer data,
			   GError **error);
/* Kills a child that still runs; 'done' is not called any more. */
void rehearsal_free(Rehearsal *rehearsal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rehearsal, rehearsal_free)

/* Exit statuses of the child besides 0. */
enum {
	REHEARSAL_EXIT_USAGE = 2,
	REHEARSAL_EXIT_REFUSED = 3, /* the last line of its output is the error */
	REHEARSAL_EXIT_EARLY = 4, /* the backend called exit() */
	REHEARSAL_EXIT_LACK = 5 /* something was short; the last line as for REFUSED */
};

/* The child's side: loads, init, discover, fini. Returns the exit status and writes one
 * line of reason to stderr when it is not 0. A scan that fails is no reason: the bus
 * may not be there yet, and the daemon lives with failed scans. */
int rehearsal_perform(const struct rehearsal_plan *plan);

/* The command "rehearse": arguments as rehearsal_start makes them, argv[0] is the
 * command's name. For main, before anything else is set up. */
int rehearsal_main(int argc, char **argv);
