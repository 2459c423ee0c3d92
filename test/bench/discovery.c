/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/discovery.h"

#include <dlfcn.h>
#include <rdmadp/backend.h>

static void log_nothing(const struct rdmadp_host *host, int level, const char *message)
{
	(void)host;
	(void)level;
	(void)message;
}

static int count(void *sink, const struct rdmadp_device *device)
{
	(void)device;
	++*(guint *)sink;
	return 0;
}

double discovery_ms(const char *backend, const char *sysfs_root, guint expected)
{
	const struct rdmadp_host host = {.size = sizeof(host),
					 .sysfs_root = sysfs_root,
					 .dev_root = "/nonexistent",
					 .log = log_nothing};
	void *object = dlopen(backend, RTLD_NOW | RTLD_LOCAL);
	const struct rdmadp_backend *ops = object ? dlsym(object, "rdmadp_backend_v1") : NULL;
	void *instance;
	guint found = 0;

	if (!ops || ops->init(&host, &instance) < 0)
		g_error("cannot use the backend '%s': %s", backend, object ? "" : dlerror());
	gint64 began_us = g_get_monotonic_time();
	int result = ops->discover(instance, count, &found);
	gint64 ended_us = g_get_monotonic_time();

	if (result != 0 || found != expected)
		g_error("'%s' found %u devices instead of %u (result %d)", backend, found, expected,
			result);
	ops->fini(instance);
	dlclose(object);
	return (double)(ended_us - began_us) / 1000;
}
