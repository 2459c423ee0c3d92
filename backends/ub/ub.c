/* SPDX-License-Identifier: Apache-2.0 */
/* The backend 'ub': network entities of Huawei's Unified Bus. */
#include <stdio.h>
#include <string.h>

#include "common/health.h"
#include "common/instance.h"
#include "common/match.h"
#include "common/report.h"
#include "common/text.h"
#include "ub/entity.h"
#include "ub/note.h"

/* Early kernels have no 'vendor': only one vendor makes the bus. */
#define VENDOR_ASSUMED "19e5"

static void report_vendor(struct report *report, const char *dir)
{
	char path[SYSFS_PATH];

	if (sysfs_join(path, dir, "vendor") && sysfs_exists(report->scan->sysfs, path)) {
		report_id(report, dir, "vendor", "vendor");
		return;
	}
	report_attribute(report, "vendor", VENDOR_ASSUMED);
	report_attribute(report, "vendor_assumed", "true");
}

static int emit_entity(struct ub_scan *ub, const struct entity *entity, rdmadp_emit_fn emit,
		       void *sink)
{
	const char *identity = entity_identity(ub, entity);
	struct report report;

	report_begin(&report, &ub->scan, entity->id, identity ? identity : entity->id);
	report.device.driver = entity->driver;
	report.device.note = entity_note(ub, entity);
	report_vendor(&report, entity->dir);
	report_id(&report, entity->dir, "device", "device");
	report_id(&report, entity->dir, "class_code", "class_code");
	report_text(&report, entity->dir, "type", "type");
	report_attribute(&report, "guid", entity->guid);
	report_text(&report, entity->dir, "eid", "eid");
	report_text(&report, entity->dir, "entity_idx", "entity_idx");
	report_numa(&report, entity->dir);
	report_adapter(&report, &entity->adapter);
	return report_emit(&report, emit, sink);
}

static int ub_discover(void *data, rdmadp_emit_fn emit, void *sink)
{
	struct instance *instance = data;
	struct ub_scan ub = {0};
	int result = scan_begin(&ub.scan, &instance->sysfs);

	if (result == 0)
		result = entities_read(&ub);
	if (result == 0)
		result = port_probe_run(&instance->probe, &instance->sysfs, &ub.scan.port_reads);
	for (uint32_t i = 0; result == 0 && i < ub.entities.n; i++)
		result = emit_entity(&ub, ub.entities.items[i], emit, sink);
	return scan_end(&ub.scan, result);
}

/* Its RDMA driver has not been seen under another name than these. */
static const char *driver_alias(const char *name)
{
	return strcmp(name, "hiroce5") == 0 || strcmp(name, "hrn5") == 0 ? "hisdk5" : NULL;
}

static int ub_match(const struct rdmadp_device *device, const char *key, const char *value)
{
	static const struct match_rule rules[] = {
		{"vendor", MATCH_HEX, NULL},	      {"device", MATCH_HEX, NULL},
		{"class_code", MATCH_HEX, NULL},      {"type", MATCH_HEX, NULL},
		{"guid", MATCH_GUID, NULL},	      {"eid", MATCH_DECIMAL, NULL},
		{"entity_idx", MATCH_DECIMAL, NULL},  {"driver", MATCH_DRIVER, driver_alias},
		{"vendor_assumed", MATCH_TEXT, NULL}, {0},
	};

	return match_device(rules, device, key, value);
}

static const char *attribute(const struct rdmadp_device *device, const char *key)
{
	for (uint32_t i = 0; i < device->n_attributes; i++)
		if (strcmp(device->attributes[i]->key, key) == 0)
			return device->attributes[i]->value;
	return NULL;
}

/* The bus gives the id of an entity that is gone to the next one that comes. */
static bool is_another(const struct instance *instance, const struct rdmadp_device *device)
{
	const char *guid = attribute(device, "guid");
	char path[SYSFS_PATH];
	char seen[SYSFS_TEXT];

	snprintf(path, sizeof(path), "bus/ub/devices/%s/guid", device->id);
	return guid && sysfs_read(&instance->sysfs, SYSFS_WAIT, path, seen, sizeof(seen)) == 0 &&
	       text_is_guid(seen) && strcmp(seen, guid) != 0;
}

static int ub_health(void *data, const struct rdmadp_device *device, struct rdmadp_health *ret)
{
	const struct instance *instance = data;
	char path[SYSFS_PATH];

	snprintf(path, sizeof(path), "bus/ub/devices/%s", device->id);
	if (sysfs_is_gone(&instance->sysfs, path))
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "'%s' is not on the bus",
			   device->id);
	else if (is_another(instance, device))
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_GONE,
			   "'%s' is another entity by now", device->id);
	else
		health_judge(&instance->sysfs, device, NULL, ret);
	return 0;
}

static const char *const keys[] = {
	"vendor", "vendor_assumed", "device", "class_code", "type", "guid",
	"eid",	  "entity_idx",	    "driver", NULL,
};

const struct rdmadp_backend rdmadp_backend_v1 = {
	.size = sizeof(struct rdmadp_backend),
	.name = "ub",
	.version = "1",
	.keys = keys,
	.init = instance_init,
	.fini = instance_fini,
	.discover = ub_discover,
	.match = ub_match,
	.health = ub_health,
};
