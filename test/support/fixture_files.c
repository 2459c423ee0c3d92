/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fixture_files.h"

#include <errno.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static gboolean fail(const char *path, const char *what, GError **error)
{
	int saved = errno;

	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(saved),
		    "fixture path '%s': %s: %s", path, what, g_strerror(saved));
	return FALSE;
}

gboolean fixture_put_dir(const char *root, const char *path, GError **error)
{
	g_autofree char *full = g_build_filename(root, path, NULL);

	if (g_mkdir_with_parents(full, 0755) < 0)
		return fail(path, "mkdir", error);
	return TRUE;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

gboolean fixture_remove_path(const char *root, const char *path, GError **error)
{
	g_autofree char *full = g_build_filename(root, path, NULL);
	struct stat st;

	if (lstat(full, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR || fail(path, "lstat", error);
	if (!S_ISDIR(st.st_mode))
		return unlink(full) == 0 || fail(path, "unlink", error);
	if (nftw(full, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
		return fail(path, "remove", error);
	return TRUE;
}

/* Makes room for something at path: the directory above, and nothing there. */
static char *prepare(const char *root, const char *path, GError **error)
{
	g_autofree char *above = g_path_get_dirname(path);

	if (!fixture_put_dir(root, above, error) || !fixture_remove_path(root, path, error))
		return NULL;
	return g_build_filename(root, path, NULL);
}

gboolean fixture_put_bytes(const char *root, const char *path, const char *bytes, gsize length,
			   GError **error)
{
	g_autofree char *full = prepare(root, path, error);

	return full && g_file_set_contents_full(full, bytes, (gssize)length,
						G_FILE_SET_CONTENTS_NONE, 0644, error);
}

gboolean fixture_put_line(const char *root, const char *path, const char *text, GError **error)
{
	g_autofree char *line = g_strconcat(text, "\n", NULL);

	return fixture_put_bytes(root, path, line, strlen(line), error);
}

gboolean fixture_put_fifo(const char *root, const char *path, GError **error)
{
	g_autofree char *full = prepare(root, path, error);

	if (!full)
		return FALSE;
	return mkfifo(full, 0644) == 0 || fail(path, "mkfifo", error);
}

gboolean fixture_put_node(const char *root, const char *path, guint major, guint minor,
			  GError **error)
{
	g_autofree char *full = prepare(root, path, error);

	if (!full)
		return FALSE;
	if (mknod(full, S_IFCHR | 0666, makedev(major, minor)) == 0)
		return TRUE;
	if (errno != EPERM && errno != EACCES)
		return fail(path, "mknod", error);
	return fixture_put_bytes(root, path, "", 0, error);
}

gboolean fixture_put_link(const char *root, const char *path, const char *target, GError **error)
{
	g_autofree char *full = prepare(root, path, error);

	if (!full)
		return FALSE;
	return symlink(target, full) == 0 || fail(path, "symlink", error);
}

/* Below sys a link never climbs above sys, so that the tree can stand anywhere. */
gboolean fixture_put_link_to(const char *root, const char *path, const char *other, GError **error)
{
	gboolean in_sys = g_str_has_prefix(path, "sys/") && g_str_has_prefix(other, "sys/");
	const char *from = in_sys ? path + strlen("sys/") : path;
	g_autoptr(GString) target = g_string_new(NULL);

	for (const char *slash = strchr(from, '/'); slash; slash = strchr(slash + 1, '/'))
		g_string_append(target, "../");
	g_string_append(target, in_sys ? other + strlen("sys/") : other);
	return fixture_put_link(root, path, target->str, error);
}

/* The path of the fixture that a link made by fixture_put_link_to names, or NULL. */
static char *link_target(const char *root, const char *path)
{
	g_autofree char *full = g_build_filename(root, path, NULL);
	g_autofree char *target = g_file_read_link(full, NULL);
	const char *at = target;

	if (!target)
		return NULL;
	while (g_str_has_prefix(at, "../"))
		at += strlen("../");
	return g_str_has_prefix(at, "sys/") ? g_strdup(at) : g_build_filename("sys", at, NULL);
}

char *fixture_class_dir(const char *root, const char *class, const char *name, GError **error)
{
	g_autofree char *path = g_build_filename("sys/class", class, name, NULL);
	char *dir = link_target(root, path);

	if (!dir)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "fixture has no '%s' in class '%s'", name, class);
	return dir;
}

char *fixture_device_dir(const char *root, const char *name, GError **error)
{
	static const char *const places[] = {"sys/bus/pci/devices", "sys/bus/auxiliary/devices",
					     "sys/bus/ub/devices", "other-devices"};

	if (g_str_equal(name, "virtual"))
		return g_strdup("sys/devices/virtual");
	for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
		g_autofree char *path = g_build_filename(places[i], name, NULL);
		char *dir = link_target(root, path);

		if (dir)
			return dir;
	}
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "fixture has no device '%s'", name);
	return NULL;
}
