/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_h2.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define FRAME_HEADER 9
#define FLAG_END_STREAM 1
#define FLAG_END_HEADERS 4
#define SETTING_INITIAL_WINDOW 4
#define ERROR_CANCEL 8
#define STEP_US 1000

struct sim_h2 {
	int fd;
	GByteArray *in; /* read, and not yet looked at */
	gboolean closed;
};

/* --- connection --- */

SimH2 *sim_h2_connect(const char *path, GError **error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
			    "cannot connect to '%s': %s", path, g_strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	SimH2 *h2 = g_new0(SimH2, 1);
	h2->fd = fd;
	h2->in = g_byte_array_new();
	return h2;
}

void sim_h2_free(SimH2 *h2)
{
	if (!h2)
		return;
	close(h2->fd);
	g_byte_array_unref(h2->in);
	g_free(h2);
}

void sim_h2_send(SimH2 *h2, const void *data, gsize size)
{
	/* A peer that has closed is what some scenarios wait for. */
	if (send(h2->fd, data, size, MSG_NOSIGNAL) < 0)
		h2->closed = TRUE;
}

void sim_h2_half_close(SimH2 *h2)
{
	(void)shutdown(h2->fd, SHUT_WR);
}

gssize sim_h2_read(SimH2 *h2, void *data, gsize size)
{
	gssize n = recv(h2->fd, data, size, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		h2->closed = TRUE;
	return n;
}

/* --- frames out --- */

static void append_number(GByteArray *bytes, guint32 number, guint n_bytes)
{
	for (guint i = n_bytes; i-- > 0;) {
		guint8 byte = (guint8)(number >> (8 * i));
		g_byte_array_append(bytes, &byte, 1);
	}
}

static void append_frame(GByteArray *bytes, guint8 type, guint8 flags, guint32 stream,
			 const GByteArray *payload)
{
	append_number(bytes, payload->len, 3);
	append_number(bytes, type, 1);
	append_number(bytes, flags, 1);
	append_number(bytes, stream, 4);
	g_byte_array_append(bytes, payload->data, payload->len);
}

/* HPACK: a literal without indexing, both strings plain. */
static void append_header(GByteArray *bytes, const char *name, const char *value)
{
	append_number(bytes, 0, 1);
	append_number(bytes, (guint32)strlen(name), 1);
	g_byte_array_append(bytes, (const guint8 *)name, (guint)strlen(name));
	append_number(bytes, (guint32)strlen(value), 1);
	g_byte_array_append(bytes, (const guint8 *)value, (guint)strlen(value));
}

static void append_settings(GByteArray *bytes, guint32 window)
{
	g_autoptr(GByteArray) payload = g_byte_array_new();
	append_number(payload, SETTING_INITIAL_WINDOW, 2);
	append_number(payload, window, 4);
	append_frame(bytes, H2_SETTINGS, 0, 0, payload);
}

static void append_request(GByteArray *bytes, const char *method)
{
	g_autoptr(GByteArray) headers = g_byte_array_new();
	g_autoptr(GByteArray) message = g_byte_array_new();
	append_header(headers, ":method", "POST");
	append_header(headers, ":scheme", "http");
	append_header(headers, ":path", method);
	append_header(headers, ":authority", "localhost");
	append_header(headers, "content-type", "application/grpc");
	append_header(headers, "te", "trailers");
	append_frame(bytes, H2_HEADERS, FLAG_END_HEADERS, 1, headers);
	/* gRPC: not compressed, no bytes. */
	append_number(message, 0, 1);
	append_number(message, 0, 4);
	append_frame(bytes, H2_DATA, FLAG_END_STREAM, 1, message);
}

void sim_h2_call(SimH2 *h2, const char *method, guint32 window)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_byte_array_append(bytes, (const guint8 *)PREFACE, strlen(PREFACE));
	append_settings(bytes, window);
	append_request(bytes, method);
	sim_h2_send(h2, bytes->data, bytes->len);
}

void sim_h2_reset(SimH2 *h2)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(GByteArray) payload = g_byte_array_new();
	append_number(payload, ERROR_CANCEL, 4);
	append_frame(bytes, H2_RST_STREAM, 0, 1, payload);
	sim_h2_send(h2, bytes->data, bytes->len);
}

void sim_h2_goaway(SimH2 *h2)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(GByteArray) payload = g_byte_array_new();
	append_number(payload, 0, 4); /* the last stream of theirs that we took */
	append_number(payload, 0, 4); /* no error */
	append_frame(bytes, H2_GOAWAY, 0, 0, payload);
	sim_h2_send(h2, bytes->data, bytes->len);
}

/* --- frames in --- */

static void fill(SimH2 *h2)
{
	guint8 buffer[4096];
	gssize n;
	while (!h2->closed && (n = sim_h2_read(h2, buffer, sizeof(buffer))) > 0)
		g_byte_array_append(h2->in, buffer, (guint)n);
}

/* Takes the first frame; its type, or -1 if it is not whole yet. */
static int take_frame(SimH2 *h2)
{
	if (h2->in->len < FRAME_HEADER)
		return -1;
	const guint8 *data = h2->in->data;
	guint length = ((guint)data[0] << 16) | ((guint)data[1] << 8) | data[2];
	int type = data[3];
	if (h2->in->len < FRAME_HEADER + length)
		return -1;
	g_byte_array_remove_range(h2->in, 0, FRAME_HEADER + length);
	return type;
}

static gboolean has_frame(SimH2 *h2, int wanted)
{
	int type;
	while ((type = take_frame(h2)) >= 0) {
		if (type == wanted)
			return TRUE;
	}
	return FALSE;
}

/* One round: the main loop, then what has come. FALSE when the time is over. */
static gboolean step(SimH2 *h2, gint64 end_us)
{
	while (g_main_context_iteration(NULL, FALSE))
		;
	fill(h2);
	if (g_get_monotonic_time() >= end_us)
		return FALSE;
	g_usleep(STEP_US);
	return TRUE;
}

gboolean sim_h2_await_frame(SimH2 *h2, int type, guint limit_ms)
{
	gint64 end_us = g_get_monotonic_time() + (gint64)limit_ms * 1000;
	gboolean in_time = TRUE;
	while (in_time) {
		in_time = step(h2, end_us) && !h2->closed;
		if (has_frame(h2, type))
			return TRUE;
	}
	return FALSE;
}

gboolean sim_h2_await_close(SimH2 *h2, guint limit_ms)
{
	gint64 end_us = g_get_monotonic_time() + (gint64)limit_ms * 1000;
	while (!h2->closed && step(h2, end_us))
		;
	return h2->closed;
}
