/* SPDX-License-Identifier: Apache-2.0 */
#include "common/port_probe.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/text.h"
#include "common/thread.h"

#define PATIENCE_MS 400 /* the rehearsal and the first scan together stay below a second */

/* Everything that the thread touches: it may outlive the scan. */
struct port_probe_job {
	struct arena arena;
	struct sysfs *sysfs;
	int (*read)(const struct sysfs *sysfs, enum sysfs_wait wait, const char *path, char *text,
		    size_t size);
	char **paths;
	uint32_t *states;
	uint32_t n;
	pthread_t thread;
	pthread_mutex_t lock; /* of the members below, and of states */
	pthread_cond_t changed;
	uint32_t n_read;
};

enum rdmadp_port_state port_state_parse(const char *text)
{
	if (text[0] < '0' || text[0] > '5' || text[1] != ':')
		return RDMADP_PORT_UNKNOWN;
	return (enum rdmadp_port_state)(text[0] - '0' + RDMADP_PORT_NOP);
}

static void *read_states(void *data)
{
	struct port_probe_job *job = data;

	for (uint32_t i = 0; i < job->n; i++) {
		char text[SYSFS_TEXT];
		int result = job->read(job->sysfs, SYSFS_NOWAIT, job->paths[i], text, sizeof(text));

		pthread_mutex_lock(&job->lock);
		job->states[i] = result < 0 ? RDMADP_PORT_UNKNOWN : port_state_parse(text);
		job->n_read++;
		pthread_cond_signal(&job->changed);
		pthread_mutex_unlock(&job->lock);
	}
	return NULL;
}

static void job_free(struct port_probe_job *job)
{
	pthread_mutex_destroy(&job->lock);
	pthread_cond_destroy(&job->changed);
	arena_free(&job->arena);
	free(job);
}

static bool job_fill(struct port_probe_job *job, const struct list *reads)
{
	job->n = reads->n;
	job->paths = arena_alloc(&job->arena, reads->n * sizeof(*job->paths));
	job->states = arena_alloc(&job->arena, reads->n * sizeof(*job->states));
	if (!job->paths || !job->states)
		return false;
	for (uint32_t i = 0; i < reads->n; i++) {
		const struct port_read *read = reads->items[i];

		job->paths[i] = arena_strdup(&job->arena, read->path);
		if (!job->paths[i])
			return false;
	}
	return true;
}

static struct port_probe_job *job_new(const struct port_probe *probe, struct sysfs *sysfs,
				      const struct list *reads)
{
	struct port_probe_job *job = calloc(1, sizeof(*job));
	pthread_condattr_t attributes;

	if (!job)
		return NULL;
	job->sysfs = sysfs;
	job->read = probe->read ? probe->read : sysfs_read;
	pthread_mutex_init(&job->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&job->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (job_fill(job, reads))
		return job;
	job_free(job);
	return NULL;
}

static struct timespec deadline(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_nsec += PATIENCE_MS * 1000000L;
	now.tv_sec += now.tv_nsec / 1000000000L;
	now.tv_nsec %= 1000000000L;
	return now;
}

/* Takes over what was read in time: that many from the first on. */
static uint32_t job_wait(struct port_probe_job *job, const struct list *reads)
{
	struct timespec until = deadline();
	uint32_t n_read;

	pthread_mutex_lock(&job->lock);
	while (job->n_read < job->n &&
	       pthread_cond_timedwait(&job->changed, &job->lock, &until) == 0)
		;
	n_read = job->n_read;
	for (uint32_t i = 0; i < n_read; i++)
		*((struct port_read *)reads->items[i])->state = job->states[i];
	pthread_mutex_unlock(&job->lock);
	return n_read;
}

static void job_join(struct port_probe_job *job)
{
	pthread_join(job->thread, NULL);
	job_free(job);
}

/* TRUE if a thread of an earlier scan still hangs. */
static bool is_busy(struct port_probe *probe)
{
	bool busy;

	if (!probe->job)
		return false;
	pthread_mutex_lock(&probe->job->lock);
	busy = probe->job->n_read < probe->job->n;
	pthread_mutex_unlock(&probe->job->lock);
	if (!busy)
		port_probe_end(probe);
	return busy;
}

int port_probe_run(struct port_probe *probe, struct sysfs *sysfs, const struct list *reads)
{
	struct port_probe_job *job;
	uint32_t n_read;
	int result;

	if (reads->n == 0 || is_busy(probe))
		return 0;
	job = job_new(probe, sysfs, reads);
	if (!job)
		return -ENOMEM;
	result = thread_start(&job->thread, read_states, job);
	if (result < 0) {
		job_free(job);
		return result;
	}
	n_read = job_wait(job, reads);
	if (n_read == job->n) {
		job_join(job);
		return 0;
	}
	probe->job = job;
	sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
		       "'%s' has no answer after %d ms: the scan goes on, port states unknown",
		       job->paths[n_read], PATIENCE_MS);
	return 0;
}

void port_probe_end(struct port_probe *probe)
{
	if (probe->job)
		job_join(probe->job);
	probe->job = NULL;
}
