/* SPDX-License-Identifier: Apache-2.0 */
#include "model/device_text.h"

#include <string.h>

#include "rdmadp/backend.h"

static const char *line_problem(const char *text)
{
	if (!g_utf8_validate(text, -1, NULL))
		return "is not UTF-8";
	for (const char *p = text; *p != '\0'; p = g_utf8_next_char(p))
		if (g_unichar_iscntrl(g_utf8_get_char(p)))
			return "contains a control character";
	return NULL;
}

static const char *word_problem(const char *text)
{
	if (*text == '\0')
		return "is empty";
	for (const char *p = text; *p != '\0'; p++)
		if (!g_ascii_isgraph(*p))
			return "is not printable ASCII without white space";
	return NULL;
}

static const char *name_problem(const char *text)
{
	if (strpbrk(text, "/,") != NULL)
		return "contains '/' or ','";
	return word_problem(text);
}

static gboolean stays_below(const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);

	for (gsize i = 0; parts[i] != NULL; i++)
		if (*parts[i] == '\0' || strcmp(parts[i], ".") == 0 || strcmp(parts[i], "..") == 0)
			return FALSE;
	return TRUE;
}

static const char *dev_path_problem(const char *text)
{
	if (*text == '\0')
		return "is empty";
	if (!stays_below(text))
		return "is not a path relative to /dev, such as infiniband/uverbs0";
	for (const char *p = text; *p != '\0'; p++)
		if (!g_ascii_isalnum(*p) && strchr("/._:+@-", *p) == NULL)
			return "contains other characters than letters, digits and /._:+@-";
	return NULL;
}

static const char *sysfs_path_problem(const char *text)
{
	const char *problem = word_problem(text);

	if (problem == NULL && !stays_below(text))
		problem = "leaves the sysfs root";
	return problem;
}

const char *text_problem(enum text_rule rule, const char *text)
{
	switch (rule) {
	case TEXT_WORD:
		return word_problem(text);
	case TEXT_NAME:
		return name_problem(text);
	case TEXT_DEV_PATH:
		return dev_path_problem(text);
	case TEXT_SYSFS_PATH:
		return sysfs_path_problem(text);
	default:
		return line_problem(text);
	}
}

/* "infiniband/<stem><digits>" */
static gboolean is_numbered(const char *name, const char *stem)
{
	g_autofree char *start = g_strconcat("infiniband/", stem, NULL);
	gsize length = strlen(start);

	return g_str_has_prefix(name, start) && name[length] != '\0' &&
	       strspn(name + length, "0123456789") == strlen(name + length);
}

static gboolean is_rdma_cm(const char *name)
{
	return strcmp(name, "infiniband/rdma_cm") == 0;
}

/* A vendor's node must not be one that the rules of charDevices decide about. */
static gboolean is_known(const char *name)
{
	return is_numbered(name, "uverbs") || is_numbered(name, "umad") ||
	       is_numbered(name, "issm") || is_rdma_cm(name);
}

const char *text_node_problem(guint32 kind, const char *name)
{
	switch (kind) {
	case RDMADP_NODE_OTHER:
		return is_known(name) ? "belongs to a kind of its own, not to 'other'" : NULL;
	case RDMADP_NODE_UVERBS:
		return is_numbered(name, "uverbs") ? NULL : "is not infiniband/uverbs<number>";
	case RDMADP_NODE_UMAD:
		return is_numbered(name, "umad") ? NULL : "is not infiniband/umad<number>";
	case RDMADP_NODE_ISSM:
		return is_numbered(name, "issm") ? NULL : "is not infiniband/issm<number>";
	case RDMADP_NODE_RDMA_CM:
		return is_rdma_cm(name) ? NULL : "is not infiniband/rdma_cm";
	default:
		return NULL;
	}
}
