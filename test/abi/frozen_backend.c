/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend as somebody wrote it when version 1.0 came out, built with the header of
 * that day. It must load, serve and pass for ever. It may not be changed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdmadp-backend-1.0.h"

struct frozen {
	const struct rdmadp_host *host;
};

static int frozen_init(const struct rdmadp_host *host, void **ret_instance)
{
	struct frozen *frozen = calloc(1, sizeof(*frozen));

	if (!frozen)
		return -ENOMEM;
	frozen->host = host;
	host->log(host, RDMADP_LOG_DEBUG, "frozen in version 1.0");
	*ret_instance = frozen;
	return 0;
}

static void frozen_fini(void *instance)
{
	free(instance);
}

/* Its bus is there when <sysfs_root>/bus/frozen/present can be read. */
static int is_present(const struct frozen *frozen)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/bus/frozen/present", frozen->host->sysfs_root);
	file = fopen(path, "r");
	if (!file)
		return 0;
	fclose(file);
	return 1;
}

static int frozen_discover(void *instance, rdmadp_emit_fn emit, void *sink)
{
	const struct rdmadp_attribute vendor = {
		.size = sizeof(vendor), .key = "vendor", .value = "15b3"};
	const struct rdmadp_attribute eid = {.size = sizeof(eid), .key = "eid", .value = "7"};
	const struct rdmadp_attribute *const attributes[] = {&vendor, &eid};
	const struct rdmadp_port port = {.size = sizeof(port),
					 .number = 1,
					 .link_layer = RDMADP_LINK_INFINIBAND,
					 .state = RDMADP_PORT_ACTIVE};
	const struct rdmadp_port *const ports[] = {&port};
	const struct rdmadp_rdma_device rdma = {.size = sizeof(rdma),
						.name = "mlx5_0",
						.driver = "mlx5_ib",
						.n_ports = 1,
						.ports = ports};
	const struct rdmadp_rdma_device *const rdma_devices[] = {&rdma};
	const struct rdmadp_netdev net = {
		.size = sizeof(net), .name = "ib0", .link_layer = RDMADP_LINK_INFINIBAND};
	const struct rdmadp_netdev *const netdevs[] = {&net};
	const struct rdmadp_node uverbs = {.size = sizeof(uverbs),
					   .kind = RDMADP_NODE_UVERBS,
					   .name = "infiniband/uverbs0",
					   .rdma_device = "mlx5_0",
					   .dev_major = 231,
					   .dev_minor = 192};
	const struct rdmadp_node rdma_cm = {.size = sizeof(rdma_cm),
					    .kind = RDMADP_NODE_RDMA_CM,
					    .name = "infiniband/rdma_cm",
					    .dev_major = 10,
					    .dev_minor = 121};
	const struct rdmadp_node *const nodes[] = {&uverbs, &rdma_cm};
	const struct rdmadp_device device = {.size = sizeof(device),
					     .id = "frozen0",
					     .identity = "frozen0",
					     .driver = "frozen",
					     .numa_node = 1,
					     .n_attributes = 2,
					     .attributes = attributes,
					     .n_rdma_devices = 1,
					     .rdma_devices = rdma_devices,
					     .n_netdevs = 1,
					     .netdevs = netdevs,
					     .n_nodes = 2,
					     .nodes = nodes};

	return is_present(instance) ? emit(sink, &device) : 0;
}

/* "eid" is compared as a number. */
static int frozen_match(const struct rdmadp_device *device, const char *key, const char *value)
{
	for (uint32_t i = 0; i < device->n_attributes; i++) {
		const struct rdmadp_attribute *attribute = device->attributes[i];

		if (strcmp(attribute->key, key) != 0)
			continue;
		if (strcmp(key, "eid") == 0 ? atoi(attribute->value) == atoi(value)
					    : strcmp(attribute->value, value) == 0)
			return 1;
	}
	return 0;
}

static int frozen_health(void *instance, const struct rdmadp_device *device,
			 struct rdmadp_health *ret)
{
	int is_here = is_present(instance) && strcmp(device->id, "frozen0") == 0;

	ret->state = is_here ? RDMADP_HEALTHY : RDMADP_UNHEALTHY;
	ret->reason = is_here ? RDMADP_REASON_NONE : RDMADP_REASON_GONE;
	snprintf(ret->text, sizeof(ret->text), "%s", is_here ? "" : "it is not on the bus");
	return 0;
}

static const char *const keys[] = {"vendor", "eid", NULL};

const struct rdmadp_backend rdmadp_backend_v1 = {
	.size = sizeof(rdmadp_backend_v1),
	.name = "frozen",
	.version = "1.0",
	.keys = keys,
	.init = frozen_init,
	.fini = frozen_fini,
	.discover = frozen_discover,
	.match = frozen_match,
	.health = frozen_health,
};
