/* SPDX-License-Identifier: Apache-2.0 */
#include "ub/note.h"

#include <string.h>

#include "common/text.h"

#define CLASS_UB_NETWORK 0x0002

/* Entities of the bus' own RDMA, which has other classes and device nodes. */
static const char *const urma_ids[] = {"a001", "a002", "d802", "d803", "d80b", "d80c"};
/* PF and VF of the adapters that do RoCE. */
static const char *const roce_ids[] = {"8200", "8201", "8100", "8101"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_one_of(const char *id, const char *const *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(id, ids[i]) == 0)
			return true;
	return false;
}

static bool has_text(const struct ub_scan *ub, const struct entity *entity, const char *attribute,
		     const char *text)
{
	char seen[SYSFS_TEXT];

	return sysfs_read_in(ub->scan.sysfs, entity->dir, attribute, seen) &&
	       strcmp(seen, text) == 0;
}

static const char *note_unbound(const struct ub_scan *ub, const struct entity *entity,
				const char *id)
{
	if (has_text(ub, entity, "match_driver", "false"))
		return "no driver is bound: the bus does not let one bind yet (match_driver)";
	if (is_one_of(id, roce_ids, COUNT(roce_ids)))
		return "no driver is bound; load hisdk5";
	return "no driver is bound; load its network driver";
}

const char *entity_note(struct ub_scan *ub, const struct entity *entity)
{
	const char *driver = entity->driver;
	char text[SYSFS_TEXT];
	char id[TEXT_ID] = "";

	if (adapter_usable_rdma(&entity->adapter))
		return NULL;
	if (entity->port_owner)
		return adapter_bond_note(&ub->scan, &entity->adapter, &entity->port_owner->adapter,
					 entity->port_owner->id);
	if (!sysfs_read_in(ub->scan.sysfs, entity->dir, "device", text) || !text_hex_id(text, id))
		id[0] = '\0';
	if (driver && strcmp(driver, "vfio-ub") == 0)
		return "bound to vfio-ub, for virtual machines or user-space drivers; bind its "
		       "network driver to use it here";
	if (entity->class_code == CLASS_UB_NETWORK || is_one_of(id, urma_ids, COUNT(urma_ids)) ||
	    (driver && strcmp(driver, "ubase") == 0))
		return "URMA device, not ibverbs: it has no RDMA device that a pod could get here";
	if (!driver)
		return note_unbound(ub, entity, id);
	return arena_printf(&ub->scan.arena, "no RDMA device on driver %s; load its RoCE driver",
			    driver);
}
