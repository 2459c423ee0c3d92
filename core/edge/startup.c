/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/startup.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* What has no type is no file: gRPC makes an eventfd before main, and does not care for
 * its number. */
static gboolean is_file(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) != 0;
}

static void fill(int fd)
{
	int filler = open("/dev/null", O_RDWR);

	/* Without /dev, what can be neither read nor written does as well. */
	if (filler < 0)
		filler = open("/", O_PATH);
	if (filler < 0 || filler == fd)
		return;
	(void)dup2(filler, fd);
	close(filler);
}

void startup_fill_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (!is_file(fd))
			fill(fd);
}

void startup_set_umask(void)
{
	umask(S_IWGRP | S_IWOTH);
}

guint64 startup_raise_descriptors(guint64 wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return wanted;
	if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = {.rlim_cur = MIN(wanted, limit.rlim_max),
					.rlim_max = limit.rlim_max};

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			limit = raised;
	}
	return limit.rlim_cur;
}

/* It lives for as long as others are started. */
static void *wait_for_others(void *data)
{
	pthread_mutex_lock(data);
	pthread_mutex_unlock(data);
	return NULL;
}

guint startup_probe_threads(guint wanted, int *ret_error)
{
	pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
	g_autofree pthread_t *threads = g_new0(pthread_t, wanted);
	int error = 0;
	guint n = 0;

	pthread_mutex_lock(&starting);
	while (n < wanted && error == 0) {
		error = pthread_create(&threads[n], NULL, wait_for_others, &starting);
		n += error == 0 ? 1 : 0;
	}
	pthread_mutex_unlock(&starting);
	for (guint i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&starting);
	*ret_error = error;
	return n;
}

/* What the kernel was asked to start is known without /proc, too. */
char *startup_program(void)
{
	char *program = g_file_read_link("/proc/self/exe", NULL);

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives it as a number */
	return program != NULL ? program : g_strdup((const char *)getauxval(AT_EXECFN));
}

guint startup_descriptors_used(int fd)
{
	struct rlimit limit;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == 0)
		return 100;
	return (guint)MIN((rlim_t)fd * 100 / limit.rlim_cur, 100);
}
