/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define INTERRUPT_SIGNAL SIGUSR1
#define US_PER_S G_GINT64_CONSTANT(1000000)

static void on_interrupt(int signal_number)
{
	(void)signal_number;
}

/* Without SA_RESTART: the point of the signal is that the call does not go on. */
static void install_handler(void)
{
	struct sigaction action = {.sa_handler = on_interrupt};

	sigemptyset(&action.sa_mask);
	(void)sigaction(INTERRUPT_SIGNAL, &action, NULL);
}

static void fill_mask(sigset_t *ret_mask)
{
	static const int open[] = {INTERRUPT_SIGNAL, SIGSEGV, SIGBUS,  SIGILL,
				   SIGFPE,	     SIGABRT, SIGTRAP, SIGSYS};

	sigfillset(ret_mask);
	for (gsize i = 0; i < G_N_ELEMENTS(open); i++)
		sigdelset(ret_mask, open[i]);
}

static int start(thread_main_fn run, void *data, int detach_state, pthread_t *ret_thread)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_attr_t attributes;
	sigset_t before;
	sigset_t mask;
	int result;

	pthread_once(&once, install_handler);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, detach_state);
	fill_mask(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, &before);
	result = pthread_create(ret_thread, &attributes, run, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return result;
}

int thread_start(thread_main_fn run, void *data, pthread_t *ret_thread)
{
	return start(run, data, PTHREAD_CREATE_JOINABLE, ret_thread);
}

int thread_start_detached(thread_main_fn run, void *data)
{
	pthread_t thread;

	return start(run, data, PTHREAD_CREATE_DETACHED, &thread);
}

void thread_interrupt(pthread_t thread)
{
	(void)pthread_kill(thread, INTERRUPT_SIGNAL);
}

void thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

gboolean thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, gint64 until_us)
{
	struct timespec until = {.tv_sec = until_us / US_PER_S,
				 .tv_nsec = (until_us % US_PER_S) * 1000};

	return pthread_cond_timedwait(cond, lock, &until) != ETIMEDOUT;
}
