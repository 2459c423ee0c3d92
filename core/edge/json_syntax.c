/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/json_syntax.h"

#include <string.h>

struct problem {
	const char *text;
	gsize length;
	gsize at; /* the byte that is wrong, or where it was noticed */
	const char *reason; /* the library's */
	const char *token; /* where the library quotes the token, else "" */
};

static gboolean is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static gboolean is_blank(const struct problem *problem)
{
	for (gsize i = 0; i < problem->length; i++) {
		if (!is_space(problem->text[i]))
			return FALSE;
	}
	return TRUE;
}

static gboolean begins_with(const struct problem *problem, const char *bytes)
{
	gsize n = strlen(bytes);
	return problem->length >= n && memcmp(problem->text, bytes, n) == 0;
}

static gboolean has_reason(const struct problem *problem, const char *part)
{
	return strstr(problem->reason, part) != NULL;
}

static const char *explain_encoding(struct problem *problem)
{
	if (is_blank(problem)) {
		problem->at = 0;
		return "the file is empty";
	}
	if (begins_with(problem, "\xef\xbb\xbf")) {
		problem->at = 0;
		return "the file begins with a byte order mark (BOM); save it as UTF-8 without BOM";
	}
	if (begins_with(problem, "\xff\xfe") || begins_with(problem, "\xfe\xff")) {
		problem->at = 0;
		return "the file is UTF-16; save it as UTF-8 without BOM";
	}
	if (has_reason(problem, "unable to decode byte"))
		return "this is not UTF-8; save the file as UTF-8";
	return NULL;
}

/* "apiVersion: v1" or "---": the first line of a manifest, not of JSON. */
static const char *explain_yaml(struct problem *problem)
{
	gsize start = 0;
	while (start < problem->length && is_space(problem->text[start]))
		start++;
	gsize end = start;
	while (end < problem->length &&
	       (g_ascii_isalnum(problem->text[end]) || strchr("_-.", problem->text[end]) != NULL))
		end++;
	gboolean is_marker = end - start == 3 && memcmp(problem->text + start, "---", 3) == 0;
	gboolean is_key = end > start && end < problem->length && problem->text[end] == ':';
	if (!is_marker && !is_key)
		return NULL;
	problem->at = start;
	return "this is YAML; the file must be JSON: of a ConfigMap, take the text below "
	       "\"config.json: |\"";
}

/* The last byte before 'at' that is no white space; FALSE if there is none. */
static gboolean find_before(const struct problem *problem, gsize *ret_at)
{
	for (gsize i = problem->at; i > 0; i--) {
		if (is_space(problem->text[i - 1]))
			continue;
		*ret_at = i - 1;
		return TRUE;
	}
	return FALSE;
}

static const char *explain_comma(struct problem *problem)
{
	gsize before;
	if (!find_before(problem, &before))
		return NULL;
	char token = problem->token[0];
	if ((token == '}' || token == ']') && problem->text[before] == ',') {
		problem->at = before;
		return "a comma after the last item; JSON does not allow it, remove the comma";
	}
	if (token == ',')
		return "a comma too many";
	if (!g_str_has_prefix(problem->reason, "'}' expected") &&
	    !g_str_has_prefix(problem->reason, "']' expected"))
		return NULL;
	if (strchr("\"{[", token) != NULL || g_ascii_isalnum(token))
		return "a comma is missing before this";
	return NULL;
}

/* "0x15b3", "15b3" or "101e" without quotes: digits and letters in one word. */
static gboolean is_bare_id(const struct problem *problem)
{
	const char *token = problem->token;
	if (g_ascii_isdigit(token[0]))
		return g_ascii_isalpha(token[strspn(token, "0123456789")]);
	return g_ascii_isalpha(token[0]) && problem->at > 0 && problem->at < problem->length &&
	       g_ascii_isdigit(problem->text[problem->at - 1]);
}

static const char *explain_number(const struct problem *problem)
{
	static const char *const words[] = {"NaN", "nan", "Infinity", "inf"};
	if (is_bare_id(problem))
		return "a number has only decimal digits; an id with letters needs double quotes "
		       "(\"15b3\")";
	if (problem->token[0] == '+')
		return "a number does not begin with +; remove it";
	if (problem->token[0] == '.')
		return "a number does not begin with a point; write a digit before it";
	for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
		if (g_str_has_prefix(problem->token, words[i]))
			return "this is no number of JSON; write digits";
	}
	return NULL;
}

static const char *explain_colon(const struct problem *problem)
{
	if (!g_str_has_prefix(problem->reason, "':' expected"))
		return NULL;
	return problem->token[0] == '=' ? "between a key and its value stands :, not ="
					: "between a key and its value a : is missing";
}

static const char *explain_token(struct problem *problem)
{
	switch (problem->token[0]) {
	case '/':
	case '#':
		return "JSON has no comments; remove this one";
	case '\'':
		return "text needs double quotes (\"), not single ones";
	case '\0':
		return NULL;
	}
	if (g_str_has_prefix(problem->token, "True") || g_str_has_prefix(problem->token, "False") ||
	    g_str_has_prefix(problem->token, "None"))
		return "write true, false and null in lower case";
	if (g_str_has_prefix(problem->reason, "string or '}' expected") &&
	    (g_ascii_isalnum(problem->token[0]) || problem->token[0] == '_'))
		return "a key needs double quotes (\")";
	const char *text = explain_number(problem);
	if (text == NULL)
		text = explain_colon(problem);
	if (text != NULL)
		return text;
	if (problem->token[0] == '0' && problem->at + 1 < problem->length &&
	    g_ascii_isdigit(problem->text[problem->at + 1]))
		return "a number does not begin with 0";
	if ((problem->token[0] & 0x80) != 0)
		return "a character that JSON does not know outside text, such as a typographic "
		       "quote or a no-break space";
	return explain_comma(problem);
}

static const char *explain_reason(struct problem *problem)
{
	static const struct {
		const char *part, *text;
	} table[] = {
		{"end of file expected", "there is more text after the end of the JSON value"},
		{"near end of file", "the text ends too early: a closing } or ] is missing"},
		{"premature end", "the text ends too early: a closing \" is missing"},
		{"unexpected newline",
		 "a line break inside text; a closing \" is missing, or write \\n"},
		{"duplicate object key", "this key is there twice in the same object"},
		{"too big negative", "this number is too small"},
		{"too big", "this number is too large"},
		{"overflow", "this number is too large"},
		{"invalid escape",
		 "this is no escape of JSON; for a backslash itself write two of them"},
		{"parsing depth", "lists and objects are nested too deeply"},
		{"NUL byte", "\\u0000 is not allowed"},
		{"JSON_ALLOW_NUL", "\\u0000 is not allowed"},
	};
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		if (has_reason(problem, table[i].part))
			return table[i].text;
	}
	return NULL;
}

static const char *explain(struct problem *problem)
{
	const char *text = explain_encoding(problem);
	if (text == NULL)
		text = explain_yaml(problem);
	/* A quoted token is more than the library's reason only where that says little. */
	if (text == NULL)
		text = explain_reason(problem);
	if (text == NULL)
		text = explain_token(problem);
	return text;
}

static const char *quoted_token(const char *reason)
{
	const char *near = strstr(reason, " near '");
	return near == NULL ? "" : near + strlen(" near '");
}

/* Where the quoted token begins, if it is quoted in full. */
static gsize token_start(const struct problem *problem, gsize position)
{
	gsize n = strlen(problem->token);
	if (n < 2 || n - 1 > position || position > problem->length)
		return position > 0 ? position - 1 : 0;
	const char *start = problem->text + position - (n - 1);
	gboolean same = memcmp(start, problem->token, n - 1) == 0;
	return same ? position - (n - 1) : position - 1;
}

static void locate(const struct problem *problem, guint *ret_line, guint *ret_column)
{
	guint line = 1, column = 1;
	for (gsize i = 0; i < problem->at && i < problem->length; i++) {
		if (problem->text[i] == '\n') {
			line++;
			column = 1;
		} else if ((problem->text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

char *json_syntax_explain(const char *text, gsize length, gsize position, const char *reason)
{
	struct problem problem = {
		.text = text,
		.length = length,
		.reason = reason,
		.token = quoted_token(reason),
	};
	problem.at = token_start(&problem, position);
	const char *what = explain(&problem);
	guint line, column;
	locate(&problem, &line, &column);
	g_autofree char *valid = g_utf8_make_valid(reason, -1);
	if (what == NULL)
		return g_strdup_printf("line %u, column %u: this is not JSON: %s", line, column,
				       valid);
	return g_strdup_printf("line %u, column %u: %s (%s)", line, column, what, valid);
}
