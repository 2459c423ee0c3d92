/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/settings_scan.h"

#include <string.h>

/* The main text and the library's limit of included files below it. */
#define DEEPEST_INCLUDE 11

struct scan {
	const char *at;
	guint line;
	const char *file;
	const char *dir;
	guint depth;
	gboolean is_safe;
	GPtrArray *findings;
};

static void report(struct scan *scan, guint line, const char *what)
{
	g_autofree char *where = scan->file == NULL ? g_strdup_printf("line %u", line)
						    : g_strdup_printf("%s:%u", scan->file, line);
	findings_add_at(scan->findings, FINDING_ERROR, where, "%s", what);
}

static void skip_line(struct scan *scan)
{
	scan->at += strcspn(scan->at, "\n");
}

static void skip_block_comment(struct scan *scan)
{
	guint begin = scan->line;
	const char *end = strstr(scan->at + 2, "*/");
	if (end == NULL) {
		report(scan, begin, "the comment that begins here has no end (*/)");
		scan->at += strlen(scan->at);
		return;
	}
	for (; scan->at < end; scan->at++)
		scan->line += *scan->at == '\n';
	scan->at = end + 2;
}

/* At the opening quote. A line break inside means that a quote was forgotten. */
static void skip_text(struct scan *scan)
{
	guint begin = scan->line;
	for (scan->at++; *scan->at != '"'; scan->at++) {
		if (*scan->at == '\0' || *scan->at == '\n') {
			report(scan, begin, "text has no closing \" on the same line");
			scan->is_safe = FALSE; /* from here on the library sees something else */
			return;
		}
		if (*scan->at == '\\' && scan->at[1] != '\0' && scan->at[1] != '\n')
			scan->at++;
	}
	scan->at++;
}

/* The library reads an int without L modulo 2^32. */
static gboolean is_wrapped(const char *number, gsize length)
{
	guint64 value;
	gboolean is_hex = length > 2 && (number[1] == 'x' || number[1] == 'X');
	g_autofree char *digits = g_strndup(number, length);
	if (strpbrk(digits, is_hex ? "lLuU" : ".eElLuU") != NULL)
		return FALSE;
	if (!g_ascii_string_to_unsigned(is_hex ? digits + 2 : digits, is_hex ? 16 : 10, 0,
					G_MAXUINT64, &value, NULL))
		return strlen(digits) > strlen("2147483647");
	return value > G_MAXINT;
}

static void scan_number(struct scan *scan)
{
	gsize length = strspn(scan->at, "0123456789abcdefABCDEFxXlLuU.");
	if (!is_wrapped(scan->at, length)) {
		scan->at += length;
		return;
	}
	g_autofree char *digits = g_strndup(scan->at, length);
	g_autofree char *what = g_strdup_printf("the number %s is too large", digits);
	report(scan, scan->line, what);
	scan->at += length;
}

static gboolean scan_text(const char *text, const char *file, const struct scan *parent);

static gboolean scan_included(struct scan *scan, const char *name)
{
	g_autofree char *path = g_strconcat(scan->dir, "/", name, NULL);
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	gsize length;
	if (strchr(name, '\\') == NULL)
		text = small_file_read(path, SETTINGS_LARGEST_FILE, &length, &error);
	if (text != NULL)
		return scan->depth >= DEEPEST_INCLUDE || scan_text(text, name, scan);
	g_autofree char *what =
		g_strdup_printf("'%s' cannot be included: %s", path,
				error != NULL ? error->message : "its name has a '\\'");
	report(scan, scan->line, what);
	return FALSE;
}

static void scan_directive(struct scan *scan)
{
	if (!g_str_has_prefix(scan->at, "@include")) {
		scan->at++;
		return;
	}
	scan->at += strlen("@include");
	scan->at += strspn(scan->at, " \t");
	if (*scan->at != '"')
		return; /* the library's to refuse */
	gsize length = strcspn(scan->at + 1, "\"\n");
	g_autofree char *name = g_strndup(scan->at + 1, length);
	if (!scan_included(scan, name))
		scan->is_safe = FALSE;
	skip_text(scan);
}

static void skip_name(struct scan *scan)
{
	while (g_ascii_isalnum(*scan->at) ||
	       (*scan->at != '\0' && strchr("-_*", *scan->at) != NULL))
		scan->at++;
}

static void scan_token(struct scan *scan)
{
	char c = scan->at[0], next = scan->at[1];
	if (c == '#' || (c == '/' && next == '/'))
		skip_line(scan);
	else if (c == '/' && next == '*')
		skip_block_comment(scan);
	else if (c == '"')
		skip_text(scan);
	else if (c == '@')
		scan_directive(scan);
	else if (g_ascii_isdigit(c))
		scan_number(scan);
	else if (g_ascii_isalpha(c) || c == '*')
		skip_name(scan);
	else
		scan->at++;
}

static gboolean scan_text(const char *text, const char *file, const struct scan *parent)
{
	struct scan scan = *parent;
	scan.at = text;
	scan.line = 1;
	scan.file = file;
	scan.depth++;
	scan.is_safe = TRUE;
	while (*scan.at != '\0' && scan.is_safe) {
		scan.line += *scan.at == '\n';
		scan_token(&scan);
	}
	return scan.is_safe;
}

gboolean settings_scan(const char *text, const char *dir, GPtrArray *findings)
{
	const struct scan top = {.dir = dir, .findings = findings};
	return scan_text(text, NULL, &top);
}
