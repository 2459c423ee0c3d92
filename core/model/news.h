/* SPDX-License-Identifier: Apache-2.0 */
/* What pure modules have to say to the log: they collect it, the daemon tells it. */
#pragma once

#include <glib.h>

enum news_level { NEWS_INFO, NEWS_WARNING, NEWS_ERROR };

struct news {
	enum news_level level;
	char *text; /* one sentence */
};

/* An empty list of struct news *. */
GPtrArray *news_new(void);
void news_add(GPtrArray *list, enum news_level level, const char *format, ...) G_GNUC_PRINTF(3, 4);
