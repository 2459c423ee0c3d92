/* SPDX-License-Identifier: Apache-2.0 */
#include "common/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define SAID_LIMIT 1000 /* a machine that has more to say has said enough */
#define RETRIES 8

struct sysfs_said {
	struct sysfs_said *next;
	char text[];
};

/* Why something could not be opened that may well be there; 0: nothing was so. */
static _Thread_local int lacking;

void sysfs_begin_reads(void)
{
	lacking = 0;
}

int sysfs_end_reads(void)
{
	return -lacking;
}

void sysfs_note_lack(int result)
{
	if (result < 0)
		lacking = -result;
}

static int note_lack(int error)
{
	if (error == EMFILE || error == ENFILE || error == ENOMEM)
		lacking = error;
	return -error;
}

static int open_root(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int sysfs_open(struct sysfs *sysfs, const struct rdmadp_host *host)
{
	int fd = open_root(host->sysfs_root);

	if (fd < 0 && errno != ENOENT)
		return -errno;
	*sysfs = (struct sysfs){.fd = fd, .host = host};
	return 0;
}

/* The descriptor keeps its number, so that nobody is left with one that is closed. */
void sysfs_open_again(struct sysfs *sysfs)
{
	int fd = open_root(sysfs->host->sysfs_root);

	if (sysfs->fd < 0) {
		sysfs->fd = fd;
	} else if (fd >= 0) {
		(void)dup3(fd, sysfs->fd, O_CLOEXEC);
		close(fd);
	}
}

void sysfs_close(struct sysfs *sysfs)
{
	while (sysfs->said) {
		struct sysfs_said *said = sysfs->said;

		sysfs->said = said->next;
		free(said);
	}
	if (sysfs->fd >= 0)
		close(sysfs->fd);
	sysfs->fd = -1;
}

/* The kernel itself keeps the path inside the root. EAGAIN: something was renamed or
 * mounted meanwhile. */
static int open_beneath(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	for (int i = 0; i < RETRIES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

/* Kernels before 5.6 and old seccomp profiles do not know openat2. */
static int open_path(const struct sysfs *sysfs, const char *path, int flags)
{
	int fd;

	if (sysfs->fd < 0)
		return -ENOENT;
	fd = open_beneath(sysfs->fd, path, flags | O_CLOEXEC);
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(sysfs->fd, path, flags | O_CLOEXEC);
	return fd < 0 ? note_lack(errno) : fd;
}

/* The length, without the newline at the end; one byte more than fits is looked for. */
static ssize_t read_page(int fd, char page[PAGE_BYTES + 1])
{
	ssize_t length = read(fd, page, PAGE_BYTES + 1);

	if (length < 0)
		return -errno;
	if (length > PAGE_BYTES)
		return -EFBIG;
	if (length > 0 && page[length - 1] == '\n')
		length--;
	return length ? length : -ENODATA;
}

static bool is_printable(const char *text, size_t length, char least)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] < least || text[i] > '~')
			return false;
	return true;
}

int sysfs_read(const struct sysfs *sysfs, enum sysfs_wait wait, const char *path, char *text,
	       size_t size)
{
	int fd = open_path(sysfs, path, O_RDONLY | (wait == SYSFS_NOWAIT ? O_NONBLOCK : 0));
	char page[PAGE_BYTES + 1];
	ssize_t length;

	text[0] = '\0';
	if (fd < 0)
		return fd;
	length = read_page(fd, page);
	close(fd);
	if (length < 0)
		return (int)length;
	if (!is_printable(page, (size_t)length, ' '))
		return -EILSEQ;
	if ((size_t)length >= size)
		return -EFBIG;
	memcpy(text, page, (size_t)length);
	text[length] = '\0';
	return 0;
}

bool sysfs_join(char path[SYSFS_PATH], const char *dir, const char *name)
{
	int length = snprintf(path, SYSFS_PATH, "%s/%s", dir, name);

	return length > 0 && length < SYSFS_PATH;
}

bool sysfs_read_in(const struct sysfs *sysfs, const char *dir, const char *name,
		   char text[SYSFS_TEXT])
{
	char path[SYSFS_PATH];

	text[0] = '\0';
	return sysfs_join(path, dir, name) &&
	       sysfs_read(sysfs, SYSFS_NOWAIT, path, text, SYSFS_TEXT) == 0;
}

struct sysfs_value sysfs_fetch(const struct sysfs *sysfs, const char *dir, const char *name,
			       struct arena *arena)
{
	struct sysfs_value value = {.result = -ENOENT, .text = ""};
	char path[SYSFS_PATH];
	char text[SYSFS_TEXT];
	char *copy;

	if (!sysfs_join(path, dir, name))
		return value;
	value.result = sysfs_read(sysfs, SYSFS_NOWAIT, path, text, sizeof(text));
	copy = value.result < 0 ? NULL : arena_strdup(arena, text);
	if (copy)
		value.text = copy;
	else if (value.result == 0)
		value.result = note_lack(ENOMEM);
	return value;
}

static int read_link(const struct sysfs *sysfs, const char *path, char target[SYSFS_PATH])
{
	ssize_t length;

	if (sysfs->fd < 0)
		return -ENOENT;
	length = readlinkat(sysfs->fd, path, target, SYSFS_PATH);
	if (length < 0)
		return -errno;
	if (length >= SYSFS_PATH || !is_printable(target, (size_t)length, '!'))
		return -EILSEQ;
	target[length] = '\0';
	return 0;
}

/* "class/net/eth0" and "../../devices/x" give "devices/x". */
static int join_link(const char *path, const char *link, char target[SYSFS_PATH])
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	int result;

	for (; strncmp(link, "../", 3) == 0; link += 3) {
		if (length == 0)
			return -EXDEV;
		while (length > 0 && path[--length] != '/')
			;
	}
	if (*link == '/' || strstr(link, "../"))
		return -EXDEV;
	result = snprintf(target, SYSFS_PATH, "%.*s%s%s", (int)length, path, length ? "/" : "",
			  link);
	return result < SYSFS_PATH ? 0 : -ENAMETOOLONG;
}

int sysfs_resolve(const struct sysfs *sysfs, const char *path, char target[SYSFS_PATH])
{
	char link[SYSFS_PATH];
	int result = read_link(sysfs, path, link);

	return result < 0 ? result : join_link(path, link, target);
}

bool sysfs_link_name(const struct sysfs *sysfs, const char *dir, const char *name,
		     char text[SYSFS_TEXT])
{
	char path[SYSFS_PATH];
	char target[SYSFS_PATH];
	const char *slash;

	if (!sysfs_join(path, dir, name) || read_link(sysfs, path, target) < 0)
		return false;
	slash = strrchr(target, '/');
	return slash && slash[1] && snprintf(text, SYSFS_TEXT, "%s", slash + 1) < SYSFS_NAME;
}

/* 0, or a negative errno. */
static int look_for(const struct sysfs *sysfs, const char *path)
{
	int fd = open_path(sysfs, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

bool sysfs_exists(const struct sysfs *sysfs, const char *path)
{
	return look_for(sysfs, path) == 0;
}

bool sysfs_is_gone(const struct sysfs *sysfs, const char *path)
{
	int result = look_for(sysfs, path);

	return result == -ENOENT || result == -ENOTDIR || result == -ENODEV;
}

/* NULL at the end, and when it cannot be read any more: a part is not the whole. */
static struct dirent *read_entry(DIR *dir, int *ret_result)
{
	struct dirent *entry;

	errno = 0;
	entry = readdir(dir);
	if (!entry && errno != 0)
		*ret_result = note_lack(errno);
	return entry;
}

int sysfs_list(const struct sysfs *sysfs, const char *path, sysfs_visit_fn visit, void *data)
{
	int fd = open_path(sysfs, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int result = 0;

	if (fd < 0)
		return fd;
	if (!dir) {
		close(fd);
		return note_lack(ENOMEM);
	}
	while (result == 0 && (entry = read_entry(dir, &result)))
		if (entry->d_name[0] != '.' &&
		    is_printable(entry->d_name, strlen(entry->d_name), '!'))
			result = visit(data, entry->d_name);
	closedir(dir);
	return result;
}

/* TRUE the first time; a full memory stays silent. */
static bool remember(struct sysfs *sysfs, const char *text)
{
	size_t size = strlen(text) + 1;
	struct sysfs_said *said = sysfs->said;
	size_t n = 0;

	for (; said; said = said->next, n++)
		if (strcmp(said->text, text) == 0)
			return false;
	said = n < SAID_LIMIT ? malloc(sizeof(*said) + size) : NULL;
	if (!said)
		return false;
	memcpy(said->text, text, size);
	said->next = sysfs->said;
	sysfs->said = said;
	return true;
}

void sysfs_say_once(struct sysfs *sysfs, int level, const char *format, ...)
{
	char message[512];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (remember(sysfs, message))
		sysfs->host->log(sysfs->host, level, message);
}
