/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/line_client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct line_client {
	char *path;
	int fd;
	GString *pending; /* what has come and was not taken yet */
};

static void set_error(GError **error, const LineClient *client, int error_number)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(error_number), "'%s': %s",
		    client->path, g_strerror(error_number));
}

static gboolean open_connection(LineClient *client, GError **error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (g_strlcpy(address.sun_path, client->path, sizeof(address.sun_path)) >=
	    sizeof(address.sun_path)) {
		set_error(error, client, ENAMETOOLONG);
		return FALSE;
	}
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd >= 0 &&
	    connect(client->fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return TRUE;
	set_error(error, client, errno);
	return FALSE;
}

LineClient *line_client_new(const char *path, GError **error)
{
	LineClient *client = g_new0(LineClient, 1);

	client->path = g_strdup(path);
	client->fd = -1;
	client->pending = g_string_new(NULL);
	if (open_connection(client, error))
		return client;
	line_client_free(client);
	return NULL;
}

void line_client_free(LineClient *client)
{
	if (client == NULL)
		return;
	if (client->fd >= 0)
		close(client->fd);
	g_string_free(client->pending, TRUE);
	g_free(client->path);
	g_free(client);
}

gboolean line_client_send(LineClient *client, const char *line, GError **error)
{
	g_autofree char *whole = g_strconcat(line, "\n", NULL);
	gsize length = strlen(whole);

	if (send(client->fd, whole, length, MSG_NOSIGNAL) == (ssize_t)length)
		return TRUE;
	set_error(error, client, errno);
	return FALSE;
}

static char *take_line(LineClient *client)
{
	const char *end = memchr(client->pending->str, '\n', client->pending->len);
	char *line;

	if (end == NULL)
		return NULL;
	line = g_strndup(client->pending->str, (gsize)(end - client->pending->str));
	g_string_erase(client->pending, 0, end + 1 - client->pending->str);
	return line;
}

/* FALSE if nothing came. */
static gboolean receive(LineClient *client, gint64 until_us, GError **error)
{
	gint64 left_ms = (until_us - g_get_monotonic_time() + 999) / 1000;
	struct pollfd poll_fd = {.fd = client->fd, .events = POLLIN};
	char buffer[65536];
	ssize_t length;

	if (left_ms <= 0 || poll(&poll_fd, 1, (int)MIN(left_ms, G_MAXINT)) == 0) {
		set_error(error, client, ETIMEDOUT);
		return FALSE;
	}
	length = recv(client->fd, buffer, sizeof(buffer), 0);
	if (length > 0)
		g_string_append_len(client->pending, buffer, length);
	else if (length < 0 && errno != EINTR)
		set_error(error, client, errno);
	else if (length == 0)
		set_error(error, client, ECONNRESET);
	return length > 0 || (length < 0 && errno == EINTR);
}

char *line_client_next(LineClient *client, gint64 until_us, GError **error)
{
	char *line;

	while ((line = take_line(client)) == NULL)
		if (!receive(client, until_us, error))
			return NULL;
	return line;
}
