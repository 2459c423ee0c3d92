/* SPDX-License-Identifier: Apache-2.0 */
#include "model/finding.h"

#include "model/text.h"

/* Longer ones quote something that nobody wants to read. */
#define LONGEST_TEXT 1024

GPtrArray *findings_new(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)finding_free);
}

void finding_free(struct finding *finding)
{
	if (finding == NULL)
		return;
	g_free(finding->where);
	g_free(finding->text);
	g_free(finding);
}

void findings_add_va(GPtrArray *findings, enum finding_level level, const char *where,
		     const char *format, va_list args)
{
	g_autofree char *what = g_strdup_vprintf(format, args);
	g_autofree char *whole =
		where == NULL ? g_strdup(what) : g_strconcat(where, ": ", what, NULL);
	struct finding *finding = g_new0(struct finding, 1);
	finding->level = level;
	finding->where = where == NULL ? NULL : text_escape(where, LONGEST_TEXT);
	finding->text = text_escape(whole, LONGEST_TEXT);
	g_ptr_array_add(findings, finding);
}

void findings_add(GPtrArray *findings, enum finding_level level, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	findings_add_va(findings, level, NULL, format, args);
	va_end(args);
}

void findings_add_at(GPtrArray *findings, enum finding_level level, const char *where,
		     const char *format, ...)
{
	va_list args;
	va_start(args, format);
	findings_add_va(findings, level, where, format, args);
	va_end(args);
}

guint findings_count(GPtrArray *findings, enum finding_level level)
{
	guint n = 0;
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);
		n += finding->level == level;
	}
	return n;
}

gboolean findings_have_error(GPtrArray *findings)
{
	return findings_count(findings, FINDING_ERROR) > 0;
}
