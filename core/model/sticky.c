/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sticky.h"

#include <string.h>

/* A device that borrows from both reports until it is copied. */
struct merge {
	const struct rdmadp_device *previous;
	struct rdmadp_device device;
	GPtrArray *blocks; /* what had to be made for it */
	gboolean changed;
};

static gboolean same_attribute(const Device *a, const Device *b, const char *key)
{
	const char *left = device_attribute(a, key);
	const char *right = device_attribute(b, key);

	return left == NULL || right == NULL || strcmp(left, right) == 0;
}

static gboolean is_same(const Device *previous, const Device *reported)
{
	const struct rdmadp_device *abi = device_abi(reported);

	if (strcmp(device_identity(previous), device_identity(reported)) != 0 ||
	    g_strcmp0(device_abi(previous)->driver, abi->driver) != 0)
		return FALSE;
	if (abi->driver == NULL && !(abi->flags & RDMADP_DEVICE_SOFTWARE))
		return FALSE;
	return same_attribute(previous, reported, "vendor") &&
	       same_attribute(previous, reported, "device");
}

/* Memory that lives as long as the merge. */
static gpointer make(struct merge *merge, gsize size)
{
	gpointer block = g_malloc0(size);

	g_ptr_array_add(merge->blocks, block);
	return block;
}

/* --- attributes and single members --- */

static gboolean has_key(const struct rdmadp_device *device, const char *key)
{
	for (guint32 i = 0; i < device->n_attributes; i++)
		if (strcmp(device->attributes[i]->key, key) == 0)
			return TRUE;
	return FALSE;
}

static void merge_attributes(struct merge *merge)
{
	const struct rdmadp_device *previous = merge->previous;
	const struct rdmadp_device reported = merge->device;
	const struct rdmadp_attribute **all = make(
		merge, (reported.n_attributes + previous->n_attributes + 1) * sizeof(gpointer));
	guint32 n = 0;

	for (; n < reported.n_attributes; n++)
		all[n] = reported.attributes[n];
	for (guint32 i = 0; i < previous->n_attributes; i++)
		if (!has_key(&reported, previous->attributes[i]->key))
			all[n++] = previous->attributes[i];
	merge->changed |= n > reported.n_attributes;
	merge->device.n_attributes = n;
	merge->device.attributes = all;
}

static void merge_members(struct merge *merge)
{
	if (merge->device.numa_node < 0 && merge->previous->numa_node >= 0) {
		merge->device.numa_node = merge->previous->numa_node;
		merge->changed = TRUE;
	}
	if (merge->device.parent_id == NULL && merge->previous->parent_id != NULL) {
		merge->device.parent_id = merge->previous->parent_id;
		merge->changed = TRUE;
	}
}

/* --- interfaces --- */

/* Interfaces that the device itself stands or falls with. */
static guint32 n_own_interfaces(const struct rdmadp_device *device)
{
	const guint32 not_own = RDMADP_NET_UPPER | RDMADP_NET_REPRESENTOR | RDMADP_NET_CHILD;
	guint32 n = 0;

	for (guint32 i = 0; i < device->n_netdevs; i++)
		n += device->netdevs[i]->flags & not_own ? 0 : 1;
	return n;
}

/* All of them, or one of several as the backend says. */
static gboolean interfaces_vanished(const struct rdmadp_device *previous,
				    const struct rdmadp_device *reported)
{
	guint32 n = n_own_interfaces(reported);

	return n < n_own_interfaces(previous) &&
	       (n == 0 || (reported->flags & RDMADP_DEVICE_ELSEWHERE) != 0);
}

static const struct rdmadp_netdev *netdev_find(const struct rdmadp_device *device, const char *name)
{
	for (guint32 i = 0; i < device->n_netdevs; i++)
		if (strcmp(device->netdevs[i]->name, name) == 0)
			return device->netdevs[i];
	return NULL;
}

static const struct rdmadp_netdev *merge_netdev(struct merge *merge,
						const struct rdmadp_netdev *netdev)
{
	const struct rdmadp_netdev *before = netdev_find(merge->previous, netdev->name);
	struct rdmadp_netdev *copy;

	if (netdev->link_layer != RDMADP_LINK_UNKNOWN || before == NULL ||
	    before->link_layer == RDMADP_LINK_UNKNOWN)
		return netdev;
	copy = make(merge, sizeof(*copy));
	*copy = *netdev;
	copy->link_layer = before->link_layer;
	merge->changed = TRUE;
	return copy;
}

static void merge_netdevs(struct merge *merge)
{
	const struct rdmadp_device *previous = merge->previous;
	struct rdmadp_device *device = &merge->device;
	const struct rdmadp_netdev **all =
		make(merge, (device->n_netdevs + previous->n_netdevs + 1) * sizeof(gpointer));
	gboolean vanished = interfaces_vanished(previous, device);
	guint32 n = 0;

	for (; n < device->n_netdevs; n++)
		all[n] = merge_netdev(merge, device->netdevs[n]);
	for (guint32 i = 0; vanished && i < previous->n_netdevs; i++)
		if (netdev_find(device, previous->netdevs[i]->name) == NULL)
			all[n++] = previous->netdevs[i];
	merge->changed |= vanished;
	device->n_netdevs = n;
	device->netdevs = all;
}

/* --- RDMA devices --- */

static const struct rdmadp_port *port_find(const struct rdmadp_rdma_device *rdma, guint32 number)
{
	for (guint32 i = 0; i < rdma->n_ports; i++)
		if (rdma->ports[i]->number == number)
			return rdma->ports[i];
	return NULL;
}

static const struct rdmadp_port *merge_port(struct merge *merge, const struct rdmadp_port *port,
					    const struct rdmadp_rdma_device *previous)
{
	const struct rdmadp_port *before = port_find(previous, port->number);
	struct rdmadp_port *copy;

	if (port->link_layer != RDMADP_LINK_UNKNOWN || before == NULL ||
	    before->link_layer == RDMADP_LINK_UNKNOWN)
		return port;
	copy = make(merge, sizeof(*copy));
	*copy = *port;
	copy->link_layer = before->link_layer;
	merge->changed = TRUE;
	return copy;
}

static const struct rdmadp_port *remember_port(struct merge *merge, const struct rdmadp_port *port)
{
	struct rdmadp_port *copy = make(merge, sizeof(*copy));

	*copy = *port;
	copy->state = RDMADP_PORT_UNKNOWN;
	merge->changed = TRUE;
	return copy;
}

/* Its ports, or if it has none those that it had. */
static void merge_ports(struct merge *merge, struct rdmadp_rdma_device *rdma,
			const struct rdmadp_rdma_device *previous)
{
	guint32 n = rdma->n_ports > 0 ? rdma->n_ports : previous->n_ports;
	const struct rdmadp_port **ports = make(merge, (n + 1) * sizeof(gpointer));

	for (guint32 i = 0; i < n; i++)
		ports[i] = rdma->n_ports > 0 ? merge_port(merge, rdma->ports[i], previous)
					     : remember_port(merge, previous->ports[i]);
	rdma->n_ports = n;
	rdma->ports = ports;
}

static const struct rdmadp_rdma_device *rdma_find(const struct rdmadp_device *device,
						  const char *name)
{
	for (guint32 i = 0; i < device->n_rdma_devices; i++)
		if (strcmp(device->rdma_devices[i]->name, name) == 0)
			return device->rdma_devices[i];
	return NULL;
}

static const struct rdmadp_rdma_device *merge_rdma(struct merge *merge,
						   const struct rdmadp_rdma_device *rdma)
{
	const struct rdmadp_rdma_device *previous = rdma_find(merge->previous, rdma->name);
	struct rdmadp_rdma_device *copy;

	if (previous == NULL)
		return rdma;
	copy = make(merge, sizeof(*copy));
	*copy = *rdma;
	if (rdma->driver == NULL && previous->driver != NULL) {
		copy->driver = previous->driver;
		merge->changed = TRUE;
	}
	merge_ports(merge, copy, previous);
	return copy;
}

static const struct rdmadp_rdma_device *remember_rdma(struct merge *merge,
						      const struct rdmadp_rdma_device *rdma)
{
	struct rdmadp_rdma_device *copy = make(merge, sizeof(*copy));

	*copy = *rdma;
	copy->n_ports = 0;
	merge_ports(merge, copy, rdma);
	merge->changed = TRUE;
	return copy;
}

static gboolean has_usable_rdma(const struct rdmadp_device *device)
{
	for (guint32 i = 0; i < device->n_rdma_devices; i++)
		if (!(device->rdma_devices[i]->flags & RDMADP_RDMA_MANAGEMENT_ONLY))
			return TRUE;
	return FALSE;
}

static void merge_rdma_devices(struct merge *merge)
{
	struct rdmadp_device *device = &merge->device;
	gboolean vanished = !has_usable_rdma(device) && has_usable_rdma(merge->previous);
	const struct rdmadp_device *from = vanished ? merge->previous : device;
	const struct rdmadp_rdma_device **rdmas =
		make(merge, (from->n_rdma_devices + 1) * sizeof(gpointer));

	for (guint32 i = 0; i < from->n_rdma_devices; i++)
		rdmas[i] = vanished ? remember_rdma(merge, from->rdma_devices[i])
				    : merge_rdma(merge, from->rdma_devices[i]);
	device->n_rdma_devices = from->n_rdma_devices;
	device->rdma_devices = rdmas;
}

Device *sticky_merge(const Device *previous, Device *reported)
{
	g_autoptr(GPtrArray) blocks = NULL;
	struct merge merge = {0};
	Device *merged = NULL;

	if (previous == NULL || !is_same(previous, reported))
		return device_ref(reported);
	blocks = g_ptr_array_new_with_free_func(g_free);
	merge.previous = device_abi(previous);
	merge.device = *device_abi(reported);
	merge.blocks = blocks;
	merge_attributes(&merge);
	merge_members(&merge);
	merge_netdevs(&merge);
	merge_rdma_devices(&merge);
	if (merge.changed)
		merged = device_copy(&merge.device, NULL);
	/* Together they can be more than one device may have. */
	return merged == NULL ? device_ref(reported) : merged;
}
