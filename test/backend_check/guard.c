/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* Room enough for any device; only what is used costs memory. */
#define GUARD_SIZE ((gsize)8 << 20)

struct guard {
	char *base;
	gsize used;
};

static void *map(gsize size)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	g_assert(base != MAP_FAILED);
	return base;
}

Guard *guard_new(void)
{
	Guard *guard = map(sizeof(*guard));

	guard->base = map(GUARD_SIZE);
	return guard;
}

void *guard_take(Guard *guard, gsize size)
{
	char *room = guard->base + guard->used;

	guard->used += (size + 15) & ~(gsize)15;
	g_assert(guard->used <= GUARD_SIZE);
	return room;
}

char *guard_text(Guard *guard, const char *text)
{
	gsize size;

	if (!text)
		return NULL;
	size = strlen(text) + 1;
	return memcpy(guard_take(guard, size), text, size);
}

void guard_make_readable(Guard *guard)
{
	mprotect(guard->base, GUARD_SIZE, PROT_READ);
}

void guard_make_void(Guard *guard)
{
	mprotect(guard->base, GUARD_SIZE, PROT_NONE);
}

void *guard_new_edge(gsize size)
{
	gsize page = (gsize)sysconf(_SC_PAGESIZE);
	gsize pages = (size + page - 1) / page * page;
	char *base = map(pages + page);

	mprotect(base + pages, page, PROT_NONE);
	return base + pages - size;
}

/* --- a device --- */

static void *take_list(Guard *guard, guint32 n)
{
	return guard_take(guard, n * sizeof(void *));
}

#define COPY(guard, from) memcpy(guard_take(guard, sizeof(*(from))), from, sizeof(*(from)))

static const struct rdmadp_attribute *copy_attribute(Guard *guard,
						     const struct rdmadp_attribute *from)
{
	struct rdmadp_attribute *to = COPY(guard, from);

	to->key = guard_text(guard, from->key);
	to->value = guard_text(guard, from->value);
	return to;
}

static const struct rdmadp_netdev *copy_netdev(Guard *guard, const struct rdmadp_netdev *from)
{
	struct rdmadp_netdev *to = COPY(guard, from);

	to->name = guard_text(guard, from->name);
	return to;
}

static const struct rdmadp_node *copy_node(Guard *guard, const struct rdmadp_node *from)
{
	struct rdmadp_node *to = COPY(guard, from);

	to->name = guard_text(guard, from->name);
	to->rdma_device = guard_text(guard, from->rdma_device);
	to->sysfs_dir = guard_text(guard, from->sysfs_dir);
	return to;
}

static const struct rdmadp_rdma_device *copy_rdma(Guard *guard,
						  const struct rdmadp_rdma_device *from)
{
	struct rdmadp_rdma_device *to = COPY(guard, from);
	const struct rdmadp_port **ports = take_list(guard, from->n_ports);

	for (guint32 i = 0; i < from->n_ports; i++)
		ports[i] = COPY(guard, from->ports[i]);
	to->name = guard_text(guard, from->name);
	to->driver = guard_text(guard, from->driver);
	to->ports = ports;
	return to;
}

static void copy_lists(Guard *guard, struct rdmadp_device *to, const struct rdmadp_device *from)
{
	const struct rdmadp_attribute **attributes = take_list(guard, from->n_attributes);
	const struct rdmadp_rdma_device **rdma_devices = take_list(guard, from->n_rdma_devices);
	const struct rdmadp_netdev **netdevs = take_list(guard, from->n_netdevs);
	const struct rdmadp_node **nodes = take_list(guard, from->n_nodes);

	for (guint32 i = 0; i < from->n_attributes; i++)
		attributes[i] = copy_attribute(guard, from->attributes[i]);
	for (guint32 i = 0; i < from->n_rdma_devices; i++)
		rdma_devices[i] = copy_rdma(guard, from->rdma_devices[i]);
	for (guint32 i = 0; i < from->n_netdevs; i++)
		netdevs[i] = copy_netdev(guard, from->netdevs[i]);
	for (guint32 i = 0; i < from->n_nodes; i++)
		nodes[i] = copy_node(guard, from->nodes[i]);
	to->attributes = attributes;
	to->rdma_devices = rdma_devices;
	to->netdevs = netdevs;
	to->nodes = nodes;
}

const struct rdmadp_device *guard_device(Guard *guard, const struct rdmadp_device *from)
{
	struct rdmadp_device *to = COPY(guard, from);

	to->id = guard_text(guard, from->id);
	to->identity = guard_text(guard, from->identity);
	to->parent_id = guard_text(guard, from->parent_id);
	to->driver = guard_text(guard, from->driver);
	to->pcie_root = guard_text(guard, from->pcie_root);
	to->pcie_path = guard_text(guard, from->pcie_path);
	to->note = guard_text(guard, from->note);
	copy_lists(guard, to, from);
	return to;
}
