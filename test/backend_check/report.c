/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_STACK ((gsize)1 << 20)
#else
#define CHECK_STACK ((gsize)256 << 10)
#endif

/* Shared with the child that runs a check. */
struct shared {
	guint n_ok;
	guint n_failures; /* every one */
	guint n_failed; /* those that were printed: each once for a check */
	char step[256];
};

static struct shared *shared;

static struct shared *shared_get(void)
{
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	g_assert(shared != MAP_FAILED);
	return shared;
}

/* A line is written at once: what follows may be a crash. */
static void print_line(const char *verdict, const char *text)
{
	g_autofree char *printable = g_utf8_make_valid(text, -1);

	printf("%-4s  %s\n", verdict, printable);
	fflush(stdout);
}

void report_step(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(shared_get()->step, sizeof(shared->step), format, args);
	va_end(args);
}

static void print_format(const char *verdict, const char *format, va_list args) G_GNUC_PRINTF(2, 0);

static void print_format(const char *verdict, const char *format, va_list args)
{
	g_autofree char *text = g_strdup_vprintf(format, args);

	print_line(verdict, text);
}

void report_ok(const char *format, ...)
{
	va_list args;

	shared_get()->n_ok++;
	va_start(args, format);
	print_format("ok", format, args);
	va_end(args);
}

/* A check looks many times: what it has found once it would find each time. */
static gboolean is_new(const char *text)
{
	static GHashTable *seen;

	if (!seen)
		seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return g_hash_table_add(seen, g_strdup(text));
}

void report_fail(const char *format, ...)
{
	static GMutex mutex; /* the backend logs from any thread */
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_mutex_lock(&mutex);
	shared_get()->n_failures++;
	if (is_new(text)) {
		shared->n_failed++;
		print_line("FAIL", text);
	}
	g_mutex_unlock(&mutex);
}

void report_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_format("note", format, args);
	va_end(args);
}

guint report_failures(void)
{
	return shared_get()->n_failures;
}

void report_ok_since(guint failures, const char *format, ...)
{
	va_list args;

	if (report_failures() != failures)
		return;
	shared->n_ok++;
	va_start(args, format);
	print_format("ok", format, args);
	va_end(args);
}

/* Waits for the child; after the limit it is killed. */
static int wait_child(pid_t child, guint limit_s, gboolean *ret_late)
{
	gint64 end = g_get_monotonic_time() + (gint64)limit_s * G_USEC_PER_SEC;
	int status = 0;

	*ret_late = FALSE;
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (!*ret_late && g_get_monotonic_time() > end) {
			*ret_late = TRUE;
			kill(child, SIGKILL);
		}
		g_usleep(2000);
	}
	return status;
}

static void judge_end(const char *name, int status, gboolean late, guint limit_s)
{
	const char *step = shared->step;

	if (late)
		report_fail("%s: %s does not return within %u s", name, step, limit_s);
	else if (WIFSIGNALED(status))
		report_fail("%s: %s: killed by signal %d (%s)", name, step, WTERMSIG(status),
			    strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		report_fail("%s: %s: the process ended with status %d", name, step,
			    WEXITSTATUS(status));
}

struct job {
	check_fn check;
	const struct options *options;
};

static void *run_job(void *data)
{
	const struct job *job = data;

	job->check(job->options);
	return NULL;
}

/* In a thread with no more stack than the core gives; a sanitizer's frames are larger. */
static void run_thread(check_fn check, const struct options *options)
{
	struct job job = {check, options};
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, CHECK_STACK);
	if (pthread_create(&thread, &attributes, run_job, &job) == 0)
		pthread_join(thread, NULL);
	else
		report_fail("no thread can be started");
	pthread_attr_destroy(&attributes);
}

gboolean report_run(const char *name, check_fn check, const struct options *options)
{
	guint before = report_failures();
	gboolean late;
	pid_t child;
	int status;

	report_step("start");
	fflush(stdout);
	child = fork();
	if (child < 0) {
		report_fail("%s: no process can be started: %s", name, g_strerror(errno));
		return FALSE;
	}
	if (child == 0) {
		run_thread(check, options);
		report_step("exit, where what was not freed is found");
		exit(0); /* NOLINT(concurrency-mt-unsafe): leak checkers want a real exit */
	}
	status = wait_child(child, options->limit_s, &late);
	judge_end(name, status, late, options->limit_s);
	return report_failures() == before;
}

gboolean report_end(void)
{
	printf("%u ok, %u failed\n", shared_get()->n_ok, shared->n_failed);
	fflush(stdout);
	return shared->n_failed == 0;
}
