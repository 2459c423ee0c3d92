/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the kernel shows for it (kernel.overflowuid), and the host's "nobody". */
#define UNKNOWN_UID 65534

gboolean socket_file_fail(GError **error, enum listener_error code, const char *what,
			  const char *path, int error_number)
{
	g_set_error(error, LISTENER_ERROR, (int)code, "%s '%s': %s%s", what, path,
		    g_strerror(error_number), listener_access_hint(error_number));
	return FALSE;
}

const char *socket_file_kind(const struct stat *status)
{
	if (S_ISSOCK(status->st_mode))
		return "a socket";
	if (S_ISLNK(status->st_mode))
		return "a symbolic link (which is not followed)";
	return S_ISDIR(status->st_mode) ? "a directory" : "a file";
}

const char *socket_file_uid_hint(uid_t uid)
{
	return uid == UNKNOWN_UID ? " (nobody, or root of the host seen from another user "
				    "namespace: the pod must not have hostUsers: false)"
				  : "";
}

gboolean socket_file_is_trusted(const struct stat *status)
{
	return status->st_uid == 0 || status->st_uid == geteuid();
}

gboolean socket_file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void socket_file_address(struct sockaddr_un *ret_address, const char *path)
{
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	g_strlcpy(ret_address->sun_path, path, sizeof(ret_address->sun_path));
}

int socket_file_connect(const char *path)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int problem;

	if (fd < 0)
		return -errno;
	socket_file_address(&address, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	problem = errno;
	close(fd);
	return -problem;
}

/* 0 if somebody answers, else the errno of the attempt. */
static int dial(const char *path)
{
	int fd = socket_file_connect(path);

	/* A queue that is full has somebody who is slow to take from it. */
	if (fd < 0)
		return fd == -EAGAIN ? 0 : -fd;
	close(fd);
	return 0;
}

gboolean socket_file_unlink_same(int dir_fd, const char *name, const struct stat *expected)
{
	struct stat now;

	return fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       socket_file_is_same(&now, expected) && unlinkat(dir_fd, name, 0) == 0;
}

gboolean socket_file_remove_stale(int dir_fd, const char *name, const char *path,
				  const struct stat *status, GError **error)
{
	int answer = dial(path);

	if (answer == 0) {
		g_set_error(error, LISTENER_ERROR, LISTENER_ERROR_BUSY,
			    "another instance serves '%s': this one waits until it ends", path);
		return FALSE;
	}
	if (answer == ENOENT)
		return TRUE;
	if (answer != ECONNREFUSED)
		return socket_file_fail(error, LISTENER_ERROR_FAILED, "cannot find out who serves",
					path, answer);
	if (!socket_file_unlink_same(dir_fd, name, status))
		return socket_file_fail(error, LISTENER_ERROR_FAILED,
					"cannot remove the stale socket", path, errno);
	return TRUE;
}

gboolean socket_file_vacate(int dir_fd, const char *name, const char *path, GError **error)
{
	struct stat status;

	if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || socket_file_fail(error, LISTENER_ERROR_FAILED,
							   "cannot look at", path, errno);
	if (S_ISSOCK(status.st_mode) && socket_file_is_trusted(&status))
		return socket_file_remove_stale(dir_fd, name, path, &status, error);
	g_set_error(error, LISTENER_ERROR, LISTENER_ERROR_FOREIGN,
		    "'%s' is %s of uid %u%s and is left alone: remove it so that this name can "
		    "be served",
		    path, socket_file_kind(&status), status.st_uid,
		    socket_file_uid_hint(status.st_uid));
	return FALSE;
}

/* NFS and older ZFS know no rename that replaces nothing. A second name does not either. */
int socket_file_rename(int dir_fd, const char *from, const char *to)
{
	if (renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	if (linkat(dir_fd, from, dir_fd, to, 0) < 0)
		return errno;
	unlinkat(dir_fd, from, 0);
	return 0;
}
