/* SPDX-License-Identifier: Apache-2.0 */
#include "pci/subfunction.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "pci/drivers.h"

/* Those of the function itself, if that is one which the scan looks at. */
static const struct facts *facts_of(struct pci_scan *pci, const char *id, const char *dir)
{
	const struct function *function = function_named(pci, id);
	struct facts *facts;

	if (function)
		return &function->facts;
	facts = arena_alloc(&pci->scan.arena, sizeof(*facts));
	if (facts)
		facts_read(pci->scan.sysfs, dir, &pci->scan.arena, facts);
	return facts;
}

static int fill(struct pci_scan *pci, struct subfunction *sub, const char *parent,
		size_t parent_length)
{
	struct arena *arena = &pci->scan.arena;
	char text[SYSFS_TEXT];

	sub->parent = arena_strdup(arena, parent);
	sub->parent_dir = arena_strndup(arena, sub->dir, parent_length);
	if (!sub->parent || !sub->parent_dir)
		return -ENOMEM;
	sub->parent_facts = facts_of(pci, parent, sub->parent_dir);
	if (!sub->parent_facts)
		return -ENOMEM;
	if (sysfs_link_name(pci->scan.sysfs, sub->dir, "driver", text))
		sub->driver = arena_strdup(arena, text);
	if (list_add(arena, &pci->subfunctions, sub) < 0)
		return -ENOMEM;
	/* The RDMA driver is that of the function: both share one. */
	return adapter_scan(&pci->scan, sub->dir, drivers_rdma_of(sub->parent_facts->driver),
			    &sub->adapter);
}

/* Its text; "" where it is no number now. A class child of a function, such as
 * mlx5_core.rdma.0, has no such file: FALSE. */
static bool read_number(struct sysfs *sysfs, const char *dir, char number[SYSFS_TEXT])
{
	char path[SYSFS_PATH];
	uint32_t value;

	if (!sysfs_join(path, dir, "sfnum") || !sysfs_exists(sysfs, path))
		return false;
	if (sysfs_read_in(sysfs, dir, "sfnum", number) && text_unsigned(number, 10, &value))
		return true;
	sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
		       "'%s': attribute 'sfnum' cannot be read, or is no number: it is known by "
		       "its name meanwhile",
		       strrchr(dir, '/') + 1);
	number[0] = '\0';
	return true;
}

static int visit(void *data, const char *name)
{
	struct pci_scan *pci = data;
	struct arena *arena = &pci->scan.arena;
	struct subfunction *sub;
	char path[SYSFS_PATH];
	char dir[SYSFS_PATH];
	char number[SYSFS_TEXT];
	char parent[SYSFS_TEXT];
	size_t end;

	snprintf(path, sizeof(path), "bus/auxiliary/devices/%s", name);
	if (sysfs_resolve(pci->scan.sysfs, path, dir) < 0 || !function_in_path(dir, parent, &end) ||
	    !read_number(pci->scan.sysfs, dir, number))
		return 0;
	sub = arena_alloc(arena, sizeof(*sub));
	if (!sub)
		return -ENOMEM;
	sub->id = arena_strdup(arena, name);
	sub->dir = arena_strdup(arena, dir);
	sub->number = *number ? arena_strdup(arena, number) : NULL;
	if (!sub->id || !sub->dir || (*number && !sub->number))
		return -ENOMEM;
	return fill(pci, sub, parent, end);
}

int subfunctions_read(struct pci_scan *pci)
{
	int result = sysfs_list(pci->scan.sysfs, "bus/auxiliary/devices", visit, pci);

	return result == -ENOENT ? 0 : result;
}

int subfunctions_complete(struct pci_scan *pci)
{
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < pci->subfunctions.n; i++) {
		struct subfunction *sub = pci->subfunctions.items[i];
		const struct function *parent = function_named(pci, sub->parent);

		if (parent)
			result = adapter_assume_port(&pci->scan, &sub->adapter,
						     function_link_layer(parent));
	}
	return result;
}
