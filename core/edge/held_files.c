/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/held_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Both attributes of 64 character devices; more than that starts over. */
enum { MAX_HELD = 128 };

struct held_files {
	int root_fd;
	GHashTable *by_path; /* char * -> struct held * */
};

struct held {
	int fd;
	dev_t device;
	ino_t inode;
};

static void held_free(gpointer data)
{
	struct held *held = data;

	close(held->fd);
	g_free(held);
}

HeldFiles *held_files_new(int root_fd)
{
	HeldFiles *files = g_new0(HeldFiles, 1);

	files->root_fd = root_fd;
	files->by_path = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, held_free);
	return files;
}

void held_files_free(HeldFiles *files)
{
	if (!files)
		return;
	g_hash_table_unref(files->by_path);
	g_free(files);
}

void held_files_forget(HeldFiles *files)
{
	g_hash_table_remove_all(files->by_path);
}

static gboolean read_text(int fd, char *ret_text, gsize size)
{
	gssize length = pread(fd, ret_text, size - 1, 0);

	if (length <= 0) {
		errno = length == 0 ? ENODATA : errno;
		return FALSE;
	}
	if (ret_text[length - 1] == '\n')
		length--;
	ret_text[length] = '\0';
	return TRUE;
}

/* While it is open, no other file can get the number of its inode. */
static gboolean is_current(const HeldFiles *files, const struct held *held, const char *path)
{
	struct stat status;

	return fstatat(files->root_fd, path, &status, 0) == 0 && status.st_ino == held->inode &&
	       status.st_dev == held->device;
}

static void hold(HeldFiles *files, const char *path, int fd, const struct stat *status)
{
	struct held *held = g_new0(struct held, 1);

	held->fd = fd;
	held->device = status->st_dev;
	held->inode = status->st_ino;
	if (g_hash_table_size(files->by_path) == MAX_HELD)
		held_files_forget(files);
	g_hash_table_replace(files->by_path, g_strdup(path), held);
}

static gboolean open_and_read(HeldFiles *files, const char *path, char *ret_text, gsize size)
{
	int fd = openat(files->root_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return FALSE;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && read_text(fd, ret_text, size)) {
		hold(files, path, fd, &status);
		return TRUE;
	}
	int error = S_ISREG(status.st_mode) ? errno : ENODATA;

	close(fd);
	errno = error;
	return FALSE;
}

gboolean held_files_read(HeldFiles *files, const char *path, char *ret_text, gsize size)
{
	const struct held *held = g_hash_table_lookup(files->by_path, path);

	if (held && is_current(files, held, path) && read_text(held->fd, ret_text, size))
		return TRUE;
	/* A device that went leaves its attributes open but dead. */
	g_hash_table_remove(files->by_path, path);
	return open_and_read(files, path, ret_text, size);
}
