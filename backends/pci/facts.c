/* SPDX-License-Identifier: Apache-2.0 */
#include "pci/facts.h"

#include <errno.h>

const char *const facts_id_names[FACTS_IDS] = {
	"vendor",
	"device",
	"subsystem_vendor",
	"subsystem_device",
};

static const char *link_name(const struct sysfs *sysfs, const char *dir, const char *name,
			     struct arena *arena)
{
	char text[SYSFS_TEXT];
	char *copy;

	if (!sysfs_link_name(sysfs, dir, name, text))
		return NULL;
	copy = arena_strdup(arena, text);
	if (!copy)
		sysfs_note_lack(-ENOMEM);
	return copy;
}

void facts_read(const struct sysfs *sysfs, const char *dir, struct arena *arena,
		struct facts *facts)
{
	facts->driver = link_name(sysfs, dir, "driver", arena);
	facts->physfn = link_name(sysfs, dir, "physfn", arena);
	for (int i = 0; i < FACTS_IDS; i++)
		facts->ids[i] = sysfs_fetch(sysfs, dir, facts_id_names[i], arena);
	facts->numa_node = sysfs_fetch(sysfs, dir, "numa_node", arena);
	if (facts->physfn)
		facts->numvfs = (struct sysfs_value){.result = -ENOENT, .text = ""};
	else
		facts->numvfs = sysfs_fetch(sysfs, dir, "sriov_numvfs", arena);
}
