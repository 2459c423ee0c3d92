/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bus whose devices come from a text file: for tests without hardware, and the
 * example to copy for a new bus. What a backend has to do is in this file;
 * mock_file.c reads the text, where a real bus would read sysfs.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mock_file.h"

struct mock {
	const struct rdmadp_host *host;
	char directory[PATH_MAX];
	char path[PATH_MAX]; /* of the file in it */
	int events; /* inotify descriptor */
	struct stat reported; /* discover's: the file whose wrong lines it has logged */
	pthread_mutex_t lock; /* of what follows, for health runs in several threads at once */
	struct mock_file *file; /* as it was read last, or NULL */
	bool is_settled; /* it was not just written then */
};

/* --- time --- */

static double seconds_since(clockid_t clock, const struct timespec *start)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* Size and inode too, because the clock of a file system ticks slowly. */
static bool is_changed(const struct mock *mock, const struct stat *before)
{
	struct stat now = {0};

	stat(mock->path, &now);
	return now.st_ino != before->st_ino || now.st_size != before->st_size ||
	       now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

/* --- the file --- */

/* A change within the same tick as the one before it would not be seen afterwards. */
static bool is_settled(const struct mock_file *file)
{
	return seconds_since(CLOCK_REALTIME, &file->status.st_mtim) > 0.02;
}

/* With the lock held. */
static void release(struct mock_file *file)
{
	if (file && --file->users == 0)
		mock_file_free(file);
}

/* With the lock held. */
static int read_again(struct mock *mock, const struct rdmadp_host *host)
{
	struct mock_file *file;
	int error = mock_file_read(mock->path, host, &file);

	if (error < 0)
		return error;
	release(mock->file);
	mock->file = file;
	mock->file->users = 1;
	mock->is_settled = is_settled(file);
	return 0;
}

/* The file as it is now, which put_file gives back. It is read only where it may have
 * changed, or its wrong lines are to be logged: 'host' is not NULL. */
static int get_file(struct mock *mock, const struct rdmadp_host *host, struct mock_file **ret_file)
{
	int error = 0;

	pthread_mutex_lock(&mock->lock);
	if (host || !mock->file || !mock->is_settled || is_changed(mock, &mock->file->status))
		error = read_again(mock, host);
	if (error == 0) {
		mock->file->users++;
		*ret_file = mock->file;
	}
	pthread_mutex_unlock(&mock->lock);
	return error;
}

static void put_file(struct mock *mock, struct mock_file *file)
{
	pthread_mutex_lock(&mock->lock);
	release(file);
	pthread_mutex_unlock(&mock->lock);
}

/* Blocks until the time is over or the file has changed. A signal ends it, as it ends
 * most reads that wait for hardware: so the daemon can leave quickly. */
static int hang(const struct mock *mock, const struct mock_file *file, double seconds)
{
	const struct timespec step = {.tv_nsec = 10000000L};
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (seconds_since(CLOCK_MONOTONIC, &start) < seconds) {
		if (is_changed(mock, &file->status))
			return 0;
		if (nanosleep(&step, NULL) < 0)
			return -EINTR;
	}
	return 0;
}

/* --- discovery --- */

static int emit_devices(const struct mock_file *file, rdmadp_emit_fn emit, void *sink)
{
	for (const struct mock_device *device = file->devices; device; device = device->next) {
		int result = device->is_bad ? 0 : emit(sink, &device->abi);

		if (result != 0)
			return result;
	}
	return file->discover_error;
}

static int mock_discover(void *instance, rdmadp_emit_fn emit, void *sink)
{
	struct mock *mock = instance;
	struct mock_file *file;
	int result;

	/* Here, because the directory may have come since the last scan. First, because
	 * what is written after it must not be missed. Writing counts when it is done. */
	inotify_add_watch(mock->events, mock->directory,
			  IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
				  IN_DELETE_SELF);
	result = get_file(mock, is_changed(mock, &mock->reported) ? mock->host : NULL, &file);
	if (result < 0)
		return result;
	mock->reported = file->status;
	result = hang(mock, file, file->discover_hang);
	if (result == 0)
		result = emit_devices(file, emit, sink);
	put_file(mock, file);
	return result;
}

static int mock_event_fd(void *instance)
{
	const struct mock *mock = instance;

	return mock->events;
}

static int mock_event_ack(void *instance)
{
	const struct mock *mock = instance;
	char events[4096];
	int changed = 0;

	while (read(mock->events, events, sizeof(events)) > 0)
		changed = 1;
	return changed;
}

/* --- health --- */

static bool is_flapped(const struct mock_device *device, const struct mock_file *file)
{
	double age = seconds_since(CLOCK_REALTIME, &file->status.st_mtim);

	return device->flap > 0 && (long long)(age / device->flap) % 2 != 0;
}

static void judge(const struct mock_file *file, const char *id, struct rdmadp_health *ret)
{
	static const struct rdmadp_health gone = {.state = RDMADP_UNHEALTHY,
						  .reason = RDMADP_REASON_GONE,
						  .text = "it is not in the file"};
	static const struct rdmadp_health flapped = {
		.state = RDMADP_UNHEALTHY, .reason = RDMADP_REASON_LINK, .text = "the link flaps"};
	const struct mock_device *device = mock_file_find(file, id);
	const struct rdmadp_health *health = device ? &device->health : &gone;

	if (device && is_flapped(device, file))
		health = &flapped;
	ret->state = health->state;
	ret->reason = health->reason;
	memcpy(ret->text, health->text, sizeof(ret->text));
}

/* Runs in several threads at once, so what it shares with them is behind a lock, which
 * it does not hold while it hangs. It looks at the file each time, so that polling sees
 * what no event told. */
static int mock_health(void *instance, const struct rdmadp_device *device,
		       struct rdmadp_health *ret)
{
	struct mock *mock = instance;
	const struct mock_device *found;
	struct mock_file *file;
	int error = get_file(mock, NULL, &file);

	if (error < 0)
		return error;
	found = mock_file_find(file, device->id);
	if (found)
		error = hang(mock, file, found->hang);
	if (error == 0)
		judge(file, device->id, ret);
	put_file(mock, file);
	return error;
}

/* --- life --- */

static void mock_fini(void *instance)
{
	struct mock *mock = instance;

	close(mock->events);
	release(mock->file);
	pthread_mutex_destroy(&mock->lock);
	free(mock);
}

static int mock_init(const struct rdmadp_host *host, void **ret_instance)
{
	struct mock *mock;
	int events;

	if (strlen(host->sysfs_root) > PATH_MAX - sizeof("/bus/mock/devices"))
		return -ENAMETOOLONG;
	events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (events < 0)
		return -errno;
	mock = calloc(1, sizeof(*mock));
	if (!mock) {
		close(events);
		return -ENOMEM;
	}
	pthread_mutex_init(&mock->lock, NULL);
	mock->host = host;
	mock->events = events;
	snprintf(mock->directory, sizeof(mock->directory), "%s/bus/mock", host->sysfs_root);
	snprintf(mock->path, sizeof(mock->path), "%s/bus/mock/devices", host->sysfs_root);
	*ret_instance = mock;
	return 0;
}

/* No 'match': an equal attribute is all that a selector can mean on this bus. */
const struct rdmadp_backend rdmadp_backend_v1 = {
	.size = sizeof(rdmadp_backend_v1),
	.name = "mock",
	.version = "1",
	.keys = mock_keys,
	.init = mock_init,
	.fini = mock_fini,
	.discover = mock_discover,
	.health = mock_health,
	.event_fd = mock_event_fd,
	.event_ack = mock_event_ack,
};
