/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/event_watch.h"

#include <poll.h>
#include <sys/eventfd.h>

#define MS G_GINT64_CONSTANT(1000)
#define QUIET_US (100 * MS)
#define LIMIT_US (1000 * MS)
#define PACE_US (10 * MS)
#define MAX_STRIKES 10

/* 0 = never */
static gint64 due_time(const struct event_watch *watch)
{
	return watch->first == 0 ? 0 : MIN(watch->last + QUIET_US, watch->first + LIMIT_US);
}

static int timeout_ms(gint64 now, gint64 a, gint64 b)
{
	gint64 until = a != 0 && b != 0 ? MIN(a, b) : MAX(a, b);

	return until == 0 ? -1 : (int)((MAX(until - now, 0) + MS - 1) / MS);
}

gboolean event_watch_wait(struct event_watch *watch, int wake_fd, gint64 now, short *ret_revents)
{
	gboolean paused = watch->fd >= 0 && now < watch->paused_until;
	struct pollfd fds[] = {
		{.fd = wake_fd, .events = POLLIN},
		{.fd = paused ? -1 : watch->fd, .events = POLLIN},
	};
	gint64 resume = paused ? watch->paused_until : 0;
	eventfd_t count;

	if (poll(fds, G_N_ELEMENTS(fds), timeout_ms(now, due_time(watch), resume)) <= 0)
		return FALSE;
	if (fds[0].revents)
		(void)eventfd_read(wake_fd, &count);
	if (fds[1].revents)
		*ret_revents = fds[1].revents;
	return fds[1].revents != 0;
}

gboolean event_watch_note(struct event_watch *watch, int result, short revents, gint64 now)
{
	watch->paused_until = now + PACE_US;
	/* a failure may have lost events: that is worth a scan, too */
	if (result != 0) {
		if (watch->first == 0)
			watch->first = now;
		watch->last = now;
	}
	if (result >= 0 && !(revents & (POLLERR | POLLHUP | POLLNVAL)))
		watch->strikes = 0;
	else if (++watch->strikes == MAX_STRIKES)
		watch->fd = -1;
	return watch->fd >= 0;
}

gboolean event_watch_is_due(const struct event_watch *watch, gint64 now)
{
	return watch->first != 0 && now >= due_time(watch);
}
