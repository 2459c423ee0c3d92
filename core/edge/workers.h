/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for calls that may block for a minute or for ever. One is enough while
 * calls return; a job that waits for more than a moment gets another thread, so that
 * a call that hangs delays nobody. There are never more threads than jobs.
 */
#pragma once

#include <glib.h>

typedef struct workers Workers;

/* Runs a job in one of the threads; takes it over. */
typedef void (*workers_run_fn)(gpointer job);

/* 'discard' frees a job that is never run. They belong to the thread of the main
 * context that is the default now; all functions without a note are for that thread. */
Workers *workers_new(workers_run_fn run, GDestroyNotify discard);
Workers *workers_ref(Workers *workers); /* any thread */
void workers_unref(Workers *workers); /* any thread */

void workers_push(Workers *workers, gpointer job);
guint workers_threads(Workers *workers); /* any thread */

/* Jobs that wait are discarded, threads that are idle end. */
void workers_stop(Workers *workers);
/* Interrupts the system calls of running jobs. */
void workers_interrupt(Workers *workers);
/* Any thread. After workers_stop: returns when no job runs, and idle threads have ended: a
 * process that leaves while one does so confuses leak checkers. */
void workers_wait(Workers *workers);
