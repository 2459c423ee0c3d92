/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/pulse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "kubelet/socket_file.h"

/* Much longer than a living one's main loop ever takes. */
#define SILENCE_US ((gint64)10 * G_USEC_PER_SEC)
/* Whoever looks less often was stopped itself, perhaps with the other one. */
#define LONGEST_PAUSE_US ((gint64)2 * G_USEC_PER_SEC)

struct pulse {
	int fd; /* connected; negative: not */
	gint64 looked_us; /* last */
	gint64 silent_us; /* so long, as far as we have looked */
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
	hang_up(self);
	self->fd = socket_file_connect(path);
	self->file = *file;
	self->looked_us = now_us;
	self->silent_us = 0;
}

/* No greeting, and no end of the connection; or still no room for one in its queue. */
static gboolean is_silent(Pulse *self, const char *path)
{
	struct pollfd poll_fd = {.fd = self->fd, .events = POLLIN};

	if (self->fd == -EAGAIN) {
		self->fd = socket_file_connect(path);
		return self->fd == -EAGAIN;
	}
	return self->fd >= 0 && poll(&poll_fd, 1, 0) == 0;
}

gboolean pulse_has_stopped(Pulse *pulse, const char *path, gint64 now_us)
{
	struct stat file;

	if (lstat(path, &file) < 0) {
		hang_up(pulse);
		return FALSE;
	}
	if (!socket_file_is_same(&file, &pulse->file) || !is_silent(pulse, path)) {
		call(pulse, path, &file, now_us);
		return FALSE;
	}
	pulse->silent_us += MIN(now_us - pulse->looked_us, LONGEST_PAUSE_US);
	pulse->looked_us = now_us;
	return pulse->silent_us >= SILENCE_US;
}

gboolean pulse_bury(Pulse *pulse, const char *path)
{
	hang_up(pulse);
	return socket_file_unlink_same(AT_FDCWD, path, &pulse->file);
}
