/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/pool.h"

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

struct pool {
	atomic_uint refs;
	pool_run_fn run;
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
	guint running;
	guint done;
	gboolean stopped;
	gboolean short_of_threads; /* and said so */
};

static void arm_growth(Pool *pool, guint delay_ms);

Pool *pool_new(pool_run_fn run, GDestroyNotify discard)
{
	Pool *pool = g_new0(Pool, 1);

	atomic_init(&pool->refs, 1);
	pool->run = run;
	pool->discard = discard;
	pool->context = g_main_context_ref_thread_default();
	pthread_mutex_init(&pool->lock, NULL);
	thread_cond_init(&pool->pushed);
	thread_cond_init(&pool->quiet);
	g_queue_init(&pool->jobs);
	pool->workers = g_ptr_array_new();
	return pool;
}

Pool *pool_ref(Pool *pool)
{
	atomic_fetch_add(&pool->refs, 1);
	return pool;
}

void pool_unref(Pool *pool)
{
	if (atomic_fetch_sub(&pool->refs, 1) != 1)
		return;
	g_main_context_unref(pool->context);
	g_ptr_array_unref(pool->workers);
	pthread_cond_destroy(&pool->pushed);
	pthread_cond_destroy(&pool->quiet);
	pthread_mutex_destroy(&pool->lock);
	g_free(pool);
}

/* Under the lock. NULL tells the thread to end: one idle thread is enough. */
static gpointer next_job(Pool *pool)
{
	gint64 until = g_get_monotonic_time() + IDLE_US;

	while (!pool->stopped && g_queue_is_empty(&pool->jobs)) {
		gboolean in_time;

		if (pool->idle > 0)
			return NULL;
		pool->idle++;
		in_time = thread_cond_wait_until(&pool->pushed, &pool->lock, until);
		pool->idle--;
		if (!in_time)
			break;
	}
	return g_queue_pop_head(&pool->jobs);
}

static void run_job(Pool *pool, struct worker *self, gpointer job)
{
	self->busy = TRUE;
	pool->running++;
	pthread_mutex_unlock(&pool->lock);
	pool->run(job);
	pthread_mutex_lock(&pool->lock);
	self->busy = FALSE;
	pool->done++;
	if (--pool->running == 0)
		pthread_cond_broadcast(&pool->quiet);
}

static void *worker_main(void *data)
{
	Pool *pool = data;
	struct worker self = {.thread = pthread_self()};
	gpointer job;

	(void)pthread_setname_np(self.thread, "health");
	pthread_mutex_lock(&pool->lock);
	g_ptr_array_add(pool->workers, &self);
	while ((job = next_job(pool)))
		run_job(pool, &self, job);
	g_ptr_array_remove_fast(pool->workers, &self);
	pool->threads--;
	pthread_mutex_unlock(&pool->lock);
	pool_unref(pool);
	return NULL;
}

/* Under the lock. */
static gboolean start_worker(Pool *pool)
{
	int result = thread_start_detached(worker_main, pool_ref(pool));

	if (result == 0)
		pool->threads++;
	else
		atomic_fetch_sub(&pool->refs, 1); /* not the last one: the caller has one */
	if (result != 0 && !pool->short_of_threads)
		log_warning("backend", "no thread could be started (%s): health reads wait",
			    g_strerror(result));
	pool->short_of_threads = result != 0;
	return result == 0;
}

/* While jobs get done, those that wait will be, too. Once nothing moved for a moment
 * the number of threads doubles, as far as there are jobs for them. */
static guint grow(Pool *pool)
{
	guint delay_ms = PATIENCE_MS;
	guint coming;

	pthread_mutex_lock(&pool->lock);
	coming = pool->threads - pool->workers->len;
	if (g_queue_is_empty(&pool->jobs)) {
		delay_ms = 0;
	} else if (pool->done == pool->done_before && coming < pool->jobs.length) {
		guint more = MIN(pool->jobs.length - coming, MAX(pool->threads, 1));

		while (more > 0 && start_worker(pool))
			more--;
		if (more > 0)
			delay_ms = RETRY_MS;
	}
	pool->done_before = pool->done;
	pthread_mutex_unlock(&pool->lock);
	return delay_ms;
}

static void disarm_growth(Pool *pool)
{
	if (!pool->growth)
		return;
	g_source_destroy(pool->growth);
	g_clear_pointer(&pool->growth, g_source_unref);
}

static gboolean on_growth(gpointer data)
{
	Pool *pool = data;
	guint delay_ms = grow(pool);

	disarm_growth(pool);
	if (delay_ms > 0)
		arm_growth(pool, delay_ms);
	return G_SOURCE_REMOVE;
}

static void arm_growth(Pool *pool, guint delay_ms)
{
	pool->growth = g_timeout_source_new(delay_ms);
	g_source_set_callback(pool->growth, on_growth, pool, NULL);
	g_source_attach(pool->growth, pool->context);
}

void pool_push(Pool *pool, gpointer job)
{
	gboolean waits;

	pthread_mutex_lock(&pool->lock);
	g_queue_push_tail(&pool->jobs, job);
	waits = pool->jobs.length > pool->idle;
	if (pool->threads == 0)
		(void)start_worker(pool);
	pthread_cond_signal(&pool->pushed);
	if (waits && !pool->growth)
		pool->done_before = pool->done;
	pthread_mutex_unlock(&pool->lock);
	if (waits && !pool->growth)
		arm_growth(pool, PATIENCE_MS);
}

guint pool_threads(Pool *pool)
{
	guint threads;

	pthread_mutex_lock(&pool->lock);
	threads = pool->threads;
	pthread_mutex_unlock(&pool->lock);
	return threads;
}

void pool_stop(Pool *pool)
{
	GQueue rest;
	gpointer job;

	disarm_growth(pool);
	pthread_mutex_lock(&pool->lock);
	pool->stopped = TRUE;
	rest = pool->jobs;
	g_queue_init(&pool->jobs);
	pthread_cond_broadcast(&pool->pushed);
	pthread_mutex_unlock(&pool->lock);
	while ((job = g_queue_pop_head(&rest)))
		pool->discard(job);
}

void pool_interrupt(Pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	for (guint i = 0; i < pool->workers->len; i++) {
		const struct worker *worker = g_ptr_array_index(pool->workers, i);

		if (worker->busy)
			thread_interrupt(worker->thread);
	}
	pthread_mutex_unlock(&pool->lock);
}

void pool_wait(Pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->running > 0)
		pthread_cond_wait(&pool->quiet, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
