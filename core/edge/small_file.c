/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *refuse_errno(GError **error)
{
	int number = errno;

	g_set_error_literal(error, G_FILE_ERROR, (int)g_file_error_from_errno(number),
			    g_strerror(number));
	return NULL;
}

/* It may grow while it is read, and has no size below /proc; so what is read counts. */
static char *read_all(int fd, gsize limit, gsize *ret_length, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char part[4096];
	ssize_t n = 1;

	while (n != 0 && text->len <= limit) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno != EINTR)
			return refuse_errno(error);
		if (n > 0)
			g_string_append_len(text, part, n);
	}
	if (text->len > limit) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			    "it is larger than %" G_GSIZE_FORMAT " MiB", limit / SMALL_FILE_MIB);
		return NULL;
	}
	*ret_length = text->len;
	return g_string_free(g_steal_pointer(&text), FALSE);
}

char *small_file_read_at(int dir_fd, const char *path, gsize limit, gsize *ret_length,
			 GError **error)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;
	char *text = NULL;

	if (fd < 0)
		return refuse_errno(error);
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		text = read_all(fd, limit, ret_length, error);
	else
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "it is %s",
			    S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
	close(fd);
	return text;
}

char *small_file_read(const char *path, gsize limit, gsize *ret_length, GError **error)
{
	return small_file_read_at(AT_FDCWD, path, limit, ret_length, error);
}

gboolean small_file_write(int fd, const char *text)
{
	gsize left = strlen(text);

	while (left > 0) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno != EINTR)
			return FALSE;
		if (n > 0) {
			text += n;
			left -= (gsize)n;
		}
	}
	return TRUE;
}
