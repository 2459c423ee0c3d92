/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/rpc_links.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEER_PREFIX "fd:"

struct rpc_link {
	guint refs; /* the table's, and one for each call */
	int fd;
	ino_t inode;
	guint calls;
	guint64 used; /* when it was last made use of, as a number of uses */
};

struct rpc_links {
	GHashTable *by_fd; /* of those that are open, and of some that were */
	guint64 uses;
	gboolean is_blind; /* gRPC named a peer in another way */
};

static void link_unref(struct rpc_link *link)
{
	if (--link->refs == 0)
		g_free(link);
}

static void release(gpointer link)
{
	link_unref(link);
}

RpcLinks *rpc_links_new(void)
{
	RpcLinks *self = g_new0(RpcLinks, 1);

	self->by_fd = g_hash_table_new_full(NULL, NULL, NULL, release);
	return self;
}

void rpc_links_free(RpcLinks *links)
{
	g_hash_table_unref(links->by_fd);
	g_free(links);
}

void rpc_links_add(RpcLinks *links, int fd)
{
	struct rpc_link *link = g_new0(struct rpc_link, 1);
	struct stat status = {0};

	fstat(fd, &status);
	link->refs = 1;
	link->fd = fd;
	link->inode = status.st_ino;
	link->used = ++links->uses;
	g_hash_table_replace(links->by_fd, GINT_TO_POINTER(fd), link);
}

struct rpc_link *rpc_links_enter(RpcLinks *links, const char *peer)
{
	struct rpc_link *link;
	guint64 fd;

	if (!g_str_has_prefix(peer, PEER_PREFIX) ||
	    !g_ascii_string_to_unsigned(peer + strlen(PEER_PREFIX), 10, 0, G_MAXINT, &fd, NULL)) {
		links->is_blind = TRUE;
		return NULL;
	}
	/* The connection of a call may be closed, or shut by us, before we hear of it. */
	link = g_hash_table_lookup(links->by_fd, GINT_TO_POINTER((int)fd));
	if (!link)
		return NULL;
	link->refs++;
	link->calls++;
	link->used = ++links->uses;
	return link;
}

void rpc_link_leave(struct rpc_link *link)
{
	if (!link)
		return;
	link->calls--;
	link_unref(link);
}

static gboolean is_link(const struct rpc_link *link, int fd)
{
	struct stat now;

	return fstat(fd, &now) == 0 && S_ISSOCK(now.st_mode) && now.st_ino == link->inode;
}

static gboolean is_closed(gpointer fd, gpointer link, gpointer data)
{
	(void)data;
	return !is_link(link, GPOINTER_TO_INT(fd));
}

/* gRPC may be closing it at this moment, and the number mean something else: so a copy
 * is looked at, and that is shut down. FALSE: there is no descriptor for the copy. */
static gboolean shut(const struct rpc_link *link)
{
	int copy = fcntl(link->fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return errno == EBADF;
	if (is_link(link, copy))
		shutdown(copy, SHUT_RDWR);
	close(copy);
	return TRUE;
}

static struct rpc_link *find_idlest(const RpcLinks *links, guint *ret_n_idle)
{
	struct rpc_link *idlest = NULL;
	GHashTableIter iter;
	gpointer value;

	*ret_n_idle = 0;
	g_hash_table_iter_init(&iter, links->by_fd);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct rpc_link *link = value;

		if (link->calls > 0)
			continue;
		++*ret_n_idle;
		if (!idlest || link->used < idlest->used)
			idlest = link;
	}
	return idlest;
}

void rpc_links_trim(RpcLinks *links, guint max)
{
	struct rpc_link *idlest;
	guint n_idle;

	if (links->is_blind)
		return;
	g_hash_table_foreach_remove(links->by_fd, is_closed, NULL);
	while ((idlest = find_idlest(links, &n_idle)) && n_idle > max && shut(idlest))
		g_hash_table_remove(links->by_fd, GINT_TO_POINTER(idlest->fd));
}
