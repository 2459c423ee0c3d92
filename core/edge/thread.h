/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that call backends. All signals are blocked in them (they belong to the
 * main thread), except one that interrupts a system call that does not come back.
 */
#pragma once

#include <glib.h>
#include <pthread.h>

typedef void *(*thread_main_fn)(void *data);

/* What the contract promises a backend. Memory is only spent on what is touched. */
#define THREAD_STACK_BYTES ((gsize)256 * 1024)

/* 0 or a positive errno, like pthread_create. A detached thread has no *ret_thread. */
int thread_start(thread_main_fn run, void *data, pthread_t *ret_thread);
int thread_start_detached(thread_main_fn run, void *data);

/* Makes a system call of that thread return EINTR, if it can. The thread must not
 * have ended, which the caller knows from its own locking. */
void thread_interrupt(pthread_t thread);

/* A condition whose timed waits follow the clock of g_get_monotonic_time. */
void thread_cond_init(pthread_cond_t *cond);
/* FALSE when the time has come without a signal. */
gboolean thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, gint64 until_us);
