/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST ((gsize)1024 * 1024)

G_DEFINE_QUARK(rdmadp - small - file - error - quark, small_file_error)

static char *refuse(GError **error, const char *why)
{
	g_set_error_literal(error, SMALL_FILE_ERROR, 0, why);
	return NULL;
}

/* It may grow while it is read; so the limit counts, not its size. */
static char *read_all(int fd, gsize *ret_length, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char part[4096];
	ssize_t n = 1;

	while (n > 0 && text->len <= LARGEST) {
		n = read(fd, part, sizeof(part));
		if (n > 0)
			g_string_append_len(text, part, n);
	}
	if (n < 0)
		return refuse(error, g_strerror(errno));
	if (text->len > LARGEST)
		return refuse(error, "it is larger than 1 MiB");
	*ret_length = text->len;
	return g_string_free(g_steal_pointer(&text), FALSE);
}

char *small_file_read(const char *path, gsize *ret_length, GError **error)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;
	char *text;

	if (fd < 0)
		return refuse(error, g_strerror(errno));
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		text = read_all(fd, ret_length, error);
	else
		text = refuse(error, "it is not a regular file");
	close(fd);
	return text;
}
