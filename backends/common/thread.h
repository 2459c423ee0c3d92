/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a backend. */
#pragma once

#include <pthread.h>

/* Signals are the core's: none is delivered to this thread. 0, or a negative errno. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data);
