/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for calls that may block for a minute or for ever. One is enough while
 * calls return; a job that waits for more than a moment gets another thread, so that
 * a call that hangs delays nobody. There are never more threads than jobs.
 */
#pragma once

#include <glib.h>

typedef struct pool Pool;

/* Runs a job in one of the pool's threads; takes it over. */
typedef void (*pool_run_fn)(gpointer job);

/* 'discard' frees a job that is never run. The pool belongs to the thread of the main
 * context that is the default now; all functions without a note are for that thread. */
Pool *pool_new(pool_run_fn run, GDestroyNotify discard);
Pool *pool_ref(Pool *pool); /* any thread */
void pool_unref(Pool *pool); /* any thread */

void pool_push(Pool *pool, gpointer job);
guint pool_threads(Pool *pool); /* any thread */

/* Jobs that wait are discarded, threads that are idle end. */
void pool_stop(Pool *pool);
/* Interrupts the system calls of running jobs. */
void pool_interrupt(Pool *pool);
/* Any thread. After pool_stop: returns when no job runs. */
void pool_wait(Pool *pool);
