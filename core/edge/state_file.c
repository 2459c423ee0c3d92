/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/small_file.h"

#define TEMPORARY_NAME STATE_FILE_NAME ".new"
/* A thousand HCAs with all that is known of them are a third of this. */
#define LARGEST_FILE (4 * SMALL_FILE_MIB)
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

static char *read_file(int dir_fd, const char *path, gsize limit, gsize *ret_length, GError **error)
{
	g_autoptr(GError) why = NULL;
	char *text = small_file_read_at(dir_fd, path, limit, ret_length, &why);

	if (text == NULL)
		g_set_error(error, STATE_FILE_ERROR,
			    g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT)
				    ? STATE_FILE_ERROR_MISSING
				    : STATE_FILE_ERROR_UNUSABLE,
			    "it cannot be read: %s", why->message);
	return text;
}

char *state_file_boot_id(const char *path, GError **error)
{
	gsize length;
	g_autofree char *word = read_file(AT_FDCWD, path, SMALL_FILE_MIB, &length, error);

	if (word == NULL) {
		g_prefix_error(error, "'%s': ", path);
		return NULL;
	}
	g_strstrip(word);
	if (word[0] == '\0' || strlen(word) > LONGEST_BOOT_ID || !g_str_is_ascii(word)) {
		refuse(error, "'%s': it has no boot id", path);
		return NULL;
	}
	return g_steal_pointer(&word);
}

SavedState *state_file_read(const char *dir, const char *boot_id, GError **error)
{
	int dir_fd = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	g_autofree char *text = NULL;
	gsize length;

	if (dir_fd < 0) {
		refuse_errno(error, "its directory cannot be opened");
		return NULL;
	}
	text = read_file(dir_fd, STATE_FILE_NAME, LARGEST_FILE, &length, error);
	close(dir_fd);
	return text == NULL ? NULL : state_file_parse(text, length, boot_id, error);
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
	if (!small_file_write(fd, text) || fsync(fd) < 0)
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
