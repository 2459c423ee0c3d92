/* SPDX-License-Identifier: Apache-2.0 */
#include "pci/function.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/crew.h"
#include "common/netdev.h"
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

/* What was read of an entry of bus/pci/devices. */
struct entry {
	const char *id;
	struct sysfs_value class;
	const char *dir; /* of one of the network class */
};

static bool is_network(const char *class)
{
	char id[TEXT_ID];
	uint32_t value;

	return text_hex_id(class, id) && text_unsigned(id, 16, &value) &&
	       value >> 16 == CLASS_NETWORK;
}

static int add_name(void *data, const char *name)
{
	struct pci_scan *pci = data;
	struct arena *arena = &pci->scan.arena;
	struct entry *entry;

	if (!text_is_pci_address(name)) {
		sysfs_say_once(pci->scan.sysfs, RDMADP_LOG_WARNING,
			       "'%.64s' in bus/pci/devices is no PCI address: skipped", name);
		return 0;
	}
	entry = arena_alloc(arena, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->id = arena_strdup(arena, name);
	return entry->id ? list_add(arena, &pci->entries, entry) : -ENOMEM;
}

static void look_at_entry(void *data, uint32_t i, struct arena *arena)
{
	const struct pci_scan *pci = data;
	struct entry *entry = pci->entries.items[i];
	char path[SYSFS_PATH];
	char dir[SYSFS_PATH];

	snprintf(path, sizeof(path), "bus/pci/devices/%s", entry->id);
	entry->class = sysfs_fetch(pci->scan.sysfs, path, "class", arena);
	if (!is_network(entry->class.text) || sysfs_resolve(pci->scan.sysfs, path, dir) < 0)
		return;
	entry->dir = arena_strdup(arena, dir);
	if (!entry->dir)
		sysfs_note_lack(-ENOMEM);
}

/* "020000"; "" where it cannot be read. A function that goes away meanwhile is no news;
 * one that stays and cannot be read is. */
static void judge_class(struct sysfs *sysfs, const char *id, const struct sysfs_value *value,
			char class[TEXT_ID])
{
	if (value->result == 0 && text_hex_id(value->text, class))
		return;
	class[0] = '\0';
	if (value->result == 0)
		sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
			       "'%s': attribute 'class' is '%s', not hexadecimal: skipped", id,
			       value->text);
	else if (value->result != -ENOENT && value->result != -ENODEV)
		sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
			       "'%s': attribute 'class' cannot be read (%s): skipped", id,
			       strerror(-value->result));
}

static int judge_entry(struct pci_scan *pci, const struct entry *entry)
{
	char class[TEXT_ID];

	judge_class(pci->scan.sysfs, entry->id, &entry->class, class);
	return entry->dir ? add_function(pci, entry->id, entry->dir, class) : 0;
}

static int find_network(struct pci_scan *pci)
{
	int result = sysfs_list(pci->scan.sysfs, "bus/pci/devices", add_name, pci);

	if (result == 0)
		crew_look(pci->entries.n, look_at_entry, pci, &pci->scan.arena);
	for (uint32_t i = 0; result == 0 && i < pci->entries.n; i++)
		result = judge_entry(pci, pci->entries.items[i]);
	return result;
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
	struct sysfs_value value;
	size_t end;

	if (!function_in_path(entry->parent, id, &end) || function_named(pci, id))
		return 0;
	snprintf(path, sizeof(path), "bus/pci/devices/%s", id);
	if (!sysfs_exists(pci->scan.sysfs, path))
		return 0;
	value = sysfs_fetch(pci->scan.sysfs, path, "class", &pci->scan.arena);
	judge_class(pci->scan.sysfs, id, &value, class);
	snprintf(path, sizeof(path), "%.*s", (int)end, entry->parent);
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

static void look_at_function(void *data, uint32_t i, struct arena *arena)
{
	const struct pci_scan *pci = data;
	struct function *function = pci->functions.items[i];

	facts_read(pci->scan.sysfs, function->dir, arena, &function->facts);
}

/* Not at those of pods, bridges and the like, of which there may be many. */
static void look_at_net(void *data, uint32_t i, struct arena *arena)
{
	const struct pci_scan *pci = data;
	struct class_entry *entry = pci->scan.index.nets.items[i];
	struct netdev_facts *facts;
	char id[SYSFS_TEXT];
	size_t end;

	if (!function_in_path(entry->parent, id, &end) || !function_named(pci, id))
		return;
	facts = arena_alloc(arena, sizeof(*facts));
	if (facts)
		netdev_read(pci->scan.sysfs, entry->dir, facts);
	entry->facts = facts;
}

int functions_find(struct pci_scan *pci)
{
	struct arena *arena = &pci->scan.arena;
	int result = find_network(pci);

	if (result == -ENOENT)
		return 0;
	sort(&pci->functions);
	if (result == 0)
		result = add_owners(pci, &pci->scan.index.rdma);
	if (result == 0)
		result = add_owners(pci, &pci->scan.index.nodes);
	if (result < 0)
		return result;
	crew_look(pci->functions.n, look_at_function, pci, arena);
	crew_look(pci->scan.index.nets.n, look_at_net, pci, arena);
	return 0;
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
	uint32_t n;

	if (!text_unsigned(pf->facts.numvfs.text, 10, &n))
		return 0;
	pf->numvfs = pf->facts.numvfs.text;
	return link_vfs(pci, pf, n);
}

/* The physical function did not say how many it has, or too few: its VF knows it. */
static int adopt_vf(struct pci_scan *pci, struct function *vf)
{
	struct function *pf =
		vf->pf || !vf->facts.physfn ? NULL : function_named(pci, vf->facts.physfn);

	if (!pf || link_vfs(pci, pf, MAX_VFS) < 0)
		return pf ? -ENOMEM : 0;
	vf->pf = pf;
	return 0;
}

static int read_function(struct pci_scan *pci, struct function *function)
{
	int result = adapter_scan(&pci->scan, function->dir,
				  drivers_rdma_of(function->facts.driver), &function->adapter);

	function->n_own_nets = function->adapter.nets.n;
	return result < 0 ? result : read_vfs(pci, function);
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
	return b->adapter.bond && strcmp(a->adapter.bond, b->adapter.bond) == 0 &&
	       a->facts.driver && b->facts.driver && strcmp(a->facts.driver, b->facts.driver) == 0;
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

static int join_bond(struct pci_scan *pci, struct function *member)
{
	struct function *owner = find_port_owner(pci, member);

	member->port_owner = owner;
	return owner ? adapter_take_nets(&pci->scan, &owner->adapter, &member->adapter) : 0;
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
