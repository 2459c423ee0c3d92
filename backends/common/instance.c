/* SPDX-License-Identifier: Apache-2.0 */
#include "common/instance.h"

#include <errno.h>
#include <stdlib.h>

int instance_init(const struct rdmadp_host *host, void **ret_instance)
{
	struct instance *instance = calloc(1, sizeof(*instance));
	int result;

	if (!instance)
		return -ENOMEM;
	result = sysfs_open(&instance->sysfs, host);
	if (result < 0) {
		free(instance);
		return result;
	}
	*ret_instance = instance;
	return 0;
}

void instance_fini(void *data)
{
	struct instance *instance = data;

	port_probe_end(&instance->probe);
	sysfs_close(&instance->sysfs);
	free(instance);
}
