/* SPDX-License-Identifier: Apache-2.0 */
#include "model/news.h"

static void news_free(gpointer data)
{
	struct news *news = data;

	g_free(news->text);
	g_free(news);
}

GPtrArray *news_new(void)
{
	return g_ptr_array_new_with_free_func(news_free);
}

void news_add(GPtrArray *list, enum news_level level, const char *format, ...)
{
	struct news *news = g_new(struct news, 1);
	va_list args;

	va_start(args, format);
	news->level = level;
	news->text = g_strdup_vprintf(format, args);
	va_end(args);
	g_ptr_array_add(list, news);
}
