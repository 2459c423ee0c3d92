/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/file_watch.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* An editor or the kubelet makes several changes in a row. */
#define QUIET_MS 50
/* Who empties, removes or begins a file is about to write it. */
#define PATIENCE_US G_USEC_PER_SEC
/* The kernel tells nothing of what is mounted over a directory, and of what another
 * machine writes on a network file system. */
#define LOOK_S 60
/* As many as the kernel follows. */
#define MOST_LINKS 40

#define FINISHED (IN_MOVED_TO | IN_CLOSE_WRITE)
#define EVENTS                                                                                     \
	(FINISHED | IN_CREATE | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |        \
	 IN_ATTRIB)

/* What tells one version of a file from another; all zero if there is none. The time of
 * its last change also moves with its permissions, and nobody can set it. */
struct signature {
	dev_t device;
	ino_t inode;
	mode_t mode;
	off_t size;
	struct timespec changed;
};

struct file_watch {
	char *path;
	void (*changed)(gpointer data);
	gpointer data;
	int fd;
	guint source;
	guint quiet, look;
	gboolean waits; /* 'quiet' is the long wait, for who has not finished */
	gboolean finished; /* something was closed, or moved in place, since the last look */
	gint64 waits_since_us; /* 0: for nobody */
	struct signature seen;
};

static struct signature signature_read(const char *path)
{
	struct signature signature = {0};
	struct stat status;

	if (stat(path, &status) == 0)
		signature = (struct signature){status.st_dev, status.st_ino, status.st_mode,
					       status.st_size, status.st_ctim};
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

/* The first part of the path that is a link: how long the path is up to there, and where
 * it leads. FALSE if there is none. */
static gboolean find_link(const char *path, gsize *ret_length, char **ret_target)
{
	for (const char *end = path; *end != '\0';) {
		g_autofree char *part = NULL;

		end += strspn(end, "/");
		end += strcspn(end, "/");
		part = g_strndup(path, (gsize)(end - path));
		*ret_target = g_file_read_link(part, NULL);
		*ret_length = (gsize)(end - path);
		if (*ret_target != NULL)
			return TRUE;
	}
	return FALSE;
}

/* The directory of the file, and those of all links on the way to it: whoever replaces
 * one of them changes the file. */
static gboolean watch_again(const FileWatch *watch)
{
	g_autofree char *path = g_strdup(watch->path);
	char *target;
	gsize length;

	for (guint i = 0; i < MOST_LINKS && find_link(path, &length, &target); i++) {
		g_autofree char *link = g_strndup(path, length);
		g_autofree char *directory = g_path_get_dirname(link);
		const char *base = g_path_is_absolute(target) ? "" : directory;
		char *next =
			g_strconcat(base, *base == '\0' ? "" : "/", target, path + length, NULL);

		g_free(target);
		g_free(path);
		path = next;
		if (!watch_above(watch, link))
			return FALSE;
	}
	return watch_above(watch, path);
}

/* What is not there, is empty or has only just been begun may be about to be written. */
static gboolean is_finished(const FileWatch *watch, const struct signature *now)
{
	gint64 changed_us =
		(gint64)now->changed.tv_sec * G_USEC_PER_SEC + now->changed.tv_nsec / 1000;

	if (now->mode == 0 || (S_ISREG(now->mode) && now->size == 0))
		return FALSE;
	return watch->finished || g_get_real_time() - changed_us > PATIENCE_US;
}

static gboolean file_watch_on_quiet(gpointer data);

static void arm(FileWatch *watch, gint64 wait_us)
{
	g_clear_handle_id(&watch->quiet, g_source_remove);
	watch->quiet = g_timeout_add((guint)(wait_us / 1000 + 1), file_watch_on_quiet, watch);
}

/* TRUE if it is better to look once more later, which is taken care of. */
static gboolean is_waited_for(FileWatch *watch, const struct signature *now)
{
	gint64 now_us = g_get_monotonic_time();
	gint64 left_us;

	if (is_finished(watch, now))
		return FALSE;
	if (watch->waits_since_us == 0)
		watch->waits_since_us = now_us;
	left_us = watch->waits_since_us + PATIENCE_US - now_us;
	if (left_us <= 0)
		return FALSE;
	watch->waits = TRUE;
	arm(watch, left_us);
	return TRUE;
}

void file_watch_look(FileWatch *watch)
{
	struct signature now;

	watch_again(watch);
	now = signature_read(watch->path);
	if (!signature_equal(&now, &watch->seen) && is_waited_for(watch, &now))
		return;
	watch->waits_since_us = 0;
	watch->finished = FALSE;
	if (signature_equal(&now, &watch->seen))
		return;
	watch->seen = now;
	watch->changed(watch->data);
}

static gboolean file_watch_on_quiet(gpointer data)
{
	FileWatch *watch = data;

	watch->quiet = 0;
	watch->waits = FALSE;
	file_watch_look(watch);
	return G_SOURCE_REMOVE;
}

static gboolean file_watch_on_look(gpointer data)
{
	file_watch_look(data);
	return G_SOURCE_CONTINUE;
}

static gboolean has_finished(const char *events, gsize length)
{
	gboolean finished = FALSE;

	for (gsize at = 0; at < length;) {
		const struct inotify_event *event = (const void *)(events + at);

		finished |= (event->mask & FINISHED) != 0;
		at += sizeof(*event) + event->len;
	}
	return finished;
}

static gboolean file_watch_on_event(gint fd, GIOCondition condition G_GNUC_UNUSED, gpointer data)
{
	FileWatch *watch = data;
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t length;

	while ((length = read(fd, events, sizeof(events))) > 0)
		watch->finished |= has_finished(events, (gsize)length);
	if (watch->quiet == 0 || watch->waits) {
		watch->waits = FALSE;
		arm(watch, QUIET_MS * G_TIME_SPAN_MILLISECOND);
	}
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
			    "'%s' cannot be watched: %s", path, g_strerror(errno));
		file_watch_free(watch);
		return NULL;
	}
	watch->seen = signature_read(path);
	watch->look = g_timeout_add_seconds(LOOK_S, file_watch_on_look, watch);
	watch->source = g_unix_fd_add(watch->fd, G_IO_IN, file_watch_on_event, watch);
	return watch;
}

void file_watch_free(FileWatch *watch)
{
	if (watch == NULL)
		return;
	g_clear_handle_id(&watch->quiet, g_source_remove);
	g_clear_handle_id(&watch->look, g_source_remove);
	g_clear_handle_id(&watch->source, g_source_remove);
	if (watch->fd >= 0)
		close(watch->fd);
	g_free(watch->path);
	g_free(watch);
}
