/* SPDX-License-Identifier: Apache-2.0 */
#include "support/capture.h"

#include <errno.h>
#include <glib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int saved_stderr = -1;

void capture_start(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	saved_stderr = dup(STDERR_FILENO);
	if (fd < 0 || saved_stderr < 0 || dup2(fd, STDERR_FILENO) < 0)
		g_error("stderr cannot be captured: %s", g_strerror(errno));
	close(fd);
}

char *capture_stop(void)
{
	struct stat st = {0};
	char *text;
	ssize_t n;

	(void)fstat(STDERR_FILENO, &st);
	text = g_malloc0((gsize)st.st_size + 1);
	n = pread(STDERR_FILENO, text, (gsize)st.st_size, 0);
	if (n != st.st_size)
		g_error("what was captured cannot be read: %s", g_strerror(errno));
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	return text;
}
