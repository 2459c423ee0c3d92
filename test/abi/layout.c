/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of the contract's version 1.0 on 64-bit machines, as numbers. Nothing here
 * may change: backends that exist were built with them. What is appended to a struct gets
 * lines of its own. Compiled with the header of today and with the frozen one.
 */
#include <stddef.h>

#include LAYOUT_HEADER

/* What version 1.0 did not have, and what it had to keep at zero. */
#ifndef LAYOUT_FROZEN
#define ADDED MEMBER
#define REPLACED(type, before, now, offset) MEMBER(type, now, offset)
#else
#define REPLACED(type, before, now, offset) MEMBER(type, before, offset)
#define ADDED(type, member, offset) _Static_assert(1, #type "." #member)
#endif

#define MEMBER(type, member, offset)                                                               \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
/* At least: a later version may be larger. */
#define SIZE(type, size) _Static_assert(sizeof(struct type) >= (size), #type)
#define VALUE(name, value) _Static_assert((name) == (value), #name)

#if UINTPTR_MAX == UINT64_MAX

SIZE(rdmadp_host, 32);
MEMBER(rdmadp_host, size, 0);
MEMBER(rdmadp_host, reserved, 4);
MEMBER(rdmadp_host, sysfs_root, 8);
MEMBER(rdmadp_host, dev_root, 16);
MEMBER(rdmadp_host, log, 24);

SIZE(rdmadp_attribute, 24);
MEMBER(rdmadp_attribute, size, 0);
MEMBER(rdmadp_attribute, reserved, 4);
MEMBER(rdmadp_attribute, key, 8);
MEMBER(rdmadp_attribute, value, 16);

SIZE(rdmadp_port, 16);
MEMBER(rdmadp_port, size, 0);
MEMBER(rdmadp_port, number, 4);
MEMBER(rdmadp_port, link_layer, 8);
MEMBER(rdmadp_port, state, 12);

SIZE(rdmadp_rdma_device, 40);
MEMBER(rdmadp_rdma_device, size, 0);
MEMBER(rdmadp_rdma_device, flags, 4);
MEMBER(rdmadp_rdma_device, name, 8);
MEMBER(rdmadp_rdma_device, driver, 16);
MEMBER(rdmadp_rdma_device, n_ports, 24);
MEMBER(rdmadp_rdma_device, reserved, 28);
MEMBER(rdmadp_rdma_device, ports, 32);

SIZE(rdmadp_netdev, 24);
MEMBER(rdmadp_netdev, size, 0);
MEMBER(rdmadp_netdev, flags, 4);
MEMBER(rdmadp_netdev, name, 8);
MEMBER(rdmadp_netdev, link_layer, 16);
MEMBER(rdmadp_netdev, reserved, 20);

SIZE(rdmadp_node, 48);
MEMBER(rdmadp_node, size, 0);
MEMBER(rdmadp_node, kind, 4);
MEMBER(rdmadp_node, name, 8);
MEMBER(rdmadp_node, rdma_device, 16);
MEMBER(rdmadp_node, sysfs_dir, 24);
MEMBER(rdmadp_node, dev_major, 32);
MEMBER(rdmadp_node, dev_minor, 36);
MEMBER(rdmadp_node, port, 40);
MEMBER(rdmadp_node, reserved, 44);

SIZE(rdmadp_device, 120);
MEMBER(rdmadp_device, size, 0);
MEMBER(rdmadp_device, flags, 4);
MEMBER(rdmadp_device, id, 8);
MEMBER(rdmadp_device, identity, 16);
MEMBER(rdmadp_device, parent_id, 24);
MEMBER(rdmadp_device, driver, 32);
MEMBER(rdmadp_device, pcie_root, 40);
MEMBER(rdmadp_device, pcie_path, 48);
MEMBER(rdmadp_device, note, 56);
MEMBER(rdmadp_device, numa_node, 64);
MEMBER(rdmadp_device, n_attributes, 68);
MEMBER(rdmadp_device, attributes, 72);
MEMBER(rdmadp_device, n_rdma_devices, 80);
MEMBER(rdmadp_device, n_netdevs, 84);
MEMBER(rdmadp_device, rdma_devices, 88);
MEMBER(rdmadp_device, netdevs, 96);
MEMBER(rdmadp_device, n_nodes, 104);
MEMBER(rdmadp_device, reserved, 108);
MEMBER(rdmadp_device, nodes, 112);

SIZE(rdmadp_health, 256);
MEMBER(rdmadp_health, size, 0);
MEMBER(rdmadp_health, state, 4);
MEMBER(rdmadp_health, reason, 8);
REPLACED(rdmadp_health, reserved, active, 12);
MEMBER(rdmadp_health, text, 16);
ADDED(rdmadp_health, link_downs, 256);

SIZE(rdmadp_backend, 88);
MEMBER(rdmadp_backend, size, 0);
MEMBER(rdmadp_backend, reserved, 4);
MEMBER(rdmadp_backend, name, 8);
MEMBER(rdmadp_backend, version, 16);
MEMBER(rdmadp_backend, keys, 24);
MEMBER(rdmadp_backend, init, 32);
MEMBER(rdmadp_backend, fini, 40);
MEMBER(rdmadp_backend, discover, 48);
MEMBER(rdmadp_backend, match, 56);
MEMBER(rdmadp_backend, health, 64);
MEMBER(rdmadp_backend, event_fd, 72);
MEMBER(rdmadp_backend, event_ack, 80);

#endif

VALUE(RDMADP_LOG_ERROR, 3);
VALUE(RDMADP_LOG_WARNING, 4);
VALUE(RDMADP_LOG_INFO, 6);
VALUE(RDMADP_LOG_DEBUG, 7);

VALUE(RDMADP_LINK_UNKNOWN, 0);
VALUE(RDMADP_LINK_INFINIBAND, 1);
VALUE(RDMADP_LINK_ETHERNET, 2);

VALUE(RDMADP_PORT_UNKNOWN, 0);
VALUE(RDMADP_PORT_NOP, 1);
VALUE(RDMADP_PORT_DOWN, 2);
VALUE(RDMADP_PORT_INIT, 3);
VALUE(RDMADP_PORT_ARMED, 4);
VALUE(RDMADP_PORT_ACTIVE, 5);
VALUE(RDMADP_PORT_ACTIVE_DEFER, 6);

VALUE(RDMADP_RDMA_MANAGEMENT_ONLY, 1);

VALUE(RDMADP_NET_UPPER, 1);
VALUE(RDMADP_NET_REPRESENTOR, 2);
VALUE(RDMADP_NET_CHILD, 4);

VALUE(RDMADP_NODE_OTHER, 0);
VALUE(RDMADP_NODE_UVERBS, 1);
VALUE(RDMADP_NODE_UMAD, 2);
VALUE(RDMADP_NODE_ISSM, 3);
VALUE(RDMADP_NODE_RDMA_CM, 4);

VALUE(RDMADP_DEVICE_VF, 1);
VALUE(RDMADP_DEVICE_PF, 2);
VALUE(RDMADP_DEVICE_ELSEWHERE, 4);
VALUE(RDMADP_DEVICE_SOFTWARE, 8);

VALUE(RDMADP_HEALTH_UNKNOWN, 0);
VALUE(RDMADP_HEALTHY, 1);
VALUE(RDMADP_UNHEALTHY, 2);

VALUE(RDMADP_REASON_NONE, 0);
VALUE(RDMADP_REASON_LINK, 1);
VALUE(RDMADP_REASON_FILES, 2);
VALUE(RDMADP_REASON_GONE, 3);
VALUE(RDMADP_REASON_FATAL, 4);
VALUE(RDMADP_REASON_VENDOR, 5);
