/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/news.h"

#include "edge/json_writer.h"
#include "model/text.h"

/* How long a line waits for a reader who is slow. */
#define PATIENCE_US (20 * G_GINT64_CONSTANT(1000))

/* The lock keeps lines that are longer than a pipe's atomic write in one piece,
 * and the node's name alive. It is pthread's, which ThreadSanitizer sees, unlike
 * GLib's. The level is read on its own, for log_enabled. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threshold = LOG_LEVEL_INFO;
static enum log_format line_format = LOG_FORMAT_TEXT;
static char *node_name;

static gboolean is_stuck; /* the last line could not be written: the next does not wait */
static gboolean is_broken_off; /* a part of it was */
static guint64 n_lost; /* lines since the last one that could be written */

static const char *level_name(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_ERROR:
		return "error";
	case LOG_LEVEL_WARNING:
		return "warning";
	case LOG_LEVEL_INFO:
		return "info";
	case LOG_LEVEL_DEBUG:
		break;
	}
	return "debug";
}

/* systemd names the device and inode of the journal's stream, so that a program
 * whose stderr was redirected can tell. */
static gboolean stderr_is_journal(void)
{
	const char *stream = g_getenv("JOURNAL_STREAM");
	struct stat st;
	if (stream == NULL || fstat(STDERR_FILENO, &st) < 0)
		return FALSE;
	g_autofree char *ours =
		g_strdup_printf("%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return g_str_equal(stream, ours);
}

void log_setup(enum log_level level, enum log_format format, const char *node)
{
	if (format == LOG_FORMAT_AUTO)
		format = stderr_is_journal() ? LOG_FORMAT_JOURNAL : LOG_FORMAT_TEXT;
	pthread_mutex_lock(&lock);
	g_atomic_int_set(&threshold, (int)level);
	line_format = format;
	g_free(node_name);
	node_name = g_strdup(node);
	pthread_mutex_unlock(&lock);
}

gboolean log_enabled(enum log_level level)
{
	return (int)level <= g_atomic_int_get(&threshold);
}

static char *timestamp(void)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autofree char *seconds = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");
	return g_strdup_printf("%s.%03dZ", seconds, g_date_time_get_microsecond(now) / 1000);
}

static void format_text(GString *line, enum log_level level, const char *area, const char *message)
{
	if (line_format == LOG_FORMAT_JOURNAL) {
		g_string_append_printf(line, "<%d>", (int)level);
	} else {
		g_autofree char *now = timestamp();
		g_string_append_printf(line, "%s %s: ", now, level_name(level));
	}
	text_append_escaped(line, area);
	g_string_append(line, ": ");
	text_append_escaped(line, message);
}

static void format_json(GString *line, enum log_level level, const char *area, const char *message)
{
	g_autofree char *now = timestamp();
	g_autoptr(JsonWriter) writer = json_writer_new(FALSE);
	json_begin_object(writer, NULL);
	json_add_string(writer, "timestamp", now);
	json_add_string(writer, "level", level_name(level));
	json_add_string(writer, "area", area);
	json_add_string(writer, "message", message);
	if (node_name != NULL)
		json_add_string(writer, "node", node_name);
	json_end_object(writer);
	g_string_append(line, json_writer_text(writer));
}

/* FALSE if standard error takes nothing before the deadline. */
static gboolean wait_writable(gint64 deadline_us)
{
	struct pollfd target = {.fd = STDERR_FILENO, .events = POLLOUT};
	gint64 left_us = MAX(deadline_us - g_get_monotonic_time(), 0);
	int result = poll(&target, 1, (int)(left_us / 1000));
	return result > 0 || (result < 0 && errno == EINTR && left_us > 0);
}

/* A pipe that is ready takes PIPE_BUF bytes without blocking, and in one piece. FALSE
 * if it never will. */
static gboolean write_some(const char *text, gsize length, gsize *done)
{
	ssize_t n = write(STDERR_FILENO, text + *done, MIN(length - *done, PIPE_BUF));
	if (n > 0)
		*done += (gsize)n;
	return n > 0 || (n < 0 && errno == EINTR);
}

static gboolean write_text(const char *text, gsize length)
{
	gint64 deadline_us = g_get_monotonic_time() + (is_stuck ? 0 : PATIENCE_US);
	gsize done = 0;
	while (done < length && wait_writable(deadline_us) && write_some(text, length, &done))
		continue;
	is_stuck = done < length;
	is_broken_off = is_stuck && (done > 0 || is_broken_off);
	return !is_stuck;
}

/* A log that cannot be written is not a reason to stop, nor to wait for long: what
 * could not be written is counted, and told once somebody reads again. */
static void write_line(const char *text, gsize length)
{
	if ((is_broken_off && !write_text("\n", 1)) || !write_text(text, length))
		n_lost++;
}

static void emit(enum log_level level, const char *area, const char *message)
{
	g_autoptr(GString) line = g_string_new(NULL);
	if (line_format == LOG_FORMAT_JSON)
		format_json(line, level, area, message);
	else
		format_text(line, level, area, message);
	g_string_append_c(line, '\n');
	write_line(line->str, line->len);
}

static void emit_lost(void)
{
	g_autofree char *message = g_strdup_printf(
		"%" G_GUINT64_FORMAT " lines of the log are lost: nobody took them", n_lost);
	guint64 before = n_lost;
	emit(LOG_LEVEL_WARNING, "log", message);
	n_lost = is_stuck ? before : 0;
}

void log_message(enum log_level level, const char *area, const char *format, ...)
{
	if (!log_enabled(level))
		return;
	int saved = errno;
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	pthread_mutex_lock(&lock);
	if (n_lost > 0)
		emit_lost();
	emit(level, area, message);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void log_news(const char *area, const GPtrArray *list)
{
	static const enum log_level levels[] = {
		[NEWS_INFO] = LOG_LEVEL_INFO,
		[NEWS_WARNING] = LOG_LEVEL_WARNING,
		[NEWS_ERROR] = LOG_LEVEL_ERROR,
	};
	for (guint i = 0; i < list->len; i++) {
		const struct news *news = g_ptr_array_index(list, i);
		log_message(levels[news->level], area, "%s", news->text);
	}
}
