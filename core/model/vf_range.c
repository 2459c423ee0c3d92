/* SPDX-License-Identifier: Apache-2.0 */
#include "model/vf_range.h"

#include <string.h>

/* Far above what any adapter has; keeps the arithmetic away from overflow. */
#define INDEX_LIMIT 65535

gsize vf_range_name_length(const char *entry)
{
	return strcspn(entry, "#");
}

static gboolean parse_index(const char *text, gint64 *ret_index)
{
	guint64 index;

	if (!g_ascii_string_to_unsigned(text, 10, 0, INDEX_LIMIT, &index, NULL))
		return FALSE;
	*ret_index = (gint64)index;
	return TRUE;
}

/* "7" or "0-3" */
static gboolean parse_part(const char *part, gint64 *ret_first, gint64 *ret_last)
{
	g_auto(GStrv) ends = g_strsplit(part, "-", 2);
	gint64 first, last;

	if (ends[0] == NULL || !parse_index(ends[0], &first))
		return FALSE;
	last = first;
	if (ends[1] != NULL && !parse_index(ends[1], &last))
		return FALSE;
	*ret_first = first;
	*ret_last = last;
	return TRUE;
}

gboolean vf_range_contains(const char *range, int index)
{
	g_auto(GStrv) parts = NULL;

	if (*range == '\0')
		return TRUE;
	parts = g_strsplit(range + 1, ",", -1);
	for (gsize i = 0; index >= 0 && parts[i] != NULL; i++) {
		gint64 first, last;

		if (parse_part(parts[i], &first, &last) && index >= first && index <= last)
			return TRUE;
	}
	return FALSE;
}

char *vf_range_problem(const char *entry)
{
	gsize length = vf_range_name_length(entry);
	g_auto(GStrv) parts = NULL;

	if (length == 0)
		return g_strdup("the name before '#' is missing");
	if (entry[length] == '\0')
		return NULL;
	parts = g_strsplit(entry + length + 1, ",", -1);
	if (parts[0] == NULL)
		return g_strdup("nothing follows the '#'");
	for (gsize i = 0; parts[i] != NULL; i++) {
		gint64 first, last;

		if (!parse_part(parts[i], &first, &last))
			return g_strdup_printf(
				"'%s' is neither a number (0 to %d) nor a range of two", parts[i],
				INDEX_LIMIT);
		if (first > last)
			return g_strdup_printf("the range '%s' is empty", parts[i]);
	}
	return NULL;
}
