/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "edge/log.h"
#include "edge/startup.h"
#include "kubelet/connections.h"
#include "kubelet/nag.h"
#include "kubelet/socket_file.h"
#include "model/socket_name.h"

/* Connections taken before others get their turn in the main loop. */
#define ACCEPT_BATCH 16
/* With no descriptor left accept fails at once, again and again: pause. */
#define ACCEPT_PAUSE_MS 100
/* A kubelet has one. */
#define MAX_CONNECTIONS 32
/* Of the descriptors, in percent: what is left is for the connections of those resources
 * that are served. */
#define LISTENERS_SHARE 60
/* A socket under this name is about to get its own. */
#define HIDDEN_PREFIX ".rdmadp-"
/* One that is older has been left by an instance that was killed just then. */
#define HIDDEN_S 60

struct listener {
	char *dir;
	char *name;
	char *path;
	char *area;
	int dir_fd;
	int file_fd; /* O_PATH on our socket's file: its inode number cannot be used again */
	int listen_fd;
	guint source;
	char *group; /* whose members may connect; NULL: only root and our own user */
	Connections *connections;
	listener_accepted_fn accepted;
	gpointer data;
	struct nag nag;
};

G_DEFINE_QUARK(rdmadp - listener - error, listener_error)

const char *listener_access_hint(int error_number)
{
	if (error_number != EACCES && error_number != EPERM)
		return "";
	return "; the daemon must run as uid 0 of the host, and where SELinux is enforced with the "
	       "type container_device_plugin_t (seLinuxOptions)";
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* --- the directory --- */

static void set_directory_error(GError **error, const char *dir, int error_number)
{
	if (error_number == ENOTDIR && g_file_test(dir, G_FILE_TEST_IS_SYMLINK))
		g_set_error(error, LISTENER_ERROR, LISTENER_ERROR_DIRECTORY,
			    "directory '%s' is a symbolic link, which is not followed: name the "
			    "directory that it leads to instead",
			    dir);
	else
		socket_file_fail(error, LISTENER_ERROR_DIRECTORY, "cannot use directory", dir,
				 error_number);
}

static int directory_open(const char *dir, GError **error)
{
	struct stat status;
	int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		set_directory_error(error, dir, errno);
		return -1;
	}
	if (fstat(fd, &status) == 0 && socket_file_is_trusted(&status) &&
	    !(status.st_mode & S_IWOTH))
		return fd;
	g_set_error(
		error, LISTENER_ERROR, LISTENER_ERROR_DIRECTORY,
		"directory '%s' belongs to uid %u%s and has mode %04o: it must belong to root or "
		"to us and not be writable for everybody",
		dir, status.st_uid, socket_file_uid_hint(status.st_uid), status.st_mode & 07777);
	close(fd);
	return -1;
}

static gboolean is_left_behind(const char *name, const char *dir, const char *resource,
			       const struct stat *status)
{
	gint64 age_s = g_get_real_time() / G_USEC_PER_SEC - status->st_mtime;

	return socket_name_is_of(name, dir, resource) ||
	       (g_str_has_prefix(name, HIDDEN_PREFIX) && ABS(age_s) > HIDDEN_S);
}

guint listener_sweep(const char *dir, const char *resource)
{
	g_autoptr(GDir) listing = g_dir_open(dir, 0, NULL);
	int dir_fd = listing ? directory_open(dir, NULL) : -1;
	const char *name;
	guint removed = 0;

	while (dir_fd >= 0 && (name = g_dir_read_name(listing)) != NULL) {
		g_autofree char *path = g_build_filename(dir, name, NULL);
		struct stat status;

		if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISSOCK(status.st_mode) && socket_file_is_trusted(&status) &&
		    is_left_behind(name, dir, resource, &status) &&
		    socket_file_remove_stale(dir_fd, name, path, &status, NULL))
			removed++;
	}
	close_fd(&dir_fd);
	return removed;
}

/* --- our own --- */

/* The name appears when connections are accepted already: whoever sees it can connect, and
 * of two instances that start at once one loses without harm to the other. */
static gboolean publish(Listener *self, const char *hidden, GError **error)
{
	int problem = socket_file_rename(self->dir_fd, hidden, self->name);

	if (problem == 0)
		return TRUE;
	if (problem == EEXIST)
		return socket_file_fail(error, LISTENER_ERROR_BUSY,
					"another instance was faster at", self->path, problem);
	return socket_file_fail(error, LISTENER_ERROR_FAILED, "cannot give the socket its name",
				self->path, problem);
}

static gboolean set_bind_error(const Listener *self, int error_number, GError **error)
{
	if (error_number != ENOENT)
		return socket_file_fail(error, LISTENER_ERROR_DIRECTORY,
					"cannot create a socket in", self->dir, error_number);
	/* We hold it open, so it was there: what is mounted here is gone on the host. */
	g_set_error(
		error, LISTENER_ERROR, LISTENER_ERROR_DIRECTORY,
		"directory '%s' was removed, and what is mounted here does not come back with a "
		"new one: restart the pod",
		self->dir);
	return FALSE;
}

static gboolean bind_hidden(Listener *self, const char *hidden, GError **error)
{
	g_autofree char *path = g_build_filename(self->dir, hidden, NULL);
	struct sockaddr_un address;

	socket_file_address(&address, path);
	/* The file takes its mode from the socket: no window with a wider one, and no
	 * umask to change for the whole process. */
	if (fchmod(self->listen_fd, 0600) < 0 ||
	    bind(self->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return set_bind_error(self, errno, error);
	self->file_fd = openat(self->dir_fd, hidden, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (self->file_fd < 0 || listen(self->listen_fd, SOMAXCONN) < 0)
		return socket_file_fail(error, LISTENER_ERROR_FAILED, "cannot listen in", self->dir,
					errno);
	return TRUE;
}

static gboolean find_group(const char *name, gid_t *ret_gid)
{
	char buffer[16384];
	struct group entry;
	struct group *found = NULL;
	guint64 number;

	if (g_ascii_string_to_unsigned(name, 10, 0, G_MAXUINT32 - 1, &number, NULL)) {
		*ret_gid = (gid_t)number;
		return TRUE;
	}
	if (getgrnam_r(name, &entry, buffer, sizeof(buffer), &found) != 0 || found == NULL)
		return FALSE;
	*ret_gid = found->gr_gid;
	return TRUE;
}

/* While nobody knows the name yet. Without the right to give it to the group, the socket
 * is still good for root. */
static gboolean open_to_group(const Listener *self, const char *hidden, GError **error)
{
	gid_t gid;

	if (self->group == NULL)
		return TRUE;
	if (self->group[0] != '\0' && !find_group(self->group, &gid))
		log_warning(self->area, "there is no group '%s': only root may connect to '%s'",
			    self->group, self->path);
	else if (self->group[0] != '\0' &&
		 fchownat(self->dir_fd, hidden, (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW) < 0)
		log_warning(self->area,
			    "cannot give '%s' to the group '%s': %s: only root may connect; make "
			    "the daemon a member of the group",
			    self->path, self->group, g_strerror(errno));
	return fchmodat(self->dir_fd, hidden, 0660, 0) == 0 ||
	       socket_file_fail(error, LISTENER_ERROR_FAILED, "cannot set the mode of", self->path,
				errno);
}

static gboolean bind_and_publish(Listener *self, GError **error)
{
	g_autofree char *hidden = g_strdup_printf(HIDDEN_PREFIX "%08x", g_random_int());

	self->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (self->listen_fd < 0)
		return socket_file_fail(error, LISTENER_ERROR_FAILED, "cannot create a socket for",
					self->path, errno);
	if (startup_descriptors_used(self->listen_fd) > LISTENERS_SHARE)
		return socket_file_fail(error, LISTENER_ERROR_FAILED,
					"too few descriptors to serve", self->path, EMFILE);
	if (bind_hidden(self, hidden, error) && open_to_group(self, hidden, error) &&
	    publish(self, hidden, error))
		return TRUE;
	unlinkat(self->dir_fd, hidden, 0);
	return FALSE;
}

/* --- connections --- */

static void complain(Listener *self, const char *text)
{
	if (nag_again(&self->nag, text, g_get_monotonic_time()))
		log_warning(self->area, "%s", text);
}

static gboolean is_trusted_peer(Listener *self, int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof(peer);
	g_autofree char *text = NULL;

	/* The file's mode has let them in. */
	if (self->group != NULL)
		return TRUE;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	    (peer.uid == 0 || peer.uid == geteuid()))
		return TRUE;
	text = g_strdup_printf(
		"refused a connection to '%s' of process %d with uid %u%s: only root "
		"may connect",
		self->path, peer.pid, peer.uid, socket_file_uid_hint(peer.uid));
	complain(self, text);
	return FALSE;
}

static gboolean is_one_too_many(Listener *self, int fd)
{
	g_autofree char *text = NULL;

	if (connections_add(self->connections, fd))
		return FALSE;
	text = g_strdup_printf("refused a connection to '%s': %d are open already (ss -xp tells "
			       "whose they are)",
			       self->path, MAX_CONNECTIONS);
	complain(self, text);
	return TRUE;
}

static gboolean resume_accepting(gpointer data);

/* Who connects has to wait: to a kubelet the resource is not there. */
static void pause_accepting(Listener *self, int error_number)
{
	g_autofree char *text =
		g_strdup_printf("cannot take a connection to '%s': %s; trying again", self->path,
				g_strerror(error_number));

	complain(self, text);
	self->source = g_timeout_add(ACCEPT_PAUSE_MS, resume_accepting, self);
}

static gboolean accept_connections(int listen_fd, GIOCondition condition, gpointer data)
{
	Listener *self = data;

	(void)condition;
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR))
			return G_SOURCE_CONTINUE;
		if (fd < 0) {
			pause_accepting(self, errno);
			return G_SOURCE_REMOVE;
		}
		if (is_trusted_peer(self, fd) && !is_one_too_many(self, fd))
			self->accepted(fd, self->data);
		else
			close(fd);
	}
	return G_SOURCE_CONTINUE;
}

static gboolean resume_accepting(gpointer data)
{
	Listener *self = data;

	self->source = g_unix_fd_add(self->listen_fd, G_IO_IN, accept_connections, self);
	return G_SOURCE_REMOVE;
}

/* --- life --- */

static gboolean listener_open(Listener *self, GError **error)
{
	self->dir_fd = directory_open(self->dir, error);
	return self->dir_fd >= 0 &&
	       socket_file_vacate(self->dir_fd, self->name, self->path, error) &&
	       bind_and_publish(self, error);
}

/* Closes without touching the directory. */
static void listener_destroy(Listener *self)
{
	if (self->source)
		g_source_remove(self->source);
	close_fd(&self->listen_fd);
	close_fd(&self->file_fd);
	close_fd(&self->dir_fd);
	connections_free(self->connections);
	nag_over(&self->nag);
	g_free(self->dir);
	g_free(self->name);
	g_free(self->path);
	g_free(self->area);
	g_free(self->group);
	g_free(self);
}

Listener *listener_new_for_group(const struct listener_plan *plan, listener_accepted_fn accepted,
				 gpointer data, GError **error)
{
	Listener *self = g_new0(Listener, 1);

	self->dir = g_strdup(plan->dir);
	self->name = g_strdup(plan->name);
	self->path = g_build_filename(plan->dir, plan->name, NULL);
	self->area = g_strdup(plan->area);
	self->group = g_strdup(plan->group);
	self->connections = connections_new(MAX_CONNECTIONS);
	self->accepted = accepted;
	self->data = data;
	self->dir_fd = self->file_fd = self->listen_fd = -1;
	if (!listener_open(self, error)) {
		listener_destroy(self);
		return NULL;
	}
	self->source = g_unix_fd_add(self->listen_fd, G_IO_IN, accept_connections, self);
	return self;
}

Listener *listener_new(const char *dir, const char *name, const char *area,
		       listener_accepted_fn accepted, gpointer data, GError **error)
{
	const struct listener_plan plan = {dir, name, area, NULL};

	return listener_new_for_group(&plan, accepted, data, error);
}

gboolean listener_is_intact(const Listener *listener)
{
	struct stat ours, there;

	return fstat(listener->file_fd, &ours) == 0 && lstat(listener->path, &there) == 0 &&
	       socket_file_is_same(&ours, &there);
}

void listener_free(Listener *listener)
{
	struct stat ours;

	if (!listener)
		return;
	if (fstat(listener->file_fd, &ours) == 0)
		socket_file_unlink_same(listener->dir_fd, listener->name, &ours);
	listener_destroy(listener);
}
