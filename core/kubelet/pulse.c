/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/pulse.h"

#include <glib/gstdio.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kubelet/socket_file.h"

/* Much longer than a living one's main loop ever takes. */
#define SILENCE_US ((gint64)10 * G_USEC_PER_SEC)

struct pulse {
	int fd; /* connected; -1: not */
	gint64 since_us;
	struct stat file; /* that it is connected to */
};

Pulse *pulse_new(void)
{
	Pulse *self = g_new0(Pulse, 1);

	self->fd = -1;
	return self;
}

static void hang_up(Pulse *self)
{
	if (self->fd >= 0)
		close(self->fd);
	self->fd = -1;
}

void pulse_free(Pulse *pulse)
{
	if (!pulse)
		return;
	hang_up(pulse);
	g_free(pulse);
}

static void call(Pulse *self, const char *path, const struct stat *file, gint64 now_us)
{
	struct sockaddr_un address;

	hang_up(self);
	socket_file_address(&address, path);
	self->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	self->file = *file;
	self->since_us = now_us;
	if (self->fd >= 0 && connect(self->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		hang_up(self);
}

/* A greeting, or the end of the connection. */
static gboolean has_answered(const Pulse *self)
{
	struct pollfd poll_fd = {.fd = self->fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) != 0;
}

gboolean pulse_has_stopped(Pulse *pulse, const char *path, gint64 now_us)
{
	struct stat file;

	if (lstat(path, &file) < 0) {
		hang_up(pulse);
		return FALSE;
	}
	if (pulse->fd < 0 || !socket_file_is_same(&file, &pulse->file) || has_answered(pulse)) {
		call(pulse, path, &file, now_us);
		return FALSE;
	}
	return now_us - pulse->since_us >= SILENCE_US;
}

gboolean pulse_bury(Pulse *pulse, const char *path)
{
	struct stat file;

	hang_up(pulse);
	return lstat(path, &file) == 0 && socket_file_is_same(&file, &pulse->file) &&
	       g_unlink(path) == 0;
}
