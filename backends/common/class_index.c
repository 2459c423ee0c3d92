/* SPDX-License-Identifier: Apache-2.0 */
#include "common/class_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

struct reader {
	const struct sysfs *sysfs;
	struct arena *arena;
	struct list *list;
	const char *class;
	int (*complete)(struct reader *reader, struct class_entry *entry);
};

/* "<parent>/<class>/<name>" -> "<parent>"; NULL where it is not so, as for a link
 * that is on its way out. */
static const char *parent_of(struct arena *arena, const char *dir, const char *class)
{
	const char *name = strrchr(dir, '/');
	size_t length = strlen(class);

	if (!name || (size_t)(name - dir) <= length + 1)
		return NULL;
	name -= length;
	if (strncmp(name, class, length) != 0 || name[-1] != '/')
		return NULL;
	return arena_strndup(arena, dir, (size_t)(name - 1 - dir));
}

/* RDMA devices have at most 63 bytes, and none of these. */
static bool is_name(const char *text)
{
	return strlen(text) < SYSFS_NAME && text[strcspn(text, "/ ,")] == '\0';
}

/* Only links are entries: 'abi_version' is a plain file beside them. */
static int visit(void *data, const char *name)
{
	struct reader *reader = data;
	struct class_entry *entry;
	char path[SYSFS_PATH];
	char dir[SYSFS_PATH];

	snprintf(path, sizeof(path), "class/%s/%s", reader->class, name);
	if (!is_name(name) || sysfs_resolve(reader->sysfs, path, dir) < 0)
		return 0;
	entry = arena_alloc(reader->arena, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->name = arena_strdup(reader->arena, name);
	entry->dir = arena_strdup(reader->arena, dir);
	if (!entry->name || !entry->dir)
		return -ENOMEM;
	entry->parent = parent_of(reader->arena, dir, reader->class);
	return entry->parent ? reader->complete(reader, entry) : 0;
}

static int complete_plain(struct reader *reader, struct class_entry *entry)
{
	return list_add(reader->arena, reader->list, entry);
}

static bool read_number(const struct sysfs *sysfs, struct class_entry *entry)
{
	char text[SYSFS_TEXT];

	return sysfs_read_in(sysfs, entry->dir, "dev", text) &&
	       text_device_number(text, &entry->dev_major, &entry->dev_minor);
}

static bool read_port(const struct sysfs *sysfs, struct class_entry *entry)
{
	char text[SYSFS_TEXT];

	return sysfs_read_in(sysfs, entry->dir, "port", text) &&
	       text_unsigned(text, 10, &entry->port);
}

/* An entry without its owner or number is still coming, or going: not there. */
static int complete_node(struct reader *reader, struct class_entry *entry)
{
	char ibdev[SYSFS_TEXT];

	if (!sysfs_read_in(reader->sysfs, entry->dir, "ibdev", ibdev) || !is_name(ibdev) ||
	    !read_number(reader->sysfs, entry))
		return 0;
	entry->ibdev = arena_strdup(reader->arena, ibdev);
	if (!entry->ibdev)
		return -ENOMEM;
	return list_add(reader->arena, reader->list, entry);
}

static int complete_uverbs(struct reader *reader, struct class_entry *entry)
{
	entry->kind = RDMADP_NODE_UVERBS;
	return complete_node(reader, entry);
}

/* The names of a class are the kernel's and fixed, unlike those of the RDMA devices. */
static int complete_mad(struct reader *reader, struct class_entry *entry)
{
	entry->kind = strncmp(entry->name, "issm", 4) == 0 ? RDMADP_NODE_ISSM : RDMADP_NODE_UMAD;
	return read_port(reader->sysfs, entry) ? complete_node(reader, entry) : 0;
}

static int compare(const void *a, const void *b)
{
	const struct class_entry *left = *(const struct class_entry *const *)a;
	const struct class_entry *right = *(const struct class_entry *const *)b;
	int order = strcmp(left->parent, right->parent);

	return order ? order : strverscmp(left->name, right->name);
}

static int read_class(const struct sysfs *sysfs, struct arena *arena, struct list *list,
		      const char *class,
		      int (*complete)(struct reader *reader, struct class_entry *entry))
{
	struct reader reader = {sysfs, arena, list, class, complete};
	char path[SYSFS_PATH];
	int result;

	snprintf(path, sizeof(path), "class/%s", class);
	result = sysfs_list(sysfs, path, visit, &reader);
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), compare);
	return result == -ENOENT ? 0 : result;
}

static int read_rdma_cm(const struct sysfs *sysfs, struct arena *arena, struct class_index *index)
{
	struct class_entry *entry = arena_alloc(arena, sizeof(*entry));
	char dir[SYSFS_PATH];

	if (!entry)
		return -ENOMEM;
	*entry = (struct class_entry){.name = "rdma_cm", .kind = RDMADP_NODE_RDMA_CM};
	if (sysfs_resolve(sysfs, "class/misc/rdma_cm", dir) < 0)
		return 0;
	entry->dir = arena_strdup(arena, dir);
	if (!entry->dir)
		return -ENOMEM;
	if (read_number(sysfs, entry))
		index->rdma_cm = entry;
	return 0;
}

/* The character devices first: an RDMA device that comes meanwhile is incomplete then,
 * not one that seems to be in another network namespace. */
int class_index_read(const struct sysfs *sysfs, struct arena *arena, struct class_index *index)
{
	int result = read_rdma_cm(sysfs, arena, index);

	if (result == 0)
		result = read_class(sysfs, arena, &index->nodes, "infiniband_mad", complete_mad);
	if (result == 0)
		result = read_class(sysfs, arena, &index->nodes, "infiniband_verbs",
				    complete_uverbs);
	if (result == 0)
		result = read_class(sysfs, arena, &index->rdma, "infiniband", complete_plain);
	if (result == 0)
		result = read_class(sysfs, arena, &index->nets, "net", complete_plain);
	return result;
}

static bool is_below(const struct class_entry *entry, const char *dir, size_t length)
{
	return strncmp(entry->parent, dir, length) == 0 &&
	       (entry->parent[length] == '\0' || entry->parent[length] == '/');
}

/* Everything that begins with 'dir' is in one run; in it, 'dir' itself and what is
 * below may have "dir-x" between them. Devices have no such names: the run ends there. */
uint32_t class_index_below(const struct list *list, const char *dir, uint32_t *ret_first)
{
	const struct class_entry *const *entries = (const void *)list->items;
	size_t length = strlen(dir);
	uint32_t low = 0;
	uint32_t high = list->n;
	uint32_t n = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(entries[middle]->parent, dir) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < list->n && is_below(entries[low + n], dir, length))
		n++;
	*ret_first = low;
	return n;
}

struct class_entry *class_index_named(const struct list *list, const char *name)
{
	for (uint32_t i = 0; i < list->n; i++) {
		struct class_entry *entry = list->items[i];

		if (strcmp(entry->name, name) == 0)
			return entry;
	}
	return NULL;
}
