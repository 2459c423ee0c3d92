/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads below a root that stands for /sys. Every path is relative to that root and
 * never leads out of it, whatever the links on the way say. Never writes.
 *
 * What cannot be read has a reason (negative errno) but never a value: an attribute
 * that gives EINVAL, ENODEV, EIO or nothing at all is unknown, not "down".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <rdmadp/backend.h>

#include "common/arena.h"

#define SYSFS_TEXT 128 /* fits every attribute that a backend looks at, names included */
#define SYSFS_NAME 64 /* of devices and drivers, with the NUL */
#define SYSFS_PATH 1024

struct sysfs_said;

struct sysfs {
	_Atomic int fd; /* of the root; -1: there is none, so there is nothing below it */
	const struct rdmadp_host *host;
	struct sysfs_said *said; /* what sysfs_say_once has said */
};

/* A root that does not exist is one without anything in it. */
int sysfs_open(struct sysfs *sysfs, const struct rdmadp_host *host);
/* Takes the root that is there now. Reads may be under way in other threads. */
void sysfs_open_again(struct sysfs *sysfs);
void sysfs_close(struct sysfs *sysfs);

enum sysfs_wait {
	SYSFS_NOWAIT, /* a FIFO in place of the attribute is unreadable */
	SYSFS_WAIT, /* for health: waits until it is answered or a signal comes */
};

/* The attribute's text without its newline, at most 'size' - 1 bytes of printable
 * ASCII. 0, or a negative errno: -ENODATA empty, -EILSEQ other characters, -EFBIG
 * longer than the caller or a page can take; 'text' is "" then. */
int sysfs_read(const struct sysfs *sysfs, enum sysfs_wait wait, const char *path, char *text,
	       size_t size);
/* The same for the attribute <dir>/<name>, without waiting; FALSE where there is no text. */
bool sysfs_read_in(const struct sysfs *sysfs, const char *dir, const char *name,
		   char text[SYSFS_TEXT]);

/* An attribute that is judged later than it was read. */
struct sysfs_value {
	int result; /* of sysfs_read; -ENOENT also where the path is too long */
	const char *text; /* "" unless the result is 0 */
};
struct sysfs_value sysfs_fetch(const struct sysfs *sysfs, const char *dir, const char *name,
			       struct arena *arena);

/* What the link names, from the root: "devices/pci0000:3a/0000:3b:00.0". -EXDEV if it
 * leads elsewhere. 'path' must itself contain no link but the last part. */
int sysfs_resolve(const struct sysfs *sysfs, const char *path, char target[SYSFS_PATH]);
/* The last part of what the link <dir>/<name> names, such as a driver's name; FALSE if
 * there is none, or none of a proper length. */
bool sysfs_link_name(const struct sysfs *sysfs, const char *dir, const char *name,
		     char text[SYSFS_TEXT]);

bool sysfs_exists(const struct sysfs *sysfs, const char *path);
/* Between the two, in one thread: 0, or the negative errno of what this process lacked
 * for a look at a path. */
void sysfs_begin_reads(void);
int sysfs_end_reads(void);
/* The same lack, met by another function or thread; 0 is none. */
void sysfs_note_lack(int result);

/* Not the opposite: where it cannot be found out, as without a descriptor that is free,
 * neither is true. */
bool sysfs_is_gone(const struct sysfs *sysfs, const char *path);

/* Called for each entry that has a printable name without spaces. Another result than
 * 0 ends the listing and is returned, as is the reason why it breaks off. */
typedef int (*sysfs_visit_fn)(void *data, const char *name);
int sysfs_list(const struct sysfs *sysfs, const char *path, sysfs_visit_fn visit, void *data);

/* snprintf into a path: FALSE if it does not fit. */
bool sysfs_join(char path[SYSFS_PATH], const char *dir, const char *name);

/* The same text only once in the life of the instance. Scan thread only. */
void sysfs_say_once(struct sysfs *sysfs, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
