/* SPDX-License-Identifier: Apache-2.0 */
#include "common/netdev.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

/* Values of 'type': ARPHRD_*. */
#define TYPE_ETHERNET "1"
#define TYPE_INFINIBAND "32"

static enum rdmadp_link_layer link_layer(const char *type)
{
	if (strcmp(type, TYPE_ETHERNET) == 0)
		return RDMADP_LINK_ETHERNET;
	if (strcmp(type, TYPE_INFINIBAND) == 0)
		return RDMADP_LINK_INFINIBAND;
	return RDMADP_LINK_UNKNOWN;
}

/* The kernel's name of a devlink port: "p0" is a plug of the card, "pf0", "pf0vf3" and
 * "pf0sf88" (behind "c1" for another host's) are the near ends of functions. */
static bool is_function_port(const char *name)
{
	if (name[0] == 'c' && strspn(name + 1, "0123456789"))
		name += 1 + strspn(name + 1, "0123456789");
	return strncmp(name, "pf", 2) == 0 && strspn(name + 2, "0123456789");
}

static bool is_representor(const struct sysfs *sysfs, const char *dir)
{
	char text[SYSFS_TEXT];

	return sysfs_read_in(sysfs, dir, "phys_port_name", text) && is_function_port(text) &&
	       sysfs_read_in(sysfs, dir, "phys_switch_id", text);
}

/* A bridge is a master, too, but only a bond makes one device of several. */
static void read_bond(const struct sysfs *sysfs, const char *dir, char bond[SYSFS_TEXT])
{
	char path[SYSFS_PATH];

	if (!sysfs_link_name(sysfs, dir, "master", bond) ||
	    !sysfs_join(path, dir, "bonding_slave") || !sysfs_exists(sysfs, path))
		bond[0] = '\0';
}

void netdev_read(const struct sysfs *sysfs, const char *dir, struct netdev_facts *ret_facts)
{
	struct netdev_facts facts = {0};
	char text[SYSFS_TEXT];

	if (sysfs_read_in(sysfs, dir, "type", text))
		facts.link_layer = link_layer(text);
	if (facts.link_layer == RDMADP_LINK_INFINIBAND && sysfs_read_in(sysfs, dir, "parent", text))
		facts.flags |= RDMADP_NET_CHILD;
	if (facts.link_layer == RDMADP_LINK_ETHERNET && is_representor(sysfs, dir))
		facts.flags |= RDMADP_NET_REPRESENTOR;
	read_bond(sysfs, dir, facts.bond);
	*ret_facts = facts;
}

bool netdev_is_down(const struct sysfs *sysfs, const char *dir)
{
	char text[SYSFS_TEXT];
	uint32_t flags;

	return sysfs_read_in(sysfs, dir, "flags", text) && text_unsigned(text, 16, &flags) &&
	       !(flags & IFF_UP);
}
