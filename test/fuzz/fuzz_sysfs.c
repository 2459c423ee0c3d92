/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes with any content. The input is cut at each byte 0xff; the pieces become, in
 * this order, the contents of the files below. Whatever they hold, each scan succeeds,
 * each device keeps the contract, has the attributes that it reports, and has a health.
 */
#include <errno.h>
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "edge/module.h"
#include "model/device.h"
#include "support/fixture.h"
#include "support/fixture_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PCI "sys/devices/pci0000:00/0000:3b:00.0"
#define UB "sys/devices/ub0/0000f"
#define SOFT "sys/devices/virtual"

static const char *const files[] = {
	PCI "/class",
	PCI "/vendor",
	PCI "/device",
	PCI "/numa_node",
	PCI "/sriov_numvfs",
	PCI "/infiniband/mlx5_0/ports/1/link_layer",
	PCI "/infiniband/mlx5_0/ports/1/state",
	PCI "/infiniband_verbs/uverbs0/ibdev",
	PCI "/infiniband_verbs/uverbs0/dev",
	PCI "/infiniband_mad/umad0/port",
	PCI "/net/eth0/type",
	PCI "/net/eth0/phys_port_name",
	PCI "/net/eth0/phys_switch_id",
	PCI "/mlx5_core.sf.4/sfnum",
	UB "/class_code",
	UB "/vendor",
	UB "/device",
	UB "/type",
	UB "/guid",
	UB "/eid",
	UB "/entity_idx",
	SOFT "/infiniband/rxe0/parent",
	SOFT "/infiniband/rxe0/node_type",
	SOFT "/infiniband/rxe0/node_guid",
	SOFT "/misc/rdma_cm/dev",
};

static const char machine[] = "rdma_cm\n"
			      "pci 0000:3b:00.0 driver=mlx5_core sriov_numvfs=1\n"
			      "pci 0000:3b:00.1 driver=mlx5_core\n"
			      "vf 0000:3b:00.1 0000:3b:00.0 0\n"
			      "aux mlx5_core.sf.4 0000:3b:00.0 sfnum=1\n"
			      "net 0000:3b:00.0 eth0\n"
			      "ib 0000:3b:00.0 mlx5_0\n"
			      "uverbs 0000:3b:00.0 0 mlx5_0\n"
			      "umad 0000:3b:00.0 0 mlx5_0 1\n"
			      "ub 0000f guid=1 driver=hisdk5\n"
			      "ib 0000f hrn5_0\n"
			      "uverbs 0000f 1 hrn5_0\n"
			      "ib virtual rxe0 parent=eth0\n"
			      "uverbs virtual 2 rxe0\n";

static const char *const names[] = {"pci", "ub", "soft"};
static const struct rdmadp_backend *backends[G_N_ELEMENTS(names)];
static char *root, *sysfs_root;

static void tear_down(void)
{
	fixture_remove(root);
	g_free(root);
	g_free(sysfs_root);
}

static void set_up(void)
{
	root = fixture_new(machine);
	sysfs_root = g_build_filename(root, "sys", NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GError) error = NULL;

		backends[i] = module_load(BACKEND_DIR, names[i], &error);
		if (!backends[i])
			g_error("%s", error->message);
	}
	atexit(tear_down);
}

static void write_file(const char *file, const uint8_t *bytes, size_t length)
{
	g_assert_true(fixture_put_bytes(root, file, (const char *)bytes, length, NULL));
}

static void write_files(const uint8_t *data, size_t size)
{
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		const uint8_t *end = size ? memchr(data, 0xff, size) : NULL;
		size_t length = end ? (size_t)(end - data) : size;
		size_t used = end ? length + 1 : length;

		write_file(files[i], data, length);
		data += used;
		size -= used;
	}
}

static void log_check(const struct rdmadp_host *host, int level, const char *message)
{
	(void)host;
	(void)level;
	g_assert_true(g_utf8_validate(message, -1, NULL));
	g_assert_null(strchr(message, '\n'));
}

struct scan {
	const struct rdmadp_backend *backend;
	GPtrArray *devices;
};

static int take(void *sink, const struct rdmadp_device *reported)
{
	struct scan *scan = sink;
	g_autoptr(GError) error = NULL;
	Device *device = device_copy(reported, &error);

	if (!device)
		g_error("%s", error->message);
	g_ptr_array_add(scan->devices, device);
	for (guint32 i = 0; i < reported->n_attributes; i++)
		g_assert_cmpint(scan->backend->match(reported, reported->attributes[i]->key,
						     reported->attributes[i]->value),
				>=, -EINVAL);
	return 0;
}

static void check_health(const struct rdmadp_backend *backend, void *instance,
			 const struct rdmadp_device *device)
{
	struct rdmadp_health health = {.size = sizeof(health)};

	g_assert_cmpint(backend->health(instance, device, &health), ==, 0);
	g_assert_cmpint(health.state, <=, RDMADP_UNHEALTHY);
	g_assert_true(g_utf8_validate(health.text, -1, NULL));
}

static void scan_once(const struct rdmadp_backend *backend)
{
	const struct rdmadp_host host = {sizeof(host), 0, sysfs_root, "/nonexistent", log_check};
	g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	struct scan scan = {backend, devices};
	void *instance;

	g_assert_cmpint(backend->init(&host, &instance), ==, 0);
	g_assert_cmpint(backend->discover(instance, take, &scan), ==, 0);
	for (guint i = 0; i < devices->len; i++)
		check_health(backend, instance, device_abi(devices->pdata[i]));
	backend->fini(instance);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!root)
		set_up();
	write_files(data, size);
	for (gsize i = 0; i < G_N_ELEMENTS(backends); i++)
		scan_once(backends[i]);
	return 0;
}
