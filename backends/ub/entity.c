/* SPDX-License-Identifier: Apache-2.0 */
#include "ub/entity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/guid.h"
#include "common/text.h"

/* The base class is the low byte here, unlike on PCI. */
#define CLASS_BASE 0xff
#define CLASS_NETWORK 0x02
#define CLASS_ETHERNET 0x0102

/* As the kernel prints them: "%05x". */
static bool is_id(const char *name)
{
	return strlen(name) == 5 && strspn(name, "0123456789abcdef") == 5;
}

static uint32_t read_class(struct scan *scan, const char *id, const char *dir)
{
	char path[SYSFS_PATH];
	char text[SYSFS_TEXT];
	uint32_t class;
	int result = -ENAMETOOLONG;

	if (sysfs_join(path, dir, "class_code"))
		result = sysfs_read(scan->sysfs, SYSFS_NOWAIT, path, text, sizeof(text));
	if (result == 0 && text_unsigned(text, 16, &class))
		return class;
	if (result == 0)
		sysfs_say_once(scan->sysfs, RDMADP_LOG_WARNING,
			       "'%s': attribute 'class_code' is '%s', not hexadecimal: taken as 0",
			       id, text);
	else if (result != -ENOENT && result != -ENODEV)
		sysfs_say_once(scan->sysfs, RDMADP_LOG_WARNING,
			       "'%s': attribute 'class_code' cannot be read (%s): taken as 0", id,
			       strerror(-result));
	return 0;
}

static bool has_children(const struct scan *scan, const char *dir)
{
	uint32_t first;

	return class_index_below(&scan->index.nets, dir, &first) ||
	       class_index_below(&scan->index.rdma, dir, &first) ||
	       class_index_below(&scan->index.nodes, dir, &first);
}

/* What is no guid could not be an identity. */
static const char *read_guid(struct scan *scan, const char *dir)
{
	char text[SYSFS_TEXT];

	if (!guid_read(scan->sysfs, dir, "guid", text))
		return NULL;
	return arena_strdup(&scan->arena, text);
}

static int read_entity(struct ub_scan *ub, struct entity *entity)
{
	struct scan *scan = &ub->scan;
	char text[SYSFS_TEXT];
	int result;

	entity->guid = read_guid(scan, entity->dir);
	if (sysfs_link_name(scan->sysfs, entity->dir, "driver", text))
		entity->driver = arena_strdup(&scan->arena, text);
	if (list_add(&scan->arena, &ub->entities, entity) < 0)
		return -ENOMEM;
	/* Which RDMA driver belongs to it is not known. */
	result = adapter_scan(scan, entity->dir, NULL, &entity->adapter);
	if (result < 0)
		return result;
	return adapter_assume_port(scan, &entity->adapter,
				   entity->class_code == CLASS_ETHERNET ? RDMADP_LINK_ETHERNET
									: RDMADP_LINK_UNKNOWN);
}

static int visit(void *data, const char *name)
{
	struct ub_scan *ub = data;
	struct entity *entity;
	char path[SYSFS_PATH];
	char dir[SYSFS_PATH];
	uint32_t class;

	if (!is_id(name)) {
		sysfs_say_once(ub->scan.sysfs, RDMADP_LOG_WARNING,
			       "'%.64s' in bus/ub/devices is no entity: skipped", name);
		return 0;
	}
	snprintf(path, sizeof(path), "bus/ub/devices/%s", name);
	if (sysfs_resolve(ub->scan.sysfs, path, dir) < 0)
		return 0;
	class = read_class(&ub->scan, name, dir);
	if ((class & CLASS_BASE) != CLASS_NETWORK && !has_children(&ub->scan, dir))
		return 0;
	entity = arena_alloc(&ub->scan.arena, sizeof(*entity));
	if (!entity)
		return -ENOMEM;
	entity->class_code = class;
	entity->id = arena_strdup(&ub->scan.arena, name);
	entity->dir = arena_strdup(&ub->scan.arena, dir);
	return entity->id && entity->dir ? read_entity(ub, entity) : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
	const struct entity *left = *(const struct entity *const *)a;
	const struct entity *right = *(const struct entity *const *)b;

	return strcmp(left->id, right->id);
}

/* A driver that bonds in hardware makes one RDMA device for all ports of the bond and
 * hangs it below one entity. */
static struct entity *find_port_owner(const struct ub_scan *ub, const struct entity *member)
{
	const char *bond = member->adapter.bond;

	for (uint32_t i = 0; bond && member->driver && i < ub->entities.n; i++) {
		struct entity *other = ub->entities.items[i];

		if (other->adapter.rdma.n && other->adapter.bond && other->driver &&
		    strcmp(other->adapter.bond, bond) == 0 &&
		    strcmp(other->driver, member->driver) == 0)
			return other;
	}
	return NULL;
}

static int join_bond(struct ub_scan *ub, struct entity *member)
{
	struct entity *owner = member->adapter.rdma.n ? NULL : find_port_owner(ub, member);

	member->port_owner = owner;
	return owner ? adapter_take_nets(&ub->scan, &owner->adapter, &member->adapter) : 0;
}

int entities_read(struct ub_scan *ub)
{
	int result = sysfs_list(ub->scan.sysfs, "bus/ub/devices", visit, ub);

	if (result == -ENOENT)
		return 0;
	if (ub->entities.n)
		qsort(ub->entities.items, ub->entities.n, sizeof(*ub->entities.items), compare);
	for (uint32_t i = 0; result == 0 && i < ub->entities.n; i++)
		result = join_bond(ub, ub->entities.items[i]);
	return result;
}

static bool is_unique(const struct ub_scan *ub, const struct entity *entity)
{
	for (uint32_t i = 0; i < ub->entities.n; i++) {
		const struct entity *other = ub->entities.items[i];

		if (other != entity && other->guid && strcmp(other->guid, entity->guid) == 0)
			return false;
	}
	return true;
}

/* That each entity has a guid of its own is not certain. */
const char *entity_identity(struct ub_scan *ub, const struct entity *entity)
{
	char index[SYSFS_TEXT];

	if (!entity->guid)
		return entity->id;
	if (is_unique(ub, entity))
		return entity->guid;
	if (!sysfs_read_in(ub->scan.sysfs, entity->dir, "entity_idx", index) || strchr(index, ' '))
		snprintf(index, sizeof(index), "%s", entity->id);
	return arena_printf(&ub->scan.arena, "%s/%s", entity->guid, index);
}
