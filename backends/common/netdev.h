/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be known of one network interface. */
#pragma once

#include "common/sysfs.h"

struct netdev_facts {
	enum rdmadp_link_layer link_layer;
	uint32_t flags; /* RDMADP_NET_* */
	char bond[SYSFS_TEXT]; /* the bond that it is a member of, or "" */
};

/* 'dir': the interface's directory. */
void netdev_read(const struct sysfs *sysfs, const char *dir, struct netdev_facts *ret_facts);
/* TRUE if it can be seen that the interface is administratively down. */
bool netdev_is_down(const struct sysfs *sysfs, const char *dir);
