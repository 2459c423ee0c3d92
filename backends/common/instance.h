/* SPDX-License-Identifier: Apache-2.0 */
/* What an instance of each bus keeps between two calls: no devices, only the way there. */
#pragma once

#include "common/port_probe.h"
#include "common/sysfs.h"

struct instance {
	struct sysfs sysfs;
	struct port_probe probe;
};

/* As rdmadp_backend.init and fini. */
int instance_init(const struct rdmadp_host *host, void **ret_instance);
void instance_fini(void *data);
