/* SPDX-License-Identifier: Apache-2.0 */
#include "pci/function.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "pci/drivers.h"

#define CLASS_NETWORK 0x02
#define CLASS_ETHERNET 0x0200
#define CLASS_INFINIBAND 0x0207
#define MAX_VFS 65535

static int add_function(struct pci_scan *pci, const char *id, const char *dir, const char *class)
{
	struct arena *arena = &pci->scan.arena;
	struct function *function = arena_alloc(arena, sizeof(*function));

	if (!function)
		return -ENOMEM;
	function->id = arena_strdup(arena, id);
	function->dir = arena_strdup(arena, dir);
	function->class = *class ? arena_strdup(arena, class) : NULL;
	if (!function->id || !function->dir || (*class && !function->class))
		return -ENOMEM;
	return list_add(arena, &pci->functions, function);
}

/* "020000"; "" where it cannot be read. A function that goes away meanwhile is no news;
 * one that stays and cannot be read is. */
static void read_class(struct sysfs *sysfs, const char *id, char class[TEXT_ID])
{
	char path[SYSFS_PATH];
	char text[SYSFS_TEXT];
	int result;

	snprintf(path, sizeof(path), "bus/pci/devices/%s/class", id);
	result = sysfs_read(sysfs, SYSFS_NOWAIT, path, text, sizeof(text));
	if (result == 0 && text_hex_id(text, class))
		return;
	class[0] = '\0';
	if (result == 0)
		sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
			       "'%s': attribute 'class' is '%s', not hexadecimal: skipped", id,
			       text);
	else if (result != -ENOENT && result != -ENODEV)
		sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
			       "'%s': attribute 'class' cannot be read (%s): skipped", id,
			       strerror(-result));
}

static bool is_network(const char *class)
{
	uint32_t value;

	return text_unsigned(class, 16, &value) && value >> 16 == CLASS_NETWORK;
}

static int visit(void *data, const char *name)
{
	struct pci_scan *pci = data;
	char path[SYSFS_PATH];
	char dir[SYSFS_PATH];
	char class[TEXT_ID];

	if (!text_is_pci_address(name)) {
		sysfs_say_once(pci->scan.sysfs, RDMADP_LOG_WARNING,
			       "'%.64s' in bus/pci/devices is no PCI address: skipped", name);
		return 0;
	}
	read_class(pci->scan.sysfs, name, class);
	snprintf(path, sizeof(path), "bus/pci/devices/%s", name);
	if (!is_network(class) || sysfs_resolve(pci->scan.sysfs, path, dir) < 0)
		return 0;
	return add_function(pci, name, dir, class);
}

static int compare(const void *a, const void *b)
{
	const struct function *left = *(const struct function *const *)a;
	const struct function *right = *(const struct function *const *)b;

	return strcmp(left->id, right->id);
}

static void sort(struct list *functions)
{
	if (functions->n)
		qsort(functions->items, functions->n, sizeof(*functions->items), compare);
}

struct function *function_named(const struct pci_scan *pci, const char *id)
{
	struct function key = {.id = id};
	const struct function *wanted = &key;
	void **found = NULL;

	if (pci->functions.n)
		found = bsearch((const void *)&wanted, pci->functions.items, pci->functions.n,
				sizeof(*pci->functions.items), compare);
	return found ? *found : NULL;
}

static bool part_is_address(const char *part, size_t length, char id[SYSFS_TEXT])
{
	char text[SYSFS_TEXT];

	if (length >= sizeof(text))
		return false;
	memcpy(text, part, length);
	text[length] = '\0';
	if (!text_is_pci_address(text))
		return false;
	memcpy(id, text, length + 1);
	return true;
}

bool function_in_path(const char *path, char id[SYSFS_TEXT], size_t *ret_end)
{
	const char *part = path;
	bool found = false;

	while (*part) {
		size_t length = strcspn(part, "/");

		if (part_is_address(part, length, id)) {
			*ret_end = (size_t)(part - path) + length;
			found = true;
		}
		part += length;
		part += *part == '/';
	}
	return found;
}

/* Functions of other classes than network: an entry of an RDMA class hangs below them. */
static int add_owner(struct pci_scan *pci, const struct class_entry *entry)
{
	char id[SYSFS_TEXT];
	char path[SYSFS_PATH];
	char class[TEXT_ID];
	size_t end;

	if (!function_in_path(entry->parent, id, &end) || function_named(pci, id))
		return 0;
	snprintf(path, sizeof(path), "bus/pci/devices/%s", id);
	if (!sysfs_exists(pci->scan.sysfs, path))
		return 0;
	snprintf(path, sizeof(path), "%.*s", (int)end, entry->parent);
	read_class(pci->scan.sysfs, id, class);
	if (add_function(pci, id, path, class) < 0)
		return -ENOMEM;
	sort(&pci->functions);
	return 0;
}

static int add_owners(struct pci_scan *pci, const struct list *entries)
{
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < entries->n; i++)
		result = add_owner(pci, entries->items[i]);
	return result;
}

int functions_find(struct pci_scan *pci)
{
	int result = sysfs_list(pci->scan.sysfs, "bus/pci/devices", visit, pci);

	if (result == -ENOENT)
		return 0;
	sort(&pci->functions);
	if (result == 0)
		result = add_owners(pci, &pci->scan.index.rdma);
	if (result == 0)
		result = add_owners(pci, &pci->scan.index.nodes);
	return result;
}

static const char *link_name(struct pci_scan *pci, const char *dir, const char *name)
{
	char text[SYSFS_TEXT];

	if (!sysfs_link_name(pci->scan.sysfs, dir, name, text))
		return NULL;
	return arena_strdup(&pci->scan.arena, text);
}

/* The kernel numbers them without holes. */
static int link_vfs(struct pci_scan *pci, struct function *pf, uint32_t n)
{
	pf->has_vfs = n > 0;
	for (uint32_t i = 0; i < n && i < MAX_VFS; i++) {
		struct function *vf;
		char text[SYSFS_TEXT];
		char link[32];

		snprintf(link, sizeof(link), "virtfn%u", i);
		if (!sysfs_link_name(pci->scan.sysfs, pf->dir, link, text))
			break;
		vf = function_named(pci, text);
		if (!vf)
			continue;
		vf->pf = pf;
		vf->vf_index = arena_printf(&pci->scan.arena, "%u", i);
		if (!vf->vf_index)
			return -ENOMEM;
	}
	return 0;
}

static int read_vfs(struct pci_scan *pci, struct function *pf)
{
	char text[SYSFS_TEXT];
	uint32_t n;

	if (!sysfs_read_in(pci->scan.sysfs, pf->dir, "sriov_numvfs", text) ||
	    !text_unsigned(text, 10, &n))
		return 0;
	pf->numvfs = arena_strdup(&pci->scan.arena, text);
	return pf->numvfs ? link_vfs(pci, pf, n) : -ENOMEM;
}

/* The physical function did not say how many it has, or too few: its VF knows it. */
static int adopt_vf(struct pci_scan *pci, struct function *vf)
{
	struct function *pf = vf->pf || !vf->physfn ? NULL : function_named(pci, vf->physfn);

	if (!pf || link_vfs(pci, pf, MAX_VFS) < 0)
		return pf ? -ENOMEM : 0;
	vf->pf = pf;
	return 0;
}

static int read_function(struct pci_scan *pci, struct function *function)
{
	int result;

	function->driver = link_name(pci, function->dir, "driver");
	function->physfn = link_name(pci, function->dir, "physfn");
	result = adapter_scan(&pci->scan, function->dir, drivers_rdma_of(function->driver),
			      &function->adapter);
	function->n_own_nets = function->adapter.nets.n;
	return result < 0 || function->physfn ? result : read_vfs(pci, function);
}

/* The directory with the interfaces of a VF may be missing altogether; where its
 * physical function has one, it has one too, in some pod. */
static void find_missing_net(struct function *vf)
{
	if (vf->adapter.rdma.n && !vf->adapter.nets.n && adapter_own_net(&vf->pf->adapter))
		vf->adapter.net_elsewhere = true;
}

/* The firmware changes the class with the type of the link. */
static enum rdmadp_link_layer class_layer(const struct function *function)
{
	uint32_t value;

	if (!function->class || !text_unsigned(function->class, 16, &value))
		return RDMADP_LINK_UNKNOWN;
	if (value >> 8 == CLASS_INFINIBAND)
		return RDMADP_LINK_INFINIBAND;
	return value >> 8 == CLASS_ETHERNET ? RDMADP_LINK_ETHERNET : RDMADP_LINK_UNKNOWN;
}

enum rdmadp_link_layer function_link_layer(const struct function *function)
{
	const struct rdmadp_port *seen = adapter_first_port(&function->adapter);

	return seen ? seen->link_layer : class_layer(function);
}

/* What is in a pod has the link layer of its physical function, or of its class. */
static int complete(struct pci_scan *pci, struct function *function)
{
	if (function->pf)
		find_missing_net(function);
	return adapter_assume_port(&pci->scan, &function->adapter,
				   function_link_layer(function->pf ? function->pf : function));
}

static size_t slot_length(const char *id)
{
	return (size_t)(strrchr(id, '.') - id);
}

static bool same_slot(const struct function *a, const struct function *b)
{
	size_t length = slot_length(a->id);

	return length == slot_length(b->id) && strncmp(a->id, b->id, length) == 0;
}

static bool shares_bond(const struct function *a, const struct function *b)
{
	return b->adapter.bond && strcmp(a->adapter.bond, b->adapter.bond) == 0 && a->driver &&
	       b->driver && strcmp(a->driver, b->driver) == 0;
}

/* A driver that bonds in hardware makes one RDMA device for all ports of the bond and
 * hangs it below one function. */
static struct function *find_port_owner(const struct pci_scan *pci, const struct function *member)
{
	struct function *found = NULL;

	if (!member->adapter.bond || member->adapter.rdma.n)
		return NULL;
	for (uint32_t i = 0; i < pci->functions.n; i++) {
		struct function *other = pci->functions.items[i];

		if (other->adapter.rdma.n && shares_bond(member, other) &&
		    (!found || (!same_slot(member, found) && same_slot(member, other))))
			found = other;
	}
	return found;
}

/* So that a configuration that names either member means the one device, once. */
static int join_bond(struct pci_scan *pci, struct function *member)
{
	struct function *owner = find_port_owner(pci, member);
	int result = 0;

	member->port_owner = owner;
	for (uint32_t i = 0; owner && result == 0 && i < member->adapter.nets.n; i++) {
		const struct rdmadp_netdev *net = member->adapter.nets.items[i];

		result = adapter_add_net(&pci->scan, &owner->adapter, net->name, net->link_layer,
					 net->flags);
	}
	if (owner)
		member->adapter.nets.n = 0;
	return result;
}

int functions_read(struct pci_scan *pci)
{
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < pci->functions.n; i++)
		result = read_function(pci, pci->functions.items[i]);
	for (uint32_t i = 0; result == 0 && i < pci->functions.n; i++) {
		result = adopt_vf(pci, pci->functions.items[i]);
		if (result == 0)
			result = complete(pci, pci->functions.items[i]);
	}
	for (uint32_t i = 0; result == 0 && i < pci->functions.n; i++)
		result = join_bond(pci, pci->functions.items[i]);
	return result;
}

const char *function_uplink(const struct function *function)
{
	return function->port_owner ? function->port_owner->id : function->id;
}
