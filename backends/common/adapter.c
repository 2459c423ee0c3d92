/* SPDX-License-Identifier: Apache-2.0 */
#include "common/adapter.h"

#include <errno.h>
#include <string.h>

#include "common/netdev.h"
#include "common/rdma.h"

const struct rdmadp_netdev *adapter_own_net(const struct adapter *adapter)
{
	for (uint32_t i = 0; i < adapter->nets.n; i++) {
		const struct rdmadp_netdev *net = adapter->nets.items[i];

		if (net->flags == 0)
			return net;
	}
	return NULL;
}

const struct rdmadp_rdma_device *adapter_usable_rdma(const struct adapter *adapter)
{
	for (uint32_t i = 0; i < adapter->rdma.n; i++) {
		const struct rdmadp_rdma_device *rdma = adapter->rdma.items[i];

		if (!(rdma->flags & RDMADP_RDMA_MANAGEMENT_ONLY))
			return rdma;
	}
	return NULL;
}

static struct rdmadp_rdma_device *find_rdma(const struct adapter *adapter, const char *name)
{
	for (uint32_t i = 0; i < adapter->rdma.n; i++) {
		struct rdmadp_rdma_device *rdma = adapter->rdma.items[i];

		if (strcmp(rdma->name, name) == 0)
			return rdma;
	}
	return NULL;
}

int adapter_add_net(struct scan *scan, struct adapter *adapter, const char *name,
		    enum rdmadp_link_layer layer, uint32_t flags)
{
	struct rdmadp_netdev *net;

	for (uint32_t i = 0; i < adapter->nets.n; i++) {
		net = adapter->nets.items[i];
		if (strcmp(net->name, name) == 0)
			return 0;
	}
	net = arena_alloc(&scan->arena, sizeof(*net));
	if (!net)
		return -ENOMEM;
	net->size = sizeof(*net);
	net->name = name;
	net->link_layer = layer;
	net->flags = flags;
	return list_add(&scan->arena, &adapter->nets, net);
}

int adapter_take_nets(struct scan *scan, struct adapter *owner, struct adapter *member)
{
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < member->nets.n; i++) {
		const struct rdmadp_netdev *net = member->nets.items[i];

		result = adapter_add_net(scan, owner, net->name, net->link_layer, net->flags);
	}
	member->nets.n = 0;
	return result;
}

const char *adapter_bond_note(struct scan *scan, const struct adapter *member,
			      const struct adapter *owner, const char *owner_id)
{
	const struct rdmadp_rdma_device *rdma = owner->rdma.items[0];

	return arena_printf(&scan->arena, "its port is part of RDMA device %s of %s (bond %s)",
			    rdma->name, owner_id, member->bond);
}

static int add_net(struct scan *scan, const struct class_entry *entry, struct adapter *adapter)
{
	struct netdev_facts facts;
	int result;

	if (entry->facts)
		facts = *entry->facts;
	else
		netdev_read(scan->sysfs, entry->dir, &facts);
	result = adapter_add_net(scan, adapter, entry->name, facts.link_layer, facts.flags);
	if (result < 0 || !facts.bond[0] || facts.flags)
		return result;
	adapter->bond = arena_strdup(&scan->arena, facts.bond);
	return adapter->bond ? 0 : -ENOMEM;
}

static int add_nets(struct scan *scan, const char *dir, struct adapter *adapter)
{
	uint32_t first;
	uint32_t n = class_index_below(&scan->index.nets, dir, &first);
	int result = 0;

	for (uint32_t i = first; result == 0 && i < first + n; i++) {
		struct class_entry *entry = scan->index.nets.items[i];

		if (!entry->taken)
			result = add_net(scan, entry, adapter);
		entry->taken = true;
	}
	if (result == 0 && adapter->bond)
		result = adapter_add_net(scan, adapter, adapter->bond, RDMADP_LINK_ETHERNET,
					 RDMADP_NET_UPPER);
	return result;
}

static int add_rdma(struct scan *scan, struct class_entry *entry, const char *driver,
		    struct adapter *adapter)
{
	bool raw = false;
	struct rdmadp_rdma_device *rdma = rdma_read(scan, entry, driver, &raw);

	entry->taken = true;
	adapter->raw_only |= raw;
	return list_add(&scan->arena, &adapter->rdma, rdma);
}

static int add_all_rdma(struct scan *scan, const char *dir, const char *driver,
			struct adapter *adapter)
{
	uint32_t first;
	uint32_t n = class_index_below(&scan->index.rdma, dir, &first);
	int result = 0;

	for (uint32_t i = first; result == 0 && i < first + n; i++) {
		struct class_entry *entry = scan->index.rdma.items[i];

		if (!entry->taken)
			result = add_rdma(scan, entry, driver, adapter);
	}
	return result;
}

/* A character device whose RDMA device is not in view: that one is in another network
 * namespace, if the kernel still stands by the name. */
static int add_elsewhere(struct scan *scan, const struct class_entry *node, const char *driver,
			 struct adapter *adapter)
{
	struct rdmadp_rdma_device *rdma;
	char ibdev[SYSFS_TEXT];

	if (node->kind != RDMADP_NODE_UVERBS || find_rdma(adapter, node->ibdev) ||
	    !sysfs_read_in(scan->sysfs, node->dir, "ibdev", ibdev) ||
	    strcmp(ibdev, node->ibdev) != 0)
		return 0;
	rdma = arena_alloc(&scan->arena, sizeof(*rdma));
	if (!rdma)
		return -ENOMEM;
	rdma->size = sizeof(*rdma);
	rdma->name = node->ibdev;
	rdma->driver = driver;
	adapter->rdma_elsewhere = true;
	return list_add(&scan->arena, &adapter->rdma, rdma);
}

static int add_node(struct scan *scan, const struct class_entry *entry, struct adapter *adapter)
{
	struct rdmadp_node *node = arena_alloc(&scan->arena, sizeof(*node));

	if (!node)
		return -ENOMEM;
	node->size = sizeof(*node);
	node->kind = entry->kind;
	node->name = arena_printf(&scan->arena, "infiniband/%s", entry->name);
	node->rdma_device = entry->ibdev;
	node->sysfs_dir = entry->dir;
	node->dev_major = entry->dev_major;
	node->dev_minor = entry->dev_minor;
	node->port = entry->port;
	return node->name ? list_add(&scan->arena, &adapter->nodes, node) : -ENOMEM;
}

/* Those of the RDMA devices that the adapter has, and rdma_cm. */
static int add_nodes(struct scan *scan, const char *dir, struct adapter *adapter)
{
	uint32_t first;
	uint32_t n = class_index_below(&scan->index.nodes, dir, &first);
	int result = 0;

	for (uint32_t i = first; result == 0 && i < first + n; i++) {
		struct class_entry *entry = scan->index.nodes.items[i];

		if (entry->taken || !find_rdma(adapter, entry->ibdev))
			continue;
		entry->taken = true;
		result = add_node(scan, entry, adapter);
	}
	if (result == 0 && adapter->rdma.n && scan->index.rdma_cm)
		result = add_node(scan, scan->index.rdma_cm, adapter);
	return result;
}

static int add_all_elsewhere(struct scan *scan, const char *dir, const char *driver,
			     struct adapter *adapter)
{
	uint32_t first;
	uint32_t n = class_index_below(&scan->index.nodes, dir, &first);
	int result = 0;

	for (uint32_t i = first; result == 0 && i < first + n; i++) {
		const struct class_entry *entry = scan->index.nodes.items[i];

		if (!entry->taken)
			result = add_elsewhere(scan, entry, driver, adapter);
	}
	return result;
}

const struct rdmadp_port *adapter_first_port(const struct adapter *adapter)
{
	for (uint32_t i = 0; i < adapter->rdma.n; i++) {
		const struct rdmadp_rdma_device *rdma = adapter->rdma.items[i];

		if (rdma->n_ports)
			return rdma->ports[0];
	}
	return NULL;
}

int adapter_assume_port(struct scan *scan, struct adapter *adapter, enum rdmadp_link_layer layer)
{
	struct rdmadp_port *port;
	struct list ports = {0};

	if (!adapter->rdma_elsewhere || layer == RDMADP_LINK_UNKNOWN || adapter_first_port(adapter))
		return 0;
	port = arena_alloc(&scan->arena, sizeof(*port));
	if (list_add(&scan->arena, &ports, port) < 0)
		return -ENOMEM;
	port->size = sizeof(*port);
	port->number = 1;
	port->link_layer = layer;
	for (uint32_t i = 0; i < adapter->rdma.n; i++) {
		struct rdmadp_rdma_device *rdma = adapter->rdma.items[i];

		rdma->n_ports = ports.n;
		rdma->ports = (const struct rdmadp_port *const *)ports.items;
	}
	return 0;
}

int adapter_take_rdma(struct scan *scan, struct class_entry *entry, const char *rdma_driver,
		      struct adapter *adapter)
{
	int result = add_rdma(scan, entry, rdma_driver, adapter);

	return result < 0 ? result : add_nodes(scan, entry->parent, adapter);
}

static bool is_ethernet(const struct adapter *adapter)
{
	for (uint32_t i = 0; i < adapter->rdma.n; i++) {
		const struct rdmadp_rdma_device *rdma = adapter->rdma.items[i];

		for (uint32_t j = 0; j < rdma->n_ports; j++)
			if (rdma->ports[j]->link_layer == RDMADP_LINK_ETHERNET)
				return true;
	}
	return false;
}

/* RDMA over Ethernet always has an interface; and a directory without anything in it
 * is there only as long as something is, if not in this view. */
static bool has_net_elsewhere(struct scan *scan, const char *dir, const struct adapter *adapter)
{
	char path[SYSFS_PATH];

	if (adapter->rdma.n == 0 || adapter->nets.n > 0)
		return false;
	return is_ethernet(adapter) ||
	       (sysfs_join(path, dir, "net") && sysfs_exists(scan->sysfs, path));
}

int adapter_scan(struct scan *scan, const char *dir, const char *rdma_driver,
		 struct adapter *adapter)
{
	int result = add_nets(scan, dir, adapter);

	if (result == 0)
		result = add_all_rdma(scan, dir, rdma_driver, adapter);
	if (result == 0)
		result = add_all_elsewhere(scan, dir, rdma_driver, adapter);
	if (result == 0)
		result = add_nodes(scan, dir, adapter);
	if (result < 0)
		return result;
	rdma_mark_management(&adapter->rdma, &adapter->nodes);
	adapter->net_elsewhere = has_net_elsewhere(scan, dir, adapter);
	return 0;
}
