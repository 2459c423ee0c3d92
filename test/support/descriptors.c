/* SPDX-License-Identifier: Apache-2.0 */
#include "support/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void set_limit(const struct rlimit *limit)
{
	if (setrlimit(RLIMIT_NOFILE, limit) < 0)
		g_error("the limit of open files cannot be set: %s", g_strerror(errno));
}

struct rlimit descriptors_leave(guint n)
{
	int lowest = open("/", O_PATH | O_CLOEXEC);
	struct rlimit before, few;

	if (lowest < 0 || getrlimit(RLIMIT_NOFILE, &before) < 0)
		g_error("there is no descriptor to begin with: %s", g_strerror(errno));
	close(lowest);
	few = (struct rlimit){(rlim_t)lowest + n, before.rlim_max};
	set_limit(&few);
	return before;
}

void descriptors_give_back(const struct rlimit *before)
{
	set_limit(before);
}
