/* SPDX-License-Identifier: Apache-2.0 */
#include "support/opens.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

int opens_watch(const char *root, const char *dir)
{
	g_autofree char *path = g_build_filename(root, dir, NULL);
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (watch < 0 || inotify_add_watch(watch, path, IN_OPEN) < 0)
		g_error("inotify of '%s': %s", path, g_strerror(errno));
	return watch;
}

GHashTable *opens_end(int watch)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	_Alignas(struct inotify_event) char buffer[4096];
	ssize_t length;

	while ((length = read(watch, buffer, sizeof(buffer))) > 0) {
		for (char *at = buffer; at < buffer + length;) {
			const struct inotify_event *event = (const void *)at;

			g_hash_table_add(names, g_strdup(event->len ? event->name : "."));
			at += sizeof(*event) + event->len;
		}
	}
	close(watch);
	return names;
}
