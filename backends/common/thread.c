/* SPDX-License-Identifier: Apache-2.0 */
#include "common/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data)
{
	sigset_t all;
	sigset_t before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(ret_thread, NULL, run, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -result;
}
