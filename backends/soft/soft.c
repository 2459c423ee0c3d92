/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend 'soft': RDMA in software, rxe (RoCE) and siw (iWARP). Such a device hangs
 * below no bus device; it works on a network interface and is known by its own name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/guid.h"
#include "common/health.h"
#include "common/instance.h"
#include "common/match.h"
#include "common/netdev.h"
#include "common/report.h"

#define VIRTUAL "devices/virtual"
#define GIDS_TO_TRY 16
#define ZERO_GUID "0000:0000:0000:0000"

/* Only rxe has 'parent'; of the software devices only siw is an RNIC. */
static const char *driver_of(const struct sysfs *sysfs, const char *dir)
{
	char text[SYSFS_TEXT];

	if (sysfs_read_in(sysfs, dir, "parent", text))
		return "rdma_rxe";
	if (sysfs_read_in(sysfs, dir, "node_type", text) && text[0] == '4')
		return "siw";
	return NULL;
}

/* An entry of the GID table that is not in use cannot be read. */
static bool find_interface(const struct sysfs *sysfs, const char *dir, char name[SYSFS_TEXT])
{
	char file[64];

	if (sysfs_read_in(sysfs, dir, "parent", name))
		return true;
	for (int i = 0; i < GIDS_TO_TRY; i++) {
		snprintf(file, sizeof(file), "ports/1/gid_attrs/ndevs/%d", i);
		if (sysfs_read_in(sysfs, dir, file, name))
			return true;
	}
	return false;
}

static int add_bond(struct scan *scan, const char *bond, struct adapter *adapter)
{
	const char *name = arena_strdup(&scan->arena, bond);

	if (!name)
		return -ENOMEM;
	return adapter_add_net(scan, adapter, name, RDMADP_LINK_ETHERNET, RDMADP_NET_UPPER);
}

static int add_interface(struct scan *scan, const char *dir, struct adapter *adapter)
{
	const struct class_entry *entry;
	struct netdev_facts facts;
	char name[SYSFS_TEXT];
	int result;

	if (!find_interface(scan->sysfs, dir, name))
		return 0;
	entry = class_index_named(&scan->index.nets, name);
	if (!entry) {
		adapter->net_elsewhere = true;
		return 0;
	}
	netdev_read(scan->sysfs, entry->dir, &facts);
	result = adapter_add_net(scan, adapter, entry->name, facts.link_layer, 0);
	return result < 0 || !facts.bond[0] ? result : add_bond(scan, facts.bond, adapter);
}

static bool read_guid(struct sysfs *sysfs, const char *dir, char guid[SYSFS_TEXT])
{
	return guid_read(sysfs, dir, "node_guid", guid) && strcmp(guid, ZERO_GUID) != 0;
}

/* The GUID comes from the interface's address, which a VLAN shares with the interface
 * below it: then, as without a GUID, there is only the name. */
static const char *identity(struct scan *scan, const struct class_entry *entry)
{
	char guid[SYSFS_TEXT];
	char other[SYSFS_TEXT];

	if (!read_guid(scan->sysfs, entry->dir, guid))
		return entry->name;
	for (uint32_t i = 0; i < scan->index.rdma.n; i++) {
		const struct class_entry *next = scan->index.rdma.items[i];

		if (next != entry && strcmp(next->parent, VIRTUAL) == 0 &&
		    read_guid(scan->sysfs, next->dir, other) && strcmp(guid, other) == 0)
			return entry->name;
	}
	return arena_strdup(&scan->arena, guid);
}

struct soft_device {
	struct class_entry *entry;
	struct adapter adapter;
};

static int read_device(struct scan *scan, struct class_entry *entry, struct list *devices)
{
	struct soft_device *device = arena_alloc(&scan->arena, sizeof(*device));
	int result = list_add(&scan->arena, devices, device);

	if (result < 0)
		return result;
	device->entry = entry;
	result = adapter_take_rdma(scan, entry, driver_of(scan->sysfs, entry->dir),
				   &device->adapter);
	return result < 0 ? result : add_interface(scan, entry->dir, &device->adapter);
}

static int read_devices(struct scan *scan, struct list *devices)
{
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < scan->index.rdma.n; i++) {
		struct class_entry *entry = scan->index.rdma.items[i];

		if (strcmp(entry->parent, VIRTUAL) == 0)
			result = read_device(scan, entry, devices);
	}
	return result;
}

static int emit_device(struct scan *scan, const struct soft_device *device, rdmadp_emit_fn emit,
		       void *sink)
{
	const char *dir = device->entry->dir;
	const char *stable = identity(scan, device->entry);
	struct report report;

	if (!stable)
		return -ENOMEM;
	report_begin(&report, scan, device->entry->name, stable);
	report.device.flags = RDMADP_DEVICE_SOFTWARE;
	report.device.driver = driver_of(scan->sysfs, dir);
	report_text(&report, dir, "node_guid", "node_guid");
	report_adapter(&report, &device->adapter);
	return report_emit(&report, emit, sink);
}

static int soft_discover(void *data, rdmadp_emit_fn emit, void *sink)
{
	struct instance *instance = data;
	struct list devices = {0};
	struct scan scan;
	int result = scan_begin(&scan, &instance->sysfs);

	if (result == 0)
		result = read_devices(&scan, &devices);
	if (result == 0)
		result = port_probe_run(&instance->probe, &instance->sysfs, &scan.port_reads);
	for (uint32_t i = 0; result == 0 && i < devices.n; i++)
		result = emit_device(&scan, devices.items[i], emit, sink);
	return scan_end(&scan, result);
}

static const char *driver_alias(const char *name)
{
	return strcmp(name, "rxe") == 0 ? "rdma_rxe" : NULL;
}

static int soft_match(const struct rdmadp_device *device, const char *key, const char *value)
{
	static const struct match_rule rules[] = {
		{"driver", MATCH_DRIVER, driver_alias},
		{"node_guid", MATCH_GUID, NULL},
		{0},
	};

	return match_device(rules, device, key, value);
}

/* All software devices share one directory, so a number that is free again may be
 * another one's by now: *ret_name is whose it is. */
static bool is_taken_over(const struct instance *instance, const struct rdmadp_device *device,
			  char name[SYSFS_TEXT])
{
	for (uint32_t i = 0; i < device->n_nodes; i++)
		if (device->nodes[i]->kind == RDMADP_NODE_UVERBS && device->nodes[i]->sysfs_dir &&
		    sysfs_read_in(&instance->sysfs, device->nodes[i]->sysfs_dir, "ibdev", name))
			return strcmp(name, device->id) != 0;
	return false;
}

static int soft_health(void *data, const struct rdmadp_device *device, struct rdmadp_health *ret)
{
	const struct instance *instance = data;
	char path[SYSFS_PATH];
	char name[SYSFS_TEXT];

	snprintf(path, sizeof(path), "class/infiniband/%s", device->id);
	if (sysfs_is_gone(&instance->sysfs, path))
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "'%s' does not exist",
			   device->id);
	else if (is_taken_over(instance, device, name))
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_FILES,
			   "its uverbs device belongs to '%s' by now", name);
	else
		health_judge(&instance->sysfs, device, NULL, ret);
	return 0;
}

static const char *const keys[] = {"driver", "node_guid", NULL};

const struct rdmadp_backend rdmadp_backend_v1 = {
	.size = sizeof(struct rdmadp_backend),
	.name = "soft",
	.version = "1",
	.keys = keys,
	.init = instance_init,
	.fini = instance_fini,
	.discover = soft_discover,
	.match = soft_match,
	.health = soft_health,
};
