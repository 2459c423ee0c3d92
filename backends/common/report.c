/* SPDX-License-Identifier: Apache-2.0 */
#include "common/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

#define MAX_NUMA 65535
#define NODES_DIR "devices/system/node"

void report_begin(struct report *report, struct scan *scan, const char *id, const char *identity)
{
	*report = (struct report){.scan = scan};
	report->device.size = sizeof(report->device);
	report->device.id = id;
	report->device.identity = identity;
	report->device.numa_node = -1;
}

static void add_attribute(struct report *report, const char *key, const char *value)
{
	struct arena *arena = &report->scan->arena;
	struct rdmadp_attribute *attribute = arena_alloc(arena, sizeof(*attribute));

	if (attribute) {
		attribute->size = sizeof(*attribute);
		attribute->key = key;
		attribute->value = arena_strdup(arena, value);
	}
	if (!attribute || !attribute->value || list_add(arena, &report->attributes, attribute) < 0)
		report->error = -ENOMEM;
}

void report_attribute(struct report *report, const char *key, const char *value)
{
	if (value && report->error == 0)
		add_attribute(report, key, value);
}

void report_text(struct report *report, const char *dir, const char *file, const char *key)
{
	char text[SYSFS_TEXT];

	if (sysfs_read_in(report->scan->sysfs, dir, file, text))
		report_attribute(report, key, text);
}

void report_id_value(struct report *report, const char *file, const char *key,
		     const struct sysfs_value *value)
{
	struct sysfs *sysfs = report->scan->sysfs;
	char id[TEXT_ID];

	if (value->result == 0 && text_hex_id(value->text, id))
		report_attribute(report, key, id);
	else if (value->result == 0)
		sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
			       "'%s': attribute '%s' is '%s', not hexadecimal: left out",
			       report->device.id, file, value->text);
	else if (value->result != -ENOENT)
		sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
			       "'%s': attribute '%s' cannot be read (%s): left out",
			       report->device.id, file, strerror(-value->result));
}

static struct sysfs_value fetch(struct report *report, const char *dir, const char *file)
{
	return sysfs_fetch(report->scan->sysfs, dir, file, &report->scan->arena);
}

void report_id(struct report *report, const char *dir, const char *file, const char *key)
{
	struct sysfs_value value = fetch(report, dir, file);

	report_id_value(report, file, key, &value);
}

/* Firmware can name a node that the machine does not have. */
static bool has_node(struct scan *scan, uint32_t node)
{
	uint64_t bit = node < 64 ? UINT64_C(1) << node : 0;
	char path[64];

	if (scan->numa_nodes & bit)
		return true;
	snprintf(path, sizeof(path), NODES_DIR "/node%u", (unsigned int)node);
	if (!sysfs_exists(scan->sysfs, path) && sysfs_exists(scan->sysfs, NODES_DIR))
		return false;
	scan->numa_nodes |= bit;
	return true;
}

void report_numa_value(struct report *report, const struct sysfs_value *value)
{
	uint32_t node;

	if (!text_unsigned(value->text, 10, &node) || node > MAX_NUMA)
		return;
	if (has_node(report->scan, node))
		report->device.numa_node = (int32_t)node;
	else
		sysfs_say_once(report->scan->sysfs, RDMADP_LOG_WARNING,
			       "'%s': its NUMA node %u is none of this machine's: left out",
			       report->device.id, (unsigned int)node);
}

void report_numa(struct report *report, const char *dir)
{
	struct sysfs_value value = fetch(report, dir, "numa_node");

	report_numa_value(report, &value);
}

void report_adapter(struct report *report, const struct adapter *adapter)
{
	struct rdmadp_device *device = &report->device;

	device->n_rdma_devices = adapter->rdma.n;
	device->rdma_devices = (const struct rdmadp_rdma_device *const *)adapter->rdma.items;
	device->n_netdevs = adapter->nets.n;
	device->netdevs = (const struct rdmadp_netdev *const *)adapter->nets.items;
	device->n_nodes = adapter->nodes.n;
	device->nodes = (const struct rdmadp_node *const *)adapter->nodes.items;
	if (adapter->rdma_elsewhere || adapter->net_elsewhere)
		device->flags |= RDMADP_DEVICE_ELSEWHERE;
}

int report_emit(struct report *report, rdmadp_emit_fn emit, void *sink)
{
	if (report->error < 0)
		return report->error;
	report->device.n_attributes = report->attributes.n;
	report->device.attributes =
		(const struct rdmadp_attribute *const *)report->attributes.items;
	return emit(sink, &report->device);
}
