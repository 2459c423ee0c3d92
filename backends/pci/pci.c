/* SPDX-License-Identifier: Apache-2.0 */
/* The backend 'pci': functions with network class, and whatever else does RDMA. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/health.h"
#include "common/instance.h"
#include "common/match.h"
#include "common/report.h"
#include "common/text.h"
#include "pci/drivers.h"
#include "pci/function.h"
#include "pci/note.h"
#include "pci/subfunction.h"

/* "pci0000:3a", not "pcie@40000000" or other parts that stand before it. */
static bool is_root(const char *part)
{
	size_t digits;

	if (strncmp(part, "pci", 3) != 0)
		return false;
	digits = strspn(part + 3, "0123456789abcdef");
	return digits >= 4 && part[3 + digits] == ':';
}

/* "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0": root and what is below it. */
static void report_pcie(struct report *report, const char *dir)
{
	const char *slash = strchr(dir, '/');
	const char *path;

	while (slash && !is_root(slash + 1))
		slash = strchr(slash + 1, '/');
	path = slash ? strchr(slash + 1, '/') : NULL;
	if (!path)
		return;
	report->device.pcie_root =
		arena_strndup(&report->scan->arena, slash + 1, (size_t)(path - slash - 1));
	report->device.pcie_path = path + 1;
}

static void report_facts(struct report *report, const struct facts *facts, const char *dir)
{
	for (int i = 0; i < FACTS_IDS; i++)
		report_id_value(report, facts_id_names[i], facts_id_names[i], &facts->ids[i]);
	report_numa_value(report, &facts->numa_node);
	report_pcie(report, dir);
}

/* The names of the physical function's own interfaces, by which pfNames selects. */
static void report_pf_names(struct report *report, const struct function *pf)
{
	for (uint32_t i = 0; pf && i < pf->n_own_nets; i++) {
		const struct rdmadp_netdev *net = pf->adapter.nets.items[i];

		if (net->flags == 0)
			report_attribute(report, "pf_name", net->name);
	}
}

/* Whose ports its health follows; not always those of the parent. */
static void report_uplink(struct report *report, const struct function *parent)
{
	if (parent)
		report_attribute(report, "uplink", function_uplink(parent));
}

/* Containers whose rdma-core does not know the driver's version find no device, and do not
 * say why. */
static void say_abi(struct pci_scan *pci, const struct function *function)
{
	const char *usual = drivers_uverbs_abi(drivers_rdma_of(function->facts.driver));
	char version[SYSFS_TEXT];

	for (uint32_t i = 0; usual && i < function->adapter.nodes.n; i++) {
		const struct rdmadp_node *node = function->adapter.nodes.items[i];

		if (node->kind == RDMADP_NODE_UVERBS &&
		    sysfs_read_in(pci->scan.sysfs, node->sysfs_dir, "abi_version", version) &&
		    strcmp(version, usual) != 0)
			sysfs_say_once(pci->scan.sysfs, RDMADP_LOG_INFO,
				       "'%s': %s has version %s of the driver's ABI, not %s as in "
				       "the kernel: containers need the rdma-core of this driver",
				       function->id, node->rdma_device, version, usual);
	}
}

static int emit_function(struct pci_scan *pci, const struct function *function, rdmadp_emit_fn emit,
			 void *sink)
{
	struct report report;

	report_begin(&report, &pci->scan, function->id, function->id);
	report.device.driver = function->facts.driver;
	report.device.parent_id = function->facts.physfn;
	report.device.note = function_note(pci, function);
	report.device.flags |= function->facts.physfn ? RDMADP_DEVICE_VF : 0;
	report.device.flags |= function->has_vfs ? RDMADP_DEVICE_PF : 0;
	report_facts(&report, &function->facts, function->dir);
	report_attribute(&report, "class", function->class);
	report_attribute(&report, "physfn", function->facts.physfn);
	report_pf_names(&report, function->pf);
	report_uplink(&report, function->pf);
	report_attribute(&report, "vf_index", function->vf_index);
	report_attribute(&report, "sriov_numvfs", function->numvfs);
	report_adapter(&report, &function->adapter);
	say_abi(pci, function);
	return report_emit(&report, emit, sink);
}

static int emit_subfunction(struct pci_scan *pci, const struct subfunction *sub,
			    rdmadp_emit_fn emit, void *sink)
{
	const char *identity = sub->id;
	struct report report;

	if (sub->number)
		identity = arena_printf(&pci->scan.arena, "%s/sf%s", sub->parent, sub->number);
	if (!identity)
		return -ENOMEM;
	report_begin(&report, &pci->scan, sub->id, identity);
	report.device.driver = sub->driver;
	report.device.parent_id = sub->parent;
	if (!adapter_usable_rdma(&sub->adapter))
		report.device.note = sub->driver ? "the sub-function has no RDMA device"
						 : "no driver is bound to the sub-function";
	report_facts(&report, sub->parent_facts, sub->parent_dir);
	report_pf_names(&report, function_named(pci, sub->parent));
	report_uplink(&report, function_named(pci, sub->parent));
	report_attribute(&report, "sfnum", sub->number);
	report_adapter(&report, &sub->adapter);
	return report_emit(&report, emit, sink);
}

static int emit_all(struct pci_scan *pci, rdmadp_emit_fn emit, void *sink)
{
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < pci->functions.n; i++)
		result = emit_function(pci, pci->functions.items[i], emit, sink);
	for (uint32_t i = 0; result == 0 && i < pci->subfunctions.n; i++)
		result = emit_subfunction(pci, pci->subfunctions.items[i], emit, sink);
	return result;
}

static int pci_discover(void *data, rdmadp_emit_fn emit, void *sink)
{
	struct instance *instance = data;
	struct pci_scan pci = {0};
	int result = scan_begin(&pci.scan, &instance->sysfs);

	if (result == 0)
		result = functions_find(&pci);
	if (result == 0)
		result = subfunctions_read(&pci);
	if (result == 0)
		result = functions_read(&pci);
	if (result == 0)
		result = subfunctions_complete(&pci);
	if (result == 0)
		result = port_probe_run(&instance->probe, &instance->sysfs, &pci.scan.port_reads);
	if (result == 0)
		result = emit_all(&pci, emit, sink);
	return scan_end(&pci.scan, result);
}

static int pci_match(const struct rdmadp_device *device, const char *key, const char *value)
{
	static const struct match_rule rules[] = {
		{"vendor", MATCH_HEX, NULL},
		{"device", MATCH_HEX, NULL},
		{"subsystem_vendor", MATCH_HEX, NULL},
		{"subsystem_device", MATCH_HEX, NULL},
		{"class", MATCH_HEX, NULL},
		{"driver", MATCH_DRIVER, drivers_alias},
		{"physfn", MATCH_TEXT, NULL},
		{"pf_name", MATCH_TEXT, NULL},
		{"uplink", MATCH_TEXT, NULL},
		{"vf_index", MATCH_DECIMAL, NULL},
		{"sriov_numvfs", MATCH_DECIMAL, NULL},
		{"sfnum", MATCH_DECIMAL, NULL},
		{0},
	};

	return match_device(rules, device, key, value);
}

/* Without the attribute, as in what an older version saved, the parent. */
static const char *uplink_of(const struct rdmadp_device *device)
{
	for (uint32_t i = 0; i < device->n_attributes; i++)
		if (strcmp(device->attributes[i]->key, "uplink") == 0)
			return device->attributes[i]->value;
	return device->parent_id;
}

static int pci_health(void *data, const struct rdmadp_device *device, struct rdmadp_health *ret)
{
	const struct instance *instance = data;
	bool is_function = text_is_pci_address(device->id);
	char path[SYSFS_PATH];
	char uplink[SYSFS_PATH];
	bool has_uplink = false;

	snprintf(path, sizeof(path), "bus/%s/devices/%s", is_function ? "pci" : "auxiliary",
		 device->id);
	if (sysfs_is_gone(&instance->sysfs, path)) {
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "'%s' is not on the bus",
			   device->id);
		return 0;
	}
	if (device->parent_id) {
		snprintf(path, sizeof(path), "bus/pci/devices/%s", uplink_of(device));
		has_uplink = sysfs_resolve(&instance->sysfs, path, uplink) == 0;
	}
	health_judge(&instance->sysfs, device, has_uplink ? uplink : NULL, ret);
	return 0;
}

static const char *const keys[] = {
	"vendor",  "device", "subsystem_vendor", "subsystem_device", "class", "driver", "physfn",
	"pf_name", "uplink", "vf_index",	 "sriov_numvfs",     "sfnum", NULL,
};

const struct rdmadp_backend rdmadp_backend_v1 = {
	.size = sizeof(struct rdmadp_backend),
	.name = "pci",
	.version = "1",
	.keys = keys,
	.init = instance_init,
	.fini = instance_fini,
	.discover = pci_discover,
	.match = pci_match,
	.health = pci_health,
};
