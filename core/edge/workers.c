/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/workers.h"

#include <pthread.h>
#include <stdatomic.h>

#include "edge/log.h"
#include "edge/thread.h"

/* How long a job waits before it gets a thread of its own; a read of an HCA that
 * works takes some microseconds. */
#define PATIENCE_MS 2
/* After a thread could not be started. */
#define RETRY_MS 1000
/* For how long the last thread waits for another job. */
#define IDLE_US (G_GINT64_CONSTANT(10) * G_USEC_PER_SEC)

struct worker {
	pthread_t thread;
	gboolean busy;
};

struct workers {
	atomic_uint refs;
	workers_run_fn run;
	GDestroyNotify discard;
	GMainContext *context;
	GSource *growth; /* the owner's timer, while a job waits */
	guint done_before; /* 'done' when the timer was set */
	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t pushed;
	pthread_cond_t quiet;
	GQueue jobs;
	GPtrArray *workers; /* struct worker *, on the threads' stacks */
	guint threads; /* started and not ended; workers join the array a bit later */
	guint idle;
	guint done;
	gboolean stopped;
	gboolean short_of_threads; /* and said so */
};

static void arm_growth(Workers *workers, guint delay_ms);

Workers *workers_new(workers_run_fn run, GDestroyNotify discard)
{
	Workers *workers = g_new0(Workers, 1);

	atomic_init(&workers->refs, 1);
	workers->run = run;
	workers->discard = discard;
	workers->context = g_main_context_ref_thread_default();
	pthread_mutex_init(&workers->lock, NULL);
	thread_cond_init(&workers->pushed);
	thread_cond_init(&workers->quiet);
	g_queue_init(&workers->jobs);
	workers->workers = g_ptr_array_new();
	return workers;
}

Workers *workers_ref(Workers *workers)
{
	atomic_fetch_add(&workers->refs, 1);
	return workers;
}

void workers_unref(Workers *workers)
{
	if (atomic_fetch_sub(&workers->refs, 1) != 1)
		return;
	g_main_context_unref(workers->context);
	g_ptr_array_unref(workers->workers);
	pthread_cond_destroy(&workers->pushed);
	pthread_cond_destroy(&workers->quiet);
	pthread_mutex_destroy(&workers->lock);
	g_free(workers);
}

/* Under the lock. NULL tells the thread to end: one idle thread is enough. */
static gpointer next_job(Workers *workers)
{
	gint64 until = g_get_monotonic_time() + IDLE_US;

	while (!workers->stopped && g_queue_is_empty(&workers->jobs)) {
		gboolean in_time;

		if (workers->idle > 0)
			return NULL;
		workers->idle++;
		in_time = thread_cond_wait_until(&workers->pushed, &workers->lock, until);
		workers->idle--;
		if (!in_time)
			break;
	}
	return g_queue_pop_head(&workers->jobs);
}

static void run_job(Workers *workers, struct worker *self, gpointer job)
{
	self->busy = TRUE;
	pthread_mutex_unlock(&workers->lock);
	workers->run(job);
	pthread_mutex_lock(&workers->lock);
	self->busy = FALSE;
	workers->done++;
}

static void *worker_main(void *data)
{
	Workers *workers = data;
	struct worker self = {.thread = pthread_self()};
	gpointer job;

	(void)pthread_setname_np(self.thread, "health");
	pthread_mutex_lock(&workers->lock);
	g_ptr_array_add(workers->workers, &self);
	while ((job = next_job(workers)))
		run_job(workers, &self, job);
	g_ptr_array_remove_fast(workers->workers, &self);
	if (--workers->threads == 0)
		pthread_cond_broadcast(&workers->quiet);
	pthread_mutex_unlock(&workers->lock);
	workers_unref(workers);
	return NULL;
}

/* Under the lock. */
static gboolean start_worker(Workers *workers)
{
	int result = thread_start_detached(worker_main, workers_ref(workers));

	if (result == 0)
		workers->threads++;
	else
		atomic_fetch_sub(&workers->refs, 1); /* not the last one: the caller has one */
	if (result != 0 && !workers->short_of_threads)
		log_warning("backend", "no thread could be started (%s): health reads wait",
			    g_strerror(result));
	workers->short_of_threads = result != 0;
	return result == 0;
}

/* While jobs get done, those that wait will be, too. Once nothing moved for a moment
 * the number of threads doubles, as far as there are jobs for them. */
static guint grow(Workers *workers)
{
	guint delay_ms = PATIENCE_MS;
	guint coming;

	pthread_mutex_lock(&workers->lock);
	coming = workers->threads - workers->workers->len;
	if (g_queue_is_empty(&workers->jobs)) {
		delay_ms = 0;
	} else if (workers->done == workers->done_before && coming < workers->jobs.length) {
		guint more = MIN(workers->jobs.length - coming, MAX(workers->threads, 1));

		while (more > 0 && start_worker(workers))
			more--;
		if (more > 0)
			delay_ms = RETRY_MS;
	}
	workers->done_before = workers->done;
	pthread_mutex_unlock(&workers->lock);
	return delay_ms;
}

static void disarm_growth(Workers *workers)
{
	if (!workers->growth)
		return;
	g_source_destroy(workers->growth);
	g_clear_pointer(&workers->growth, g_source_unref);
}

static gboolean on_growth(gpointer data)
{
	Workers *workers = data;
	guint delay_ms = grow(workers);

	disarm_growth(workers);
	if (delay_ms > 0)
		arm_growth(workers, delay_ms);
	return G_SOURCE_REMOVE;
}

static void arm_growth(Workers *workers, guint delay_ms)
{
	workers->growth = g_timeout_source_new(delay_ms);
	g_source_set_callback(workers->growth, on_growth, workers, NULL);
	g_source_attach(workers->growth, workers->context);
}

void workers_push(Workers *workers, gpointer job)
{
	gboolean waits;

	pthread_mutex_lock(&workers->lock);
	g_queue_push_tail(&workers->jobs, job);
	waits = workers->jobs.length > workers->idle;
	if (workers->threads == 0)
		(void)start_worker(workers);
	pthread_cond_signal(&workers->pushed);
	if (waits && !workers->growth)
		workers->done_before = workers->done;
	pthread_mutex_unlock(&workers->lock);
	if (waits && !workers->growth)
		arm_growth(workers, PATIENCE_MS);
}

guint workers_threads(Workers *workers)
{
	guint threads;

	pthread_mutex_lock(&workers->lock);
	threads = workers->threads;
	pthread_mutex_unlock(&workers->lock);
	return threads;
}

void workers_stop(Workers *workers)
{
	GQueue rest;
	gpointer job;

	disarm_growth(workers);
	pthread_mutex_lock(&workers->lock);
	workers->stopped = TRUE;
	rest = workers->jobs;
	g_queue_init(&workers->jobs);
	pthread_cond_broadcast(&workers->pushed);
	pthread_mutex_unlock(&workers->lock);
	while ((job = g_queue_pop_head(&rest)))
		workers->discard(job);
}

void workers_interrupt(Workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	for (guint i = 0; i < workers->workers->len; i++) {
		const struct worker *worker = g_ptr_array_index(workers->workers, i);

		if (worker->busy)
			thread_interrupt(worker->thread);
	}
	pthread_mutex_unlock(&workers->lock);
}

void workers_wait(Workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	while (workers->threads > 0)
		pthread_cond_wait(&workers->quiet, &workers->lock);
	pthread_mutex_unlock(&workers->lock);
}
