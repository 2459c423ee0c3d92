/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/node_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "edge/held_files.h"

/* An attribute that holds a name or "MAJ:MIN" fits easily. */
#define ATTRIBUTE_SIZE 128

struct node_check {
	int sysfs_fd; /* -1: there is no sysfs root */
	HeldFiles *attributes; /* below it */
	int dev_fd; /* -1: no device root is visible */
	char *sysfs_root, *dev_root;
};

/* Takes the directory that is there now; the descriptor keeps its number. */
static void root_open(int *fd, const char *path)
{
	int now = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (*fd < 0) {
		*fd = now;
	} else if (now >= 0) {
		(void)dup3(now, *fd, O_CLOEXEC);
		close(now);
	}
}

NodeCheck *node_check_new(const char *sysfs_root, const char *dev_root)
{
	NodeCheck *check = g_new0(NodeCheck, 1);

	check->sysfs_fd = check->dev_fd = -1;
	check->sysfs_root = g_strdup(sysfs_root);
	check->dev_root = g_strdup(dev_root);
	node_check_forget(check);
	return check;
}

void node_check_forget(NodeCheck *check)
{
	held_files_free(check->attributes);
	root_open(&check->sysfs_fd, check->sysfs_root);
	root_open(&check->dev_fd, check->dev_root);
	check->attributes = held_files_new(check->sysfs_fd);
}

void node_check_free(NodeCheck *check)
{
	if (check == NULL)
		return;
	held_files_free(check->attributes);
	if (check->sysfs_fd >= 0)
		close(check->sysfs_fd);
	if (check->dev_fd >= 0)
		close(check->dev_fd);
	g_free(check->sysfs_root);
	g_free(check->dev_root);
	g_free(check);
}

/* Reads <dir>/<name>; FALSE with errno set. */
static gboolean attribute_read(const NodeCheck *check, const char *dir, const char *name,
			       char ret_text[ATTRIBUTE_SIZE])
{
	char path[PATH_MAX];

	g_strlcpy(path, dir, sizeof(path));
	g_strlcat(path, "/", sizeof(path));
	if (g_strlcat(path, name, sizeof(path)) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return FALSE;
	}
	return held_files_read(check->attributes, path, ret_text, ATTRIBUTE_SIZE);
}

static gboolean file_belongs(const NodeCheck *check, const char *dir, const char *rdma_device)
{
	char ibdev[ATTRIBUTE_SIZE];

	return rdma_device == NULL ||
	       (attribute_read(check, dir, "ibdev", ibdev) && strcmp(ibdev, rdma_device) == 0);
}

/* "MAJ:MIN" */
static gboolean number_read(const NodeCheck *check, const char *dir, guint *ret_major,
			    guint *ret_minor)
{
	char text[ATTRIBUTE_SIZE];
	char *colon;
	char *end;

	if (!attribute_read(check, dir, "dev", text))
		return FALSE;
	gulong dev_major = strtoul(text, &colon, 10);

	if (colon == text || *colon != ':')
		return FALSE;
	gulong dev_minor = strtoul(colon + 1, &end, 10);

	if (end == colon + 1 || *end != '\0')
		return FALSE;
	*ret_major = (guint)dev_major;
	*ret_minor = (guint)dev_minor;
	return TRUE;
}

/* "uverbs12" and "uverbs3" are of one kind: equal but for the digits at the end. */
static gboolean same_kind(const char *a, const char *b)
{
	gsize a_length = strcspn(a, "0123456789");
	gsize b_length = strcspn(b, "0123456789");

	return a_length == b_length && strncmp(a, b, a_length) == 0;
}

/* The uverbs of the bus device that the file is of, itself included (char *). Only uverbs
 * is one per RDMA device; umad and issm are one per port and wait for the next scan. */
static GPtrArray *uverbs_beside(const NodeCheck *check, const struct char_file *file)
{
	g_autofree char *parent = g_path_get_dirname(file->sysfs_dir);
	g_autofree char *base = g_path_get_basename(file->sysfs_dir);
	GPtrArray *dirs = g_ptr_array_new_with_free_func(g_free);
	struct dirent *entry;
	DIR *stream;
	int fd;

	if (!g_str_has_prefix(base, "uverbs"))
		return dirs;
	fd = openat(check->sysfs_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	stream = fd < 0 ? NULL : fdopendir(fd);
	while (stream != NULL && (entry = readdir(stream)) != NULL)
		if (same_kind(base, entry->d_name))
			g_ptr_array_add(dirs, g_build_filename(parent, entry->d_name, NULL));
	if (stream != NULL)
		closedir(stream);
	else if (fd >= 0)
		close(fd);
	return dirs;
}

/* The one of them that now belongs to the file's RDMA device. */
static char *sibling_find(const NodeCheck *check, const struct char_file *file)
{
	g_autoptr(GPtrArray) dirs = uverbs_beside(check, file);

	for (guint i = 0; i < dirs->len; i++)
		if (file_belongs(check, dirs->pdata[i], file->rdma_device))
			return g_strdup(dirs->pdata[i]);
	return NULL;
}

/* A kernel that has RDMA nodes shows their directory in its /dev. One without it may be
 * another: that of a container. */
static gboolean lacks_directory(const NodeCheck *check, const char *dev_name)
{
	g_autofree char *dir = g_path_get_dirname(dev_name);

	return faccessat(check->dev_fd, dir, F_OK, 0) < 0 && errno == ENOENT;
}

static char *describe_node(const struct stat *status)
{
	switch (status->st_mode & S_IFMT) {
	case S_IFCHR:
		return g_strdup_printf("the character device %u:%u", major(status->st_rdev),
				       minor(status->st_rdev));
	case S_IFBLK:
		return g_strdup("a block device");
	case S_IFLNK:
		return g_strdup("a symbolic link");
	case S_IFDIR:
		return g_strdup("a directory");
	case S_IFREG:
		return g_strdup("a regular file");
	default:
		return g_strdup("no device");
	}
}

static gboolean dev_node_matches(const NodeCheck *check, const char *dev_name, guint dev_major,
				 guint dev_minor, GError **error)
{
	struct stat status;

	if (check->dev_fd < 0)
		return TRUE;
	if (fstatat(check->dev_fd, dev_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
		int reason = errno;

		if (strcmp(check->dev_root, "/dev") == 0 && lacks_directory(check, dev_name))
			return TRUE;
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(reason),
			    "'/dev/%s' cannot be used: %s below dev_root '%s'", dev_name,
			    g_strerror(reason), check->dev_root);
		return FALSE;
	}
	if (S_ISCHR(status.st_mode) && major(status.st_rdev) == dev_major &&
	    minor(status.st_rdev) == dev_minor)
		return TRUE;
	g_autofree char *seen = describe_node(&status);

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NXIO,
		    "'/dev/%s' is %s and not the character device %u:%u that the kernel names",
		    dev_name, seen, dev_major, dev_minor);
	return FALSE;
}

static char *resolve_changed(NodeCheck *check, const struct char_file *file, GError **error)
{
	g_autofree char *dir = sibling_find(check, file);
	g_autofree char *base = NULL;
	g_autofree char *dev_dir = NULL;
	g_autofree char *dev_name = NULL;
	guint dev_major;
	guint dev_minor;

	if (dir == NULL || !number_read(check, dir, &dev_major, &dev_minor)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NODEV,
			    "'%s' no longer belongs to the RDMA device '%s'", file->host_path,
			    file->rdma_device);
		return NULL;
	}
	base = g_path_get_basename(dir);
	dev_dir = g_path_get_dirname(file->dev_name);
	dev_name = g_build_filename(dev_dir, base, NULL);
	if (!dev_node_matches(check, dev_name, dev_major, dev_minor, error))
		return NULL;
	return g_build_filename("/dev", dev_name, NULL);
}

/* What could not be read tells nothing about the file then. */
static gboolean is_shortage(int number)
{
	return number == EMFILE || number == ENFILE || number == ENOMEM;
}

char *node_check_resolve(NodeCheck *check, const struct char_file *file, GError **error)
{
	guint dev_major = file->dev_major;
	guint dev_minor = file->dev_minor;

	if (file->sysfs_dir != NULL && check->sysfs_fd >= 0) {
		errno = 0;
		if (!file_belongs(check, file->sysfs_dir, file->rdma_device)) {
			if (!is_shortage(errno))
				return resolve_changed(check, file, error);
			g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
				    "whose '%s' is cannot be read: %s", file->host_path,
				    g_strerror(errno));
			return NULL;
		}
		if (!number_read(check, file->sysfs_dir, &dev_major, &dev_minor)) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NODEV,
				    "'%s' has no number in sysfs any more", file->host_path);
			return NULL;
		}
	}
	if (!dev_node_matches(check, file->dev_name, dev_major, dev_minor, error))
		return NULL;
	return g_strdup(file->host_path);
}

char *node_check_resolve_renamed(NodeCheck *check, const struct char_file *file)
{
	char ibdev[ATTRIBUTE_SIZE];
	g_autoptr(GPtrArray) dirs = NULL;
	guint dev_major;
	guint dev_minor;

	if (file->sysfs_dir == NULL || check->sysfs_fd < 0 ||
	    !attribute_read(check, file->sysfs_dir, "ibdev", ibdev) ||
	    !number_read(check, file->sysfs_dir, &dev_major, &dev_minor))
		return NULL;
	dirs = uverbs_beside(check, file);
	if (dirs->len != 1 || !dev_node_matches(check, file->dev_name, dev_major, dev_minor, NULL))
		return NULL;
	return g_strdup(file->host_path);
}

char *node_check_look(const struct rdmadp_node *node, gpointer data)
{
	const NodeCheck *check = data;
	const char *owner = node->kind == RDMADP_NODE_RDMA_CM ? NULL : node->rdma_device;
	g_autoptr(GError) error = NULL;
	guint dev_major = node->dev_major;
	guint dev_minor = node->dev_minor;

	if (node->sysfs_dir != NULL && check->sysfs_fd >= 0 &&
	    (!file_belongs(check, node->sysfs_dir, owner) ||
	     !number_read(check, node->sysfs_dir, &dev_major, &dev_minor)))
		return NULL;
	if (dev_node_matches(check, node->name, dev_major, dev_minor, &error) ||
	    lacks_directory(check, node->name))
		return NULL;
	return g_strdup(error->message);
}

/* Appends the character devices that one pattern matches; FALSE if there is none. */
static gboolean expand_one(NodeCheck *check, const char *pattern, GPtrArray *paths)
{
	const char *below = pattern + strlen("/dev");
	g_autofree char *rooted = g_strconcat(check->dev_root, below, NULL);
	guint before = paths->len;
	glob_t matches;

	if (glob(rooted, 0, NULL, &matches) == 0) {
		for (gsize i = 0; i < matches.gl_pathc; i++) {
			struct stat status;

			if (lstat(matches.gl_pathv[i], &status) == 0 && S_ISCHR(status.st_mode))
				g_ptr_array_add(paths, g_strconcat("/dev",
								   matches.gl_pathv[i] +
									   strlen(check->dev_root),
								   NULL));
		}
		globfree(&matches);
	}
	return paths->len > before;
}

static int path_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GStrv node_check_expand(NodeCheck *check, const char *const *patterns, GError **error)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

	for (gsize i = 0; patterns[i] != NULL; i++) {
		if (expand_one(check, patterns[i], paths))
			continue;
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "extraDevices: '%s' matches no character device below '%s'",
			    patterns[i], check->dev_root);
		return NULL;
	}
	g_ptr_array_sort(paths, path_compare);
	g_ptr_array_add(paths, NULL);
	return (GStrv)g_ptr_array_free(g_steal_pointer(&paths), FALSE);
}
