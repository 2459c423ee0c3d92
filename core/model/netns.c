/* SPDX-License-Identifier: Apache-2.0 */
#include "model/netns.h"

const char *netns_refusal(gboolean resource_is_exclusive, gboolean netns_is_exclusive)
{
	if (resource_is_exclusive || !netns_is_exclusive)
		return NULL;
	return "the RDMA subsystem of this node is in exclusive network namespace mode, in which "
	       "pods cannot share an RDMA device; put 'options ib_core netns_mode=1' into a file "
	       "of /etc/modprobe.d (and into the initramfs if ib_core is loaded there) and "
	       "reboot, or use \"mode\": \"exclusive\" (without rdmaHcaMax)";
}

const char *netns_remark(gboolean resource_is_exclusive, gboolean netns_is_exclusive)
{
	if (!resource_is_exclusive || netns_is_exclusive)
		return NULL;
	return "the RDMA subsystem of this node is in shared network namespace mode: a pod sees "
	       "every RDMA device of the node, and only the device cgroup keeps it from those "
	       "of others; 'options ib_core netns_mode=0' in a file of /etc/modprobe.d and a "
	       "reboot isolate them";
}
