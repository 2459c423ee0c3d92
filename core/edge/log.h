/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: one line a message on stderr, as text with time and level, as text with
 * journald's <N> prefixes, or as JSON lines. Any thread. Only code that decides
 * about an error logs it; everything else returns it.
 */
#pragma once

#include <glib.h>

/* Numbers are syslog's, as in the backend contract. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7
};
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JOURNAL, LOG_FORMAT_JSON, LOG_FORMAT_AUTO };

/* AUTO is journal when stderr is the journal ($JOURNAL_STREAM), else text.
 * 'node' (may be NULL) is added to each JSON line. */
void log_setup(enum log_level level, enum log_format format, const char *node);
gboolean log_enabled(enum log_level level);

/* 'area' is the module or resource that speaks, such as "backend pci". Control
 * characters in the message are escaped. */
void log_message(enum log_level level, const char *area, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

#define log_error(area, ...) log_message(LOG_LEVEL_ERROR, area, __VA_ARGS__)
#define log_warning(area, ...) log_message(LOG_LEVEL_WARNING, area, __VA_ARGS__)
#define log_info(area, ...) log_message(LOG_LEVEL_INFO, area, __VA_ARGS__)
#define log_debug(area, ...) log_message(LOG_LEVEL_DEBUG, area, __VA_ARGS__)

/* What pure modules have to say (struct news *). */
void log_news(const char *area, const GPtrArray *list);
