/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/connections.h"

#include <sys/stat.h>

struct connection {
	int fd;
	ino_t inode;
};

struct connections {
	guint max;
	GArray *open; /* struct connection; closed ones leave when the place is needed */
};

Connections *connections_new(guint max)
{
	Connections *self = g_new0(Connections, 1);

	self->max = max;
	self->open = g_array_new(FALSE, FALSE, sizeof(struct connection));
	return self;
}

void connections_free(Connections *connections)
{
	if (!connections)
		return;
	g_array_unref(connections->open);
	g_free(connections);
}

static gboolean is_open(const struct connection *connection)
{
	struct stat now;

	return fstat(connection->fd, &now) == 0 && S_ISSOCK(now.st_mode) &&
	       now.st_ino == connection->inode;
}

static void forget_closed(Connections *self)
{
	for (guint i = self->open->len; i-- > 0;)
		if (!is_open(&g_array_index(self->open, struct connection, i)))
			g_array_remove_index_fast(self->open, i);
}

gboolean connections_add(Connections *connections, int fd)
{
	struct connection connection = {.fd = fd};
	struct stat status;

	if (connections->open->len >= connections->max)
		forget_closed(connections);
	if (connections->open->len >= connections->max || fstat(fd, &status) < 0)
		return FALSE;
	connection.inode = status.st_ino;
	g_array_append_val(connections->open, connection);
	return TRUE;
}
