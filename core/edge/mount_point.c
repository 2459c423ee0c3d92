/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/mount_point.h"

#include <stdlib.h>
#include <string.h>

/* "36 35 98:0 /root /where …" */
#define FIELD_WHERE 4

/* Blanks and backslashes in a path are written as "\040": compressed in place. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *at = path; *at != '\0'; at++) {
		char digits[4] = {0};

		if (*at == '\\' && strspn(at + 1, "01234567") >= 3) {
			memcpy(digits, at + 1, 3);
			*to++ = (char)strtol(digits, NULL, 8);
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}

static gboolean is_mounted_at(const char *line, const char *path)
{
	g_auto(GStrv) fields = g_strsplit(line, " ", FIELD_WHERE + 2);

	if (g_strv_length(fields) <= FIELD_WHERE)
		return FALSE;
	unescape(fields[FIELD_WHERE]);
	return strcmp(fields[FIELD_WHERE], path) == 0;
}

gboolean mount_point_is(const char *mountinfo, const char *path)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(mountinfo, &text, NULL, NULL))
		return FALSE;
	lines = g_strsplit(text, "\n", -1);
	for (gsize i = 0; lines[i] != NULL; i++)
		if (is_mounted_at(lines[i], path))
			return TRUE;
	return FALSE;
}
