/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/watch.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/log.h"

#define POLL_S 5
/* Without inotify a look is all there is. */
#define POLL_ALONE_S 1

#define CHANGES                                                                                    \
	(IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF |     \
	 IN_ONLYDIR)

struct watch {
	char *dir;
	char *parent;
	char *base;
	int fd;
	int dir_wd, parent_wd;
	guint source, timer;
	gboolean watches; /* FALSE: the kernel has no room for it, and the timer is quicker */
	void (*look)(gpointer data);
	gpointer data;
};

/* TRUE unless the kernel has no room for one more watch: a directory that is not there
 * is no such trouble, its parent tells when it comes. */
static gboolean arm(Watch *self, int *wd, const char *path)
{
	/* The kernel gives the same number for a directory that is watched already, and a
	 * new one for another directory of the same name. */
	int now = inotify_add_watch(self->fd, path, CHANGES);
	int problem = errno;

	if (*wd >= 0 && *wd != now)
		inotify_rm_watch(self->fd, *wd);
	*wd = now;
	errno = problem;
	return now >= 0 || (problem != ENOSPC && problem != ENOMEM);
}

static gboolean read_events(int fd, GIOCondition condition, gpointer data);

static gboolean open_inotify(Watch *self)
{
	if (self->fd >= 0)
		return TRUE;
	self->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (self->fd < 0)
		return FALSE;
	self->source = g_unix_fd_add(self->fd, G_IO_IN, read_events, self);
	return TRUE;
}

static gboolean try_to_watch(Watch *self)
{
	return open_inotify(self) && arm(self, &self->dir_wd, self->dir) &&
	       arm(self, &self->parent_wd, self->parent);
}

static gboolean poll_now(gpointer data);

/* Watches, or has its timer look more often meanwhile and tries again with each look. */
static void arm_all(Watch *self)
{
	gboolean watches = try_to_watch(self);
	int problem = errno;

	if (self->timer && watches == self->watches)
		return;
	if (!watches)
		log_warning("kubelet",
			    "cannot watch '%s': %s; looking every %d s instead "
			    "(fs.inotify.max_user_instances and max_user_watches are the limits)",
			    self->dir, g_strerror(problem), POLL_ALONE_S);
	else if (self->timer)
		log_info("kubelet", "'%s' can be watched now", self->dir);
	self->watches = watches;
	if (self->timer)
		g_source_remove(self->timer);
	self->timer = g_timeout_add_seconds(watches ? POLL_S : POLL_ALONE_S, poll_now, self);
}

/* Of the parent only our directory is of interest, and in that only sockets: the kubelet
 * writes its checkpoint there with every allocation. */
static gboolean is_ours(const Watch *self, const struct inotify_event *event)
{
	if (event->len == 0)
		return TRUE;
	if (event->wd == self->parent_wd)
		return strcmp(event->name, self->base) == 0;
	return g_str_has_suffix(event->name, ".sock");
}

static gboolean burst_is_ours(const Watch *self, const char *buffer, gsize size)
{
	gboolean ours = FALSE;

	for (gsize at = 0; at < size;) {
		const struct inotify_event *event =
			(const struct inotify_event *)(const void *)(buffer + at);

		ours = ours || is_ours(self, event);
		at += sizeof(*event) + event->len;
	}
	return ours;
}

static gboolean read_events(int fd, GIOCondition condition, gpointer data)
{
	Watch *self = data;
	union {
		char bytes[8192];
		struct inotify_event align;
	} buffer;
	gboolean ours = FALSE;
	ssize_t size;

	(void)condition;
	while ((size = read(fd, buffer.bytes, sizeof(buffer.bytes))) > 0)
		ours = burst_is_ours(self, buffer.bytes, (gsize)size) || ours;
	if (ours) {
		arm_all(self);
		self->look(self->data);
	}
	return G_SOURCE_CONTINUE;
}

static gboolean poll_now(gpointer data)
{
	Watch *self = data;

	arm_all(self);
	self->look(self->data);
	return G_SOURCE_CONTINUE;
}

Watch *watch_new(const char *dir, void (*look)(gpointer data), gpointer data)
{
	Watch *self = g_new0(Watch, 1);

	self->dir = g_strdup(dir);
	self->parent = g_path_get_dirname(dir);
	self->base = g_path_get_basename(dir);
	self->dir_wd = self->parent_wd = -1;
	self->look = look;
	self->data = data;
	self->fd = -1;
	arm_all(self);
	return self;
}

void watch_free(Watch *watch)
{
	if (!watch)
		return;
	g_source_remove(watch->timer);
	if (watch->source)
		g_source_remove(watch->source);
	if (watch->fd >= 0)
		close(watch->fd);
	g_free(watch->dir);
	g_free(watch->parent);
	g_free(watch->base);
	g_free(watch);
}
