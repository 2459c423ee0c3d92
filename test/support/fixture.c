/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fixture.h"

#include <string.h>

#include "support/fixture_files.h"
#include "support/fixture_macros.h"

static gboolean build_file(const char *file, const char *root, GError **error);

static gboolean refuse(GError **error, const char *what, const char *line)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: '%s'", what, line);
	return FALSE;
}

/* Bytes of a value: \n, \t, \\ and \xHH are escapes; NUL is possible. */
static GString *unescape(const char *text)
{
	GString *bytes = g_string_new(NULL);

	for (; *text; text++) {
		if (*text != '\\' || !text[1]) {
			g_string_append_c(bytes, *text);
			continue;
		}
		text++;
		if (*text == 'x' && g_ascii_isxdigit(text[1]) && g_ascii_isxdigit(text[2])) {
			g_string_append_c(bytes, (char)(g_ascii_xdigit_value(text[1]) * 16 +
							g_ascii_xdigit_value(text[2])));
			text += 2;
		} else {
			g_string_append_c(bytes, *text == 'n' ? '\n' : *text == 't' ? '\t' : *text);
		}
	}
	return bytes;
}

static gboolean put_file(const char *root, const char *path, const char *value, GError **error)
{
	g_autoptr(GString) bytes = unescape(value);

	g_string_append_c(bytes, '\n');
	return fixture_put_bytes(root, path, bytes->str, bytes->len, error);
}

static gboolean put_filled(const char *root, const char *path, const char *size, GError **error)
{
	g_autoptr(GString) bytes = g_string_new(NULL);

	g_string_set_size(bytes, (gsize)g_ascii_strtoull(size, NULL, 10));
	memset(bytes->str, 'a', bytes->len);
	return fixture_put_bytes(root, path, bytes->str, bytes->len, error);
}

static gboolean put_chr(const char *root, const char *path, const char *numbers, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(numbers, ":", 2);

	if (g_strv_length(parts) != 2)
		return refuse(error, "not MAJOR:MINOR", numbers);
	return fixture_put_node(root, path, (guint)g_ascii_strtoull(parts[0], NULL, 10),
				(guint)g_ascii_strtoull(parts[1], NULL, 10), error);
}

static gboolean put_link(const char *root, const char *path, const char *target, GError **error)
{
	return fixture_put_link(root, path, target, error);
}

/* 'P = text' and 'P -> TARGET': what follows the sign is taken as it is written. */
static gboolean run_assignment(const char *root, const char *rest, const char *sign, GError **error)
{
	gboolean (*put)(const char *, const char *, const char *, GError **) =
		strchr(sign, '=') ? put_file : put_link;
	g_auto(GStrv) parts = g_strsplit(rest, sign, 2);

	if (g_strv_length(parts) != 2)
		return refuse(error, "assignment expected", rest);
	return put(root, parts[0], parts[1] + (*parts[1] == ' '), error);
}

static gboolean run_words(const char *dir, const char *root, char **words, GError **error)
{
	guint n = g_strv_length(words);
	g_autofree char *included = NULL;

	if (n == 2 && g_str_equal(words[0], "include")) {
		included = g_build_filename(dir, words[1], NULL);
		return build_file(included, root, error);
	}
	if (n == 2 && g_str_equal(words[0], "dir"))
		return fixture_put_dir(root, words[1], error);
	if (n == 2 && g_str_equal(words[0], "fifo"))
		return fixture_put_fifo(root, words[1], error);
	if (n == 2 && g_str_equal(words[0], "remove"))
		return fixture_remove_path(root, words[1], error);
	if (n == 3 && g_str_equal(words[0], "fill"))
		return put_filled(root, words[1], words[2], error);
	if (n == 3 && g_str_equal(words[0], "chr"))
		return put_chr(root, words[1], words[2], error);
	return fixture_run_macro(root, (const char *const *)words, error);
}

static gboolean run_line(const char *dir, const char *root, const char *line, GError **error)
{
	g_auto(GStrv) words = NULL;

	if (*line == '\0' || *line == '#')
		return TRUE;
	if (g_str_has_prefix(line, "file "))
		return run_assignment(root, line + strlen("file "), " =", error);
	if (g_str_has_prefix(line, "link "))
		return run_assignment(root, line + strlen("link "), " ->", error);
	if (!g_shell_parse_argv(line, NULL, &words, error))
		return FALSE;
	return run_words(dir, root, words, error);
}

static gboolean run_text(const char *dir, const char *text, const char *root, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		if (!run_line(dir, root, g_strstrip(lines[i]), error)) {
			g_prefix_error(error, "line %u: ", i + 1);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean build_file(const char *file, const char *root, GError **error)
{
	g_autofree char *dir = g_path_get_dirname(file);
	g_autofree char *text = NULL;

	if (!g_file_get_contents(file, &text, NULL, error))
		return FALSE;
	if (run_text(dir, text, root, error))
		return TRUE;
	g_prefix_error(error, "machine '%s': ", file);
	return FALSE;
}

gboolean fixture_build(const char *machine, const char *root, GError **error)
{
	if (!fixture_put_dir(root, "sys", error) || !fixture_put_dir(root, "dev", error))
		return FALSE;
	return strchr(machine, '\n') ? run_text(".", machine, root, error)
				     : build_file(machine, root, error);
}

static void end_test(const GError *failure)
{
	if (failure)
		g_error("%s", failure->message);
}

char *fixture_new(const char *machine)
{
	g_autoptr(GError) failure = NULL;
	char *root = g_dir_make_tmp("rdmadp-machine-XXXXXX", &failure);

	if (root)
		fixture_build(machine, root, &failure);
	end_test(failure);
	return root;
}

void fixture_remove(const char *root)
{
	g_autoptr(GError) failure = NULL;

	if (root)
		fixture_remove_path("/", root, &failure);
	end_test(failure);
}

void fixture_write(const char *root, const char *path, const char *text)
{
	g_autoptr(GError) failure = NULL;

	put_file(root, path, text, &failure);
	end_test(failure);
}

void fixture_delete(const char *root, const char *path)
{
	g_autoptr(GError) failure = NULL;

	fixture_remove_path(root, path, &failure);
	end_test(failure);
}

void fixture_apply(const char *root, const char *lines)
{
	g_autofree char *text = g_strconcat(lines, "\n", NULL);
	g_autoptr(GError) failure = NULL;

	fixture_build(text, root, &failure);
	end_test(failure);
}

gboolean fixture_can_mknod(void)
{
	g_autofree char *root = fixture_new("chr dev/probe 231:192\n");
	g_autofree char *path = g_build_filename(root, "dev/probe", NULL);
	gboolean made = !g_file_test(path, G_FILE_TEST_IS_REGULAR);

	fixture_remove(root);
	return made;
}
