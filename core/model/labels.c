/* SPDX-License-Identifier: Apache-2.0 */
#include "model/labels.h"

#include <string.h>

static char *unquote(const char *value)
{
	gsize length = strlen(value);
	g_autofree char *inner = NULL;

	if (length < 2 || value[0] != '"' || value[length - 1] != '"')
		return g_strdup(value);
	inner = g_strndup(value + 1, length - 2);
	return g_strcompress(inner);
}

char *labels_find(const char *text, const char *key)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	char *found = NULL;

	for (gsize i = 0; lines[i] != NULL; i++) {
		char *equals = strchr(lines[i], '=');

		if (equals == NULL || lines[i][0] == '#')
			continue;
		*equals = '\0';
		if (strcmp(g_strstrip(lines[i]), key) != 0)
			continue;
		g_free(found);
		found = unquote(g_strstrip(equals + 1));
	}
	return found;
}
