/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rdma.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define MAX_PORTS 1024

struct port_list {
	struct scan *scan;
	struct list numbers; /* uint32_t * */
};

static int visit_port(void *data, const char *name)
{
	struct port_list *ports = data;
	uint32_t *number;
	uint32_t value;

	if (!text_unsigned(name, 10, &value) || value == 0 || ports->numbers.n == MAX_PORTS)
		return 0;
	number = arena_alloc(&ports->scan->arena, sizeof(*number));
	if (number)
		*number = value;
	return list_add(&ports->scan->arena, &ports->numbers, number);
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t left = **(uint32_t *const *)a;
	uint32_t right = **(uint32_t *const *)b;

	return left < right ? -1 : left > right;
}

static enum rdmadp_link_layer link_layer(const struct sysfs *sysfs, const char *dir)
{
	char text[SYSFS_TEXT];

	if (!sysfs_read_in(sysfs, dir, "link_layer", text))
		return RDMADP_LINK_UNKNOWN;
	if (strcmp(text, "InfiniBand") == 0)
		return RDMADP_LINK_INFINIBAND;
	return strcmp(text, "Ethernet") == 0 ? RDMADP_LINK_ETHERNET : RDMADP_LINK_UNKNOWN;
}

static struct rdmadp_port *read_port(struct scan *scan, const char *ib_dir, uint32_t number)
{
	struct rdmadp_port *port = arena_alloc(&scan->arena, sizeof(*port));
	struct port_read *read = arena_alloc(&scan->arena, sizeof(*read));
	const char *dir = arena_printf(&scan->arena, "%s/ports/%u", ib_dir, number);

	if (!port || !read || !dir)
		return NULL;
	port->size = sizeof(*port);
	port->number = number;
	port->link_layer = link_layer(scan->sysfs, dir);
	read->path = arena_printf(&scan->arena, "%s/state", dir);
	read->state = &port->state;
	if (!read->path || list_add(&scan->arena, &scan->port_reads, read) < 0)
		return NULL;
	return port;
}

bool rdma_is_raw(const struct sysfs *sysfs, const char *ib_dir)
{
	char path[SYSFS_PATH];

	if (!sysfs_join(path, ib_dir, "ports/1/gids/0") || sysfs_exists(sysfs, path))
		return false;
	return sysfs_join(path, ib_dir, "ports/1/gids") && sysfs_exists(sysfs, path);
}

/* Port 1 is the uplink; the others of a representor are those of functions. */
static int read_ports(struct scan *scan, const char *ib_dir, bool *ret_raw, struct list *list)
{
	struct port_list ports = {.scan = scan};
	char path[SYSFS_PATH];
	int result = 0;

	if (!sysfs_join(path, ib_dir, "ports") ||
	    sysfs_list(scan->sysfs, path, visit_port, &ports) == -ENOMEM)
		return -ENOMEM;
	if (ports.numbers.n == 0)
		return 0;
	qsort(ports.numbers.items, ports.numbers.n, sizeof(*ports.numbers.items), compare_numbers);
	*ret_raw = rdma_is_raw(scan->sysfs, ib_dir);
	for (uint32_t i = 0; result == 0 && i < (*ret_raw ? 1 : ports.numbers.n); i++)
		result = list_add(&scan->arena, list,
				  read_port(scan, ib_dir, *(uint32_t *)ports.numbers.items[i]));
	return result;
}

struct rdmadp_rdma_device *rdma_read(struct scan *scan, const struct class_entry *entry,
				     const char *driver, bool *ret_raw)
{
	struct rdmadp_rdma_device *rdma = arena_alloc(&scan->arena, sizeof(*rdma));
	struct list ports = {0};

	*ret_raw = false;
	if (!rdma || read_ports(scan, entry->dir, ret_raw, &ports) < 0)
		return NULL;
	rdma->size = sizeof(*rdma);
	rdma->name = entry->name;
	rdma->driver = driver;
	rdma->flags = *ret_raw ? RDMADP_RDMA_MANAGEMENT_ONLY : 0;
	rdma->n_ports = ports.n;
	rdma->ports = (const struct rdmadp_port *const *)ports.items;
	return rdma;
}

static bool has_node(const struct list *nodes, const char *rdma_device, enum rdmadp_node_kind kind)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct rdmadp_node *node = nodes->items[i];

		if (node->kind == kind && strcmp(node->rdma_device, rdma_device) == 0)
			return true;
	}
	return false;
}

static bool has_mad(const struct list *nodes)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct rdmadp_node *node = nodes->items[i];

		if (node->kind == RDMADP_NODE_UMAD || node->kind == RDMADP_NODE_ISSM)
			return true;
	}
	return false;
}

/* Where ib_umad is not loaded nothing has issm: what is left is that it never has uverbs. */
static bool is_management(const struct list *nodes, const char *rdma_device)
{
	if (has_mad(nodes))
		return has_node(nodes, rdma_device, RDMADP_NODE_ISSM);
	return !has_node(nodes, rdma_device, RDMADP_NODE_UVERBS);
}

/* An XDR adapter has its subnet management in an RDMA device of its own beside the
 * real one: that has uverbs and no issm, this has issm and no uverbs. */
void rdma_mark_management(const struct list *rdma, const struct list *nodes)
{
	bool has_main = false;

	for (uint32_t i = 0; i < rdma->n; i++) {
		const struct rdmadp_rdma_device *device = rdma->items[i];

		has_main |= has_node(nodes, device->name, RDMADP_NODE_UVERBS) &&
			    !has_node(nodes, device->name, RDMADP_NODE_ISSM);
	}
	for (uint32_t i = 0; has_main && i < rdma->n; i++) {
		struct rdmadp_rdma_device *device = rdma->items[i];

		if (is_management(nodes, device->name))
			device->flags |= RDMADP_RDMA_MANAGEMENT_ONLY;
	}
}
