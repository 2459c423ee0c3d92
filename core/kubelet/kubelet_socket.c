/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/kubelet_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kubelet/socket_file.h"

struct kubelet_socket {
	char *dir;
	char *path;
	int fd; /* O_PATH; -1 if it was not there at the last look */
	guint generation;
};

G_DEFINE_QUARK(rdmadp - kubelet - socket - error, kubelet_socket_error)

KubeletSocket *kubelet_socket_new(const char *dir)
{
	KubeletSocket *self = g_new0(KubeletSocket, 1);

	self->dir = g_strdup(dir);
	self->path = g_build_filename(dir, "kubelet.sock", NULL);
	self->fd = -1;
	return self;
}

void kubelet_socket_free(KubeletSocket *socket)
{
	if (!socket)
		return;
	if (socket->fd >= 0)
		close(socket->fd);
	g_free(socket->dir);
	g_free(socket->path);
	g_free(socket);
}

const char *kubelet_socket_path(const KubeletSocket *socket)
{
	return socket->path;
}

static gboolean is_same(int a, int b)
{
	struct stat status_a, status_b;

	return a >= 0 && b >= 0 && fstat(a, &status_a) == 0 && fstat(b, &status_b) == 0 &&
	       status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

gboolean kubelet_socket_look(KubeletSocket *socket)
{
	int fd = open(socket->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	/* Nothing was seen: to take that for a kubelet that is gone would end all streams. */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return FALSE;
	if (is_same(fd, socket->fd)) {
		close(fd);
		return FALSE;
	}
	if (socket->fd >= 0)
		close(socket->fd);
	socket->fd = fd;
	if (fd >= 0)
		socket->generation++;
	return fd >= 0;
}

guint kubelet_socket_generation(const KubeletSocket *socket)
{
	return socket->generation;
}

static gboolean set_absent(const KubeletSocket *socket, GError **error)
{
	if (!g_file_test(socket->dir, G_FILE_TEST_IS_DIR))
		g_set_error(error, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_ABSENT,
			    "there is no directory '%s' to meet the kubelet in: mount the host's",
			    socket->dir);
	else
		g_set_error(
			error, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_ABSENT,
			"waiting for '%s': either the kubelet is not up yet, or the directory is "
			"not the host's (mount the host's device-plugins directory)",
			socket->path);
	return FALSE;
}

static gboolean check_access(const KubeletSocket *socket, GError **error)
{
	int problem;

	if (access(socket->path, W_OK) == 0 || errno == ENOENT)
		return TRUE;
	problem = errno;
	g_set_error(error, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_UNUSABLE,
		    "cannot connect to '%s': %s%s", socket->path, g_strerror(problem),
		    listener_access_hint(problem));
	return FALSE;
}

gboolean kubelet_socket_check(const KubeletSocket *socket, GError **error)
{
	struct stat status = {0};

	if (socket->fd < 0)
		return set_absent(socket, error);
	if (fstat(socket->fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
	    socket_file_is_trusted(&status))
		return check_access(socket, error);
	g_set_error(error, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_UNUSABLE,
		    "'%s' is %s of uid %u%s, not the kubelet's: nothing is registered there",
		    socket->path, socket_file_kind(&status), status.st_uid,
		    socket_file_uid_hint(status.st_uid));
	return FALSE;
}

char *kubelet_socket_pin(const KubeletSocket *socket, int *ret_fd)
{
	int fd = fcntl(socket->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);

	*ret_fd = -1;
	if (fd < 0)
		return g_strdup(socket->path);
	if (access(link, F_OK) < 0) {
		close(fd);
		return g_strdup(socket->path);
	}
	*ret_fd = fd;
	return g_steal_pointer(&link);
}
