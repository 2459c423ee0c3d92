/* SPDX-License-Identifier: Apache-2.0 */
#include "model/text.h"

static void append_char(GString *out, gunichar c)
{
	if (c == '\n')
		g_string_append(out, "\\n");
	else if (c == '\t')
		g_string_append(out, "\\t");
	else if (c == '\r')
		g_string_append(out, "\\r");
	else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		g_string_append_printf(out, "\\x%02x", c);
	else
		g_string_append_unichar(out, c);
}

void text_append_escaped(GString *out, const char *text)
{
	for (const char *at = text; *at != '\0';) {
		gunichar c = g_utf8_get_char_validated(at, -1);
		if (c == (gunichar)-1 || c == (gunichar)-2) {
			g_string_append_printf(out, "\\x%02x", (guchar)*at);
			at++;
			continue;
		}
		append_char(out, c);
		at = g_utf8_next_char(at);
	}
}

char *text_escape(const char *text, gsize most)
{
	GString *out = g_string_new(NULL);
	text_append_escaped(out, text);
	if (out->len > most) {
		const char *end = g_utf8_find_prev_char(out->str, out->str + most + 1);
		g_string_truncate(out, end == NULL ? 0 : (gsize)(end - out->str));
		g_string_append(out, "…");
	}
	return g_string_free(out, FALSE);
}

char *text_count(guint64 n, const char *thing)
{
	return g_strdup_printf("%" G_GUINT64_FORMAT " %s%s", n, thing, n == 1 ? "" : "s");
}
