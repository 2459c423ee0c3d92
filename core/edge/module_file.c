/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/module_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NAME_BYTES 32

G_DEFINE_QUARK(module_error, module_error)

gboolean module_file_name_is_valid(const char *name)
{
	return g_ascii_islower(*name) && strlen(name) <= MAX_NAME_BYTES &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/* Who may write a file or directory decides what runs as root here. The sticky bit
 * of a directory does not help: it lets everybody add files. */
static gboolean check_writers(const char *path, const struct stat *st, GError **error)
{
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		module_refuse(error, "'%s' belongs to user %u; make root its owner (chown root)",
			      path, st->st_uid);
		return FALSE;
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		module_refuse(error,
			      "others than its owner may write '%s' (mode %04o); chmod go-w it",
			      path, st->st_mode & 07777);
		return FALSE;
	}
	return TRUE;
}

static gboolean check_directory(const char *path, GError **error)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		module_refuse(error, "'%s': %s", path, g_strerror(errno));
		return FALSE;
	}
	if (!S_ISDIR(st.st_mode)) {
		module_refuse(error, "'%s' is not a directory", path);
		return FALSE;
	}
	return check_writers(path, &st, error);
}

char *module_file_directory(const char *backend_dir, GError **error)
{
	char *dir = realpath(backend_dir, NULL);

	if (!dir) {
		module_refuse(error,
			      "backend directory '%s': %s; install backends there, or set "
			      "'backend_dir' or "
			      "--backend-dir",
			      backend_dir, g_strerror(errno));
		return NULL;
	}
	if (!check_directory(dir, error)) {
		g_prefix_error(error, "backend directory: ");
		g_clear_pointer(&dir, free);
	}
	return dir;
}

/* A link may lead into a folder below the backend directory: every directory on
 * that way counts. */
static gboolean check_way(const char *dir, const char *path, GError **error)
{
	g_autofree char *folder = g_path_get_dirname(path);

	while (strlen(folder) > strlen(dir)) {
		char *parent;

		if (!check_directory(folder, error))
			return FALSE;
		parent = g_path_get_dirname(folder);
		g_free(folder);
		folder = parent;
	}
	return TRUE;
}

static gboolean is_below(const char *path, const char *dir)
{
	gsize length = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return TRUE;
	return strncmp(path, dir, length) == 0 && path[length] == '/';
}

static gboolean check_file(const char *dir, const char *path, struct stat *ret_st, GError **error)
{
	struct stat st;

	if (!is_below(path, dir)) {
		module_refuse(
			error,
			"it is a link to '%s', outside the backend directory; copy the file there",
			path);
		return FALSE;
	}
	if (lstat(path, &st) < 0) {
		module_refuse(error, "'%s': %s", path, g_strerror(errno));
		return FALSE;
	}
	if (!S_ISREG(st.st_mode)) {
		module_refuse(error, "'%s' is not a regular file", path);
		return FALSE;
	}
	if (!check_writers(path, &st, error) || !check_way(dir, path, error))
		return FALSE;
	*ret_st = st;
	return TRUE;
}

char *module_file_find(const char *dir, const char *name, struct stat *ret_st, GError **error)
{
	g_autofree char *file = g_strdup_printf("%s/%s.so", dir, name);
	char *path = realpath(file, NULL);
	struct stat st;

	if (!path && errno == ENOENT && lstat(file, &st) < 0) {
		g_set_error(error, MODULE_ERROR, MODULE_ERROR_MISSING, "no file '%s'", file);
		return NULL;
	}
	if (!path) {
		module_refuse(error, "it is a link that leads nowhere: %s", g_strerror(errno));
		return NULL;
	}
	if (!check_file(dir, path, ret_st, error))
		g_clear_pointer(&path, free);
	return path;
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void survey_file(const char *dir, const char *file, GPtrArray *usable, GPtrArray *refused)
{
	g_autofree char *name = g_strndup(file, strlen(file) - strlen(".so"));
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	struct stat st;

	if (!module_file_name_is_valid(name))
		module_refuse(&error, "its name is not [a-z][a-z0-9_]{0,31}.so");
	else
		path = module_file_find(dir, name, &st, &error);
	if (path)
		g_ptr_array_add(usable, g_steal_pointer(&name));
	else
		g_ptr_array_add(refused, g_strdup_printf("'%s' (%s)", file, error->message));
}

void module_file_survey(const char *dir, GStrv *ret_names, GStrv *ret_refused)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_autoptr(GPtrArray) refused = g_ptr_array_new();
	g_autoptr(GDir) stream = g_dir_open(dir, 0, NULL);
	const char *file;

	while (stream && (file = g_dir_read_name(stream)))
		if (file[0] != '.' && g_str_has_suffix(file, ".so"))
			survey_file(dir, file, names, refused);
	g_ptr_array_sort(names, compare_texts);
	g_ptr_array_sort(refused, compare_texts);
	g_ptr_array_add(names, NULL);
	g_ptr_array_add(refused, NULL);
	*ret_names = (GStrv)g_ptr_array_free(g_steal_pointer(&names), FALSE);
	*ret_refused = (GStrv)g_ptr_array_free(g_steal_pointer(&refused), FALSE);
}
