/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_NAME STATE_FILE_NAME ".new"
/* A thousand HCAs with all that is known of them are a third of this. */
#define LARGEST_FILE ((gsize)4 * 1024 * 1024)
#define LONGEST_BOOT_ID 64

#define refuse(error, ...)                                                                         \
	g_set_error(error, STATE_FILE_ERROR, STATE_FILE_ERROR_UNUSABLE, __VA_ARGS__)

G_DEFINE_QUARK(rdmadp - state - file - error - quark, state_file_error)

static void refuse_errno(GError **error, const char *what)
{
	int number = errno;

	g_set_error(error, STATE_FILE_ERROR,
		    number == ENOENT ? STATE_FILE_ERROR_MISSING : STATE_FILE_ERROR_UNUSABLE,
		    "%s: %s", what, g_strerror(number));
}

/* --- reading --- */

/* The whole file, at most 'limit' bytes. Files below /proc have no size. */
static GString *read_all(int fd, gsize limit, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char part[4096];
	ssize_t n = 1;

	while (n != 0) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno != EINTR) {
			refuse_errno(error, "it cannot be read");
			return NULL;
		}
		if (n > 0)
			g_string_append_len(text, part, n);
		if (text->len > limit) {
			refuse(error, "it is longer than %zu bytes", limit);
			return NULL;
		}
	}
	return g_steal_pointer(&text);
}

static GString *read_file(int dir_fd, const char *path, gsize limit, GError **error)
{
	/* Opening a FIFO, reading a device: neither may make us wait. */
	int fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;
	GString *text = NULL;

	if (fd < 0) {
		refuse_errno(error, "it cannot be opened");
		return NULL;
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		text = read_all(fd, limit, error);
	else
		refuse(error, "it is not a regular file");
	close(fd);
	return text;
}

char *state_file_boot_id(const char *path, GError **error)
{
	GString *text = read_file(AT_FDCWD, path, LONGEST_BOOT_ID, error);
	g_autofree char *word = NULL;

	if (text == NULL) {
		g_prefix_error(error, "'%s': ", path);
		return NULL;
	}
	word = g_strstrip(g_string_free(text, FALSE));
	if (word[0] == '\0' || !g_str_is_ascii(word)) {
		refuse(error, "'%s': it has no boot id", path);
		return NULL;
	}
	return g_steal_pointer(&word);
}

SavedState *state_file_read(const char *dir, const char *boot_id, GError **error)
{
	int dir_fd = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	g_autoptr(GString) text = NULL;

	if (dir_fd < 0) {
		refuse_errno(error, "its directory cannot be opened");
		return NULL;
	}
	text = read_file(dir_fd, STATE_FILE_NAME, LARGEST_FILE, error);
	close(dir_fd);
	return text == NULL ? NULL : state_file_parse(text->str, text->len, boot_id, error);
}

/* --- writing --- */

gboolean state_file_make_dir(const char *dir, GError **error)
{
	struct stat status;

	if (mkdir(dir, 0700) == 0)
		return TRUE;
	if (errno != EEXIST) {
		refuse_errno(error, "it cannot be made");
		return FALSE;
	}
	if (stat(dir, &status) == 0 && S_ISDIR(status.st_mode))
		return TRUE;
	refuse(error, "it is no directory");
	return FALSE;
}

static gboolean write_all(int fd, const char *text)
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
	return fsync(fd) == 0;
}

/* FALSE with errno. Whatever lies at the temporary name is of a former process. */
static gboolean write_temporary(int dir_fd, const char *text)
{
	int fd;
	int trouble = 0;

	(void)unlinkat(dir_fd, TEMPORARY_NAME, 0);
	fd = openat(dir_fd, TEMPORARY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return FALSE;
	if (!write_all(fd, text))
		trouble = errno;
	if (close(fd) < 0 && trouble == 0)
		trouble = errno;
	errno = trouble;
	return trouble == 0;
}

static gboolean replace(int dir_fd, const char *text)
{
	int trouble;

	if (write_temporary(dir_fd, text) &&
	    renameat(dir_fd, TEMPORARY_NAME, dir_fd, STATE_FILE_NAME) == 0)
		return fsync(dir_fd) == 0;
	trouble = errno;
	(void)unlinkat(dir_fd, TEMPORARY_NAME, 0);
	errno = trouble;
	return FALSE;
}

gboolean state_file_write(const char *dir, const char *text, GError **error)
{
	int dir_fd = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	gboolean written;

	if (dir_fd < 0) {
		refuse_errno(error, "the directory cannot be opened");
		return FALSE;
	}
	written = replace(dir_fd, text);
	if (!written)
		refuse_errno(error, "the file cannot be written");
	close(dir_fd);
	return written;
}
