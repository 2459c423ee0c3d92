/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/file_watch.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* An editor or the kubelet makes several changes in a row. */
#define QUIET_MS 50

#define EVENTS                                                                                     \
	(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF |   \
	 IN_MOVE_SELF | IN_ATTRIB)

/* What tells one version of a file from another; all zero if there is none. */
struct signature {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct file_watch {
	char *path;
	void (*changed)(gpointer data);
	gpointer data;
	int fd;
	guint source;
	guint quiet;
	struct signature seen;
};

static struct signature signature_read(const char *path)
{
	struct signature signature = {0};
	struct stat status;

	if (stat(path, &status) == 0)
		signature = (struct signature){status.st_dev, status.st_ino, status.st_size,
					       status.st_mtim};
	return signature;
}

static gboolean signature_equal(const struct signature *a, const struct signature *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Watches the nearest directory above 'path' that exists. Adding a watch that is there
 * already changes nothing, so this can be repeated whenever something happened. */
static gboolean watch_above(const FileWatch *watch, const char *path)
{
	g_autofree char *directory = g_path_get_dirname(path);

	while (inotify_add_watch(watch->fd, directory, EVENTS) < 0) {
		char *above;

		if (errno != ENOENT && errno != ENOTDIR)
			return FALSE;
		above = g_path_get_dirname(directory);
		g_free(directory);
		directory = above;
	}
	return TRUE;
}

/* The directory of the path itself, and that of the file that a link leads to. */
static gboolean watch_again(const FileWatch *watch)
{
	g_autofree char *target = realpath(watch->path, NULL);

	return watch_above(watch, watch->path) && (target == NULL || watch_above(watch, target));
}

static gboolean file_watch_on_quiet(gpointer data)
{
	FileWatch *watch = data;
	struct signature now;

	watch->quiet = 0;
	watch_again(watch);
	now = signature_read(watch->path);
	if (signature_equal(&now, &watch->seen))
		return G_SOURCE_REMOVE;
	watch->seen = now;
	watch->changed(watch->data);
	return G_SOURCE_REMOVE;
}

static gboolean file_watch_on_event(gint fd, GIOCondition condition G_GNUC_UNUSED, gpointer data)
{
	FileWatch *watch = data;
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

	while (read(fd, events, sizeof(events)) > 0)
		continue;
	if (watch->quiet == 0)
		watch->quiet = g_timeout_add(QUIET_MS, file_watch_on_quiet, watch);
	return G_SOURCE_CONTINUE;
}

FileWatch *file_watch_new(const char *path, void (*changed)(gpointer data), gpointer data,
			  GError **error)
{
	FileWatch *watch = g_new0(FileWatch, 1);

	watch->path = g_strdup(path);
	watch->changed = changed;
	watch->data = data;
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0 || !watch_again(watch)) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "'%s' cannot be watched: %s; changes need a SIGHUP", path,
			    g_strerror(errno));
		file_watch_free(watch);
		return NULL;
	}
	watch->seen = signature_read(path);
	watch->source = g_unix_fd_add(watch->fd, G_IO_IN, file_watch_on_event, watch);
	return watch;
}

void file_watch_free(FileWatch *watch)
{
	if (watch == NULL)
		return;
	if (watch->quiet != 0)
		g_source_remove(watch->quiet);
	if (watch->source != 0)
		g_source_remove(watch->source);
	if (watch->fd >= 0)
		close(watch->fd);
	g_free(watch->path);
	g_free(watch);
}
