/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/status_socket.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "edge/file_watch.h"
#include "edge/log.h"
#include "kubelet/listener.h"

#define AREA "status"
#define MOST_CLIENTS 8
/* What a client may leave unread, and for how long it may read nothing at all. */
#define MOST_PENDING (4 * 1024 * 1024)
#define MOST_SILENCE_US (10 * G_GINT64_CONSTANT(1000000))
#define LONGEST_REQUEST 64
/* What is in the way may go without a trace: another instance that is killed leaves its file. */
#define RETRY_MS 1000

struct client {
	StatusSocket *owner;
	guint64 id;
	int fd;
	guint in, out;
	GByteArray *pending;
	gint64 moved_us; /* when it last took something */
	char request[LONGEST_REQUEST];
	gsize requested; /* bytes of it */
};

struct status_socket {
	char *path, *dir, *name, *group;
	struct status_socket_ops ops;
	gpointer data;
	Listener *listener;
	FileWatch *watch;
	guint retry; /* source, while there is no listener */
	char *trouble; /* what was last said */
	GPtrArray *clients; /* struct client * */
	guint64 last_id;
};

static void client_free(gpointer data)
{
	struct client *client = data;

	g_clear_handle_id(&client->in, g_source_remove);
	g_clear_handle_id(&client->out, g_source_remove);
	close(client->fd);
	g_byte_array_unref(client->pending);
	g_free(client);
}

static void drop(struct client *client)
{
	g_ptr_array_remove(client->owner->clients, client);
}

/* --- out --- */

/* FALSE if the client is gone. */
static gboolean flush(struct client *client)
{
	while (client->pending->len > 0) {
		ssize_t sent = send(client->fd, client->pending->data, client->pending->len,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN;
		g_byte_array_remove_range(client->pending, 0, (guint)sent);
		client->moved_us = g_get_monotonic_time();
	}
	return TRUE;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer data)
{
	struct client *client = data;

	(void)fd;
	(void)condition;
	if (!flush(client)) {
		client->out = 0;
		drop(client);
		return G_SOURCE_REMOVE;
	}
	if (client->pending->len > 0)
		return G_SOURCE_CONTINUE;
	client->out = 0;
	return G_SOURCE_REMOVE;
}

static gboolean is_slow(const struct client *client)
{
	return client->pending->len > MOST_PENDING ||
	       (client->pending->len > 0 &&
		g_get_monotonic_time() - client->moved_us > MOST_SILENCE_US);
}

static void client_send(struct client *client, const char *line)
{
	if (is_slow(client)) {
		log_warning(AREA, "a client of '%s' does not read and is dropped",
			    client->owner->path);
		drop(client);
		return;
	}
	if (client->pending->len == 0)
		client->moved_us = g_get_monotonic_time();
	g_byte_array_append(client->pending, (const guint8 *)line, (guint)strlen(line));
	g_byte_array_append(client->pending, (const guint8 *)"\n", 1);
	if (!flush(client))
		drop(client);
	else if (client->pending->len > 0 && client->out == 0)
		client->out = g_unix_fd_add(client->fd, G_IO_OUT, on_writable, client);
}

static struct client *find(const StatusSocket *socket, guint64 id)
{
	for (guint i = 0; i < socket->clients->len; i++) {
		struct client *client = g_ptr_array_index(socket->clients, i);

		if (client->id == id)
			return client;
	}
	return NULL;
}

void status_socket_send(StatusSocket *socket, guint64 client, const char *line)
{
	struct client *found = find(socket, client);

	if (found != NULL)
		client_send(found, line);
}

void status_socket_send_all(StatusSocket *socket, const char *line)
{
	for (guint i = socket->clients->len; i > 0; i--)
		client_send(g_ptr_array_index(socket->clients, i - 1), line);
}

guint status_socket_clients(const StatusSocket *socket)
{
	return socket->clients->len;
}

/* --- in --- */

/* TRUE if there was a whole line, which is answered then. */
static gboolean take_line(struct client *client)
{
	StatusSocket *owner = client->owner;
	guint64 id = client->id;
	char *end = memchr(client->request, '\n', client->requested);
	g_autofree char *line = NULL;

	if (end == NULL)
		return FALSE;
	line = g_strndup(client->request, (gsize)(end - client->request));
	client->requested -= (gsize)(end + 1 - client->request);
	memmove(client->request, end + 1, client->requested);
	owner->ops.asked(id, line, owner->data);
	return find(owner, id) != NULL;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
	struct client *client = data;
	StatusSocket *owner = client->owner;
	guint64 id = client->id;
	ssize_t length = recv(fd, client->request + client->requested,
			      LONGEST_REQUEST - client->requested, MSG_DONTWAIT);

	(void)condition;
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	if (length > 0) {
		client->requested += (gsize)length;
		while (take_line(client))
			continue;
		if (find(owner, id) == NULL)
			return G_SOURCE_REMOVE;
	}
	if (length > 0 && client->requested < LONGEST_REQUEST)
		return G_SOURCE_CONTINUE;
	client->in = 0;
	drop(client);
	return G_SOURCE_REMOVE;
}

/* --- clients --- */

static void on_accepted(int fd, gpointer data)
{
	StatusSocket *owner = data;
	struct client *client;

	if (owner->clients->len >= MOST_CLIENTS) {
		static const char refusal[] =
			"{\"type\":\"error\",\"text\":\"too many clients\"}\n";

		(void)send(fd, refusal, strlen(refusal), MSG_NOSIGNAL | MSG_DONTWAIT);
		close(fd);
		return;
	}
	client = g_new0(struct client, 1);
	client->owner = owner;
	client->id = ++owner->last_id;
	client->fd = fd;
	client->pending = g_byte_array_new();
	client->in = g_unix_fd_add(fd, G_IO_IN, on_readable, client);
	g_ptr_array_add(owner->clients, client);
	owner->ops.connected(client->id, owner->data);
}

/* --- the socket --- */

static void say(StatusSocket *socket, const GError *error)
{
	const char *text = error == NULL ? NULL : error->message;

	if (g_strcmp0(text, socket->trouble) == 0)
		return;
	if (text != NULL)
		log_warning(AREA, "%s; 'rdmadp status' has no answer until then", text);
	g_free(socket->trouble);
	socket->trouble = g_strdup(text);
}

static gboolean make_dir(const char *dir, GError **error)
{
	int number;

	if (g_mkdir(dir, 0755) == 0 || errno == EEXIST)
		return TRUE;
	number = errno;
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(number),
		    "directory '%s' cannot be made: %s", dir, g_strerror(number));
	return FALSE;
}

static gboolean on_retry(gpointer data);

static void open_socket(StatusSocket *socket)
{
	const struct listener_plan plan = {socket->dir, socket->name, AREA, socket->group};
	g_autoptr(GError) error = NULL;

	if (socket->listener != NULL && listener_is_intact(socket->listener))
		return;
	g_clear_pointer(&socket->listener, listener_free);
	if (make_dir(socket->dir, &error))
		socket->listener = listener_new_for_group(&plan, on_accepted, socket, &error);
	say(socket, error);
	if (socket->listener == NULL && socket->retry == 0)
		socket->retry = g_timeout_add(RETRY_MS, on_retry, socket);
}

static gboolean on_retry(gpointer data)
{
	StatusSocket *socket = data;

	socket->retry = 0;
	open_socket(socket);
	return G_SOURCE_REMOVE;
}

static void on_place_changed(gpointer data)
{
	open_socket(data);
}

StatusSocket *status_socket_new(const char *path, const char *group,
				const struct status_socket_ops *ops, gpointer data)
{
	StatusSocket *socket = g_new0(StatusSocket, 1);
	g_autoptr(GError) error = NULL;

	socket->path = g_strdup(path);
	socket->dir = g_path_get_dirname(path);
	socket->name = g_path_get_basename(path);
	socket->group = g_strdup(group);
	socket->ops = *ops;
	socket->data = data;
	socket->clients = g_ptr_array_new_with_free_func(client_free);
	open_socket(socket);
	socket->watch = file_watch_new(path, on_place_changed, socket, &error);
	if (socket->watch == NULL)
		log_warning(AREA,
			    "%s; whoever removes it ends 'rdmadp status' until the daemon is "
			    "started again",
			    error->message);
	return socket;
}

void status_socket_free(StatusSocket *socket)
{
	if (socket == NULL)
		return;
	g_clear_handle_id(&socket->retry, g_source_remove);
	file_watch_free(socket->watch);
	listener_free(socket->listener);
	g_ptr_array_unref(socket->clients);
	g_free(socket->trouble);
	g_free(socket->path);
	g_free(socket->dir);
	g_free(socket->name);
	g_free(socket->group);
	g_free(socket);
}
