/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC client of a few bytes, for what no library would do: strange authorities,
 * readers that never read. Include after cmocka.h.
 */
#pragma once

#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Frame types and their flags. */
enum {
	RAW_DATA = 0,
	RAW_HEADERS = 1,
	RAW_RST_STREAM = 3,
	RAW_SETTINGS = 4,
	RAW_PING = 6,
	RAW_GOAWAY = 7,
	RAW_CONTINUATION = 9,
};
enum { RAW_END_STREAM = 1, RAW_END_HEADERS = 4 };

static inline void raw_frame(GByteArray *out, guint8 type, guint8 flags, guint32 stream,
			     const void *payload, gsize size)
{
	guint8 head[9] = {
		(guint8)(size >> 16), (guint8)(size >> 8), (guint8)size, type, flags, 0, 0, 0,
		(guint8)stream};

	g_byte_array_append(out, head, sizeof(head));
	if (size > 0)
		g_byte_array_append(out, payload, (guint)size);
}

/* A literal header field without indexing; name and value below 127 bytes. */
static inline void raw_header(GByteArray *out, const char *name, const char *value)
{
	guint8 byte = 0;

	g_byte_array_append(out, &byte, 1);
	byte = (guint8)strlen(name);
	g_byte_array_append(out, &byte, 1);
	g_byte_array_append(out, (const guint8 *)name, byte);
	byte = (guint8)strlen(value);
	g_byte_array_append(out, &byte, 1);
	g_byte_array_append(out, (const guint8 *)value, byte);
}

static inline int raw_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

struct raw_field {
	const char *name, *value;
};

/* Connects and calls 'method' with an empty message. 'extra' (may be NULL) ends with a
 * field without a name; its fields come before those that are no pseudo headers. The
 * descriptor is non-blocking; nothing is read. */
static inline int raw_call_with(const char *path, const char *method, const struct raw_field *extra)
{
	int fd = raw_connect(path);
	g_autoptr(GByteArray) out = g_byte_array_new();
	g_autoptr(GByteArray) headers = g_byte_array_new();
	static const guint8 empty_message[5] = {0};
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

	raw_header(headers, ":method", "POST");
	raw_header(headers, ":scheme", "http");
	raw_header(headers, ":path", method);
	for (gsize i = 0; extra && extra[i].name; i++)
		raw_header(headers, extra[i].name, extra[i].value);
	raw_header(headers, "te", "trailers");
	raw_header(headers, "content-type", "application/grpc");
	g_byte_array_append(out, (const guint8 *)preface, sizeof(preface) - 1);
	raw_frame(out, RAW_SETTINGS, 0, 0, NULL, 0);
	raw_frame(out, RAW_HEADERS, RAW_END_HEADERS, 1, headers->data, headers->len);
	raw_frame(out, RAW_DATA, RAW_END_STREAM, 1, empty_message, sizeof(empty_message));
	assert_int_equal(send(fd, out->data, out->len, MSG_NOSIGNAL), out->len);
	return fd;
}

/* The same; 'authority' NULL: none. */
static inline int raw_call(const char *path, const char *method, const char *authority)
{
	const struct raw_field extra[] = {{authority ? ":authority" : NULL, authority},
					  {NULL, NULL}};

	return raw_call_with(path, method, extra);
}

/* Waits until the answer contains the text; the main loop runs meanwhile. */
static inline gboolean raw_wait_for(int fd, const char *text)
{
	g_autoptr(GByteArray) in = g_byte_array_new();
	guint8 buffer[4096];
	ssize_t size = -1;

	while (size != 0) {
		g_main_context_iteration(NULL, FALSE);
		size = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
		if (size > 0)
			g_byte_array_append(in, buffer, (guint)size);
		if (in->len > 0 && memmem(in->data, in->len, text, strlen(text)))
			return TRUE;
	}
	return FALSE;
}

/* The whole frames at the start of 'in': TRUE as soon as one tells what became of the call. */
static inline gboolean raw_has_outcome(const GByteArray *in, gboolean *ret_served)
{
	for (gsize at = 0; at + 9 <= in->len;) {
		const guint8 *head = in->data + at;
		gsize size = (gsize)head[0] << 16 | (gsize)head[1] << 8 | head[2];
		gboolean ends = head[3] == RAW_HEADERS && (head[4] & RAW_END_STREAM);

		*ret_served = head[3] == RAW_DATA;
		if (*ret_served || ends || head[3] == RAW_RST_STREAM || head[3] == RAW_GOAWAY)
			return TRUE;
		at += 9 + size;
	}
	return FALSE;
}

/* Waits for the first message of a call, TRUE, or for its end without any, whoever ends
 * what; the main loop runs meanwhile. */
static inline gboolean raw_is_served(int fd)
{
	g_autoptr(GByteArray) in = g_byte_array_new();
	gboolean served = FALSE;
	guint8 buffer[4096];
	ssize_t size = -1;

	while (size != 0 && !raw_has_outcome(in, &served)) {
		g_main_context_iteration(NULL, FALSE);
		size = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
		if (size > 0)
			g_byte_array_append(in, buffer, (guint)size);
	}
	return served;
}
