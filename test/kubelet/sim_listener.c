/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_listener.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

struct sim_listener {
	int fd;
	GSource *source;
	char *path;
	sim_listener_accept_fn accepted;
	gpointer data;
};

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
	SimListener *listener = data;
	(void)condition;
	int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (connection >= 0)
		listener->accepted(connection, listener->data);
	return G_SOURCE_CONTINUE;
}

static int make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

SimListener *sim_listener_new(const char *path, sim_listener_accept_fn accepted, gpointer data,
			      GError **error)
{
	int fd = make_socket(path);
	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
			    "cannot listen on '%s': %s", path, g_strerror(errno));
		return NULL;
	}
	SimListener *listener = g_new0(SimListener, 1);
	listener->fd = fd;
	listener->path = g_strdup(path);
	listener->accepted = accepted;
	listener->data = data;
	listener->source = g_unix_fd_source_new(fd, G_IO_IN);
	g_source_set_callback(listener->source, G_SOURCE_FUNC(on_readable), listener, NULL);
	g_source_attach(listener->source, g_main_context_get_thread_default());
	return listener;
}

void sim_listener_free(SimListener *listener, gboolean unlink_file)
{
	if (!listener)
		return;
	g_source_destroy(listener->source);
	g_source_unref(listener->source);
	close(listener->fd);
	if (unlink_file)
		unlink(listener->path);
	g_free(listener->path);
	g_free(listener);
}
