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

/* Connects and calls 'method' with an empty message; 'authority' NULL: none. The
 * descriptor is non-blocking; nothing is read. */
static inline int raw_call(const char *path, const char *method, const char *authority)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_autoptr(GByteArray) out = g_byte_array_new();
	g_autoptr(GByteArray) headers = g_byte_array_new();
	static const guint8 empty_message[5] = {0};
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

	raw_header(headers, ":method", "POST");
	raw_header(headers, ":scheme", "http");
	raw_header(headers, ":path", method);
	if (authority)
		raw_header(headers, ":authority", authority);
	raw_header(headers, "te", "trailers");
	raw_header(headers, "content-type", "application/grpc");
	g_byte_array_append(out, (const guint8 *)preface, sizeof(preface) - 1);
	raw_frame(out, 4, 0, 0, NULL, 0); /* SETTINGS */
	raw_frame(out, 1, 4, 1, headers->data, headers->len); /* HEADERS, END_HEADERS */
	raw_frame(out, 0, 1, 1, empty_message, sizeof(empty_message)); /* DATA, END_STREAM */
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, out->data, out->len, MSG_NOSIGNAL), out->len);
	return fd;
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
