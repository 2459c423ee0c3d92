/* SPDX-License-Identifier: Apache-2.0 */
#include "model/device.h"

#include <string.h>

#include "model/device_layout.h"

struct device {
	gatomicrefcount refs;
	struct rdmadp_device abi; /* everything that it points to is in the arena */
	struct device_arena arena;
};

G_DEFINE_QUARK(rdmadp - device - error - quark, device_error)

Device *device_copy(const struct rdmadp_device *reported, GError **error)
{
	g_autoptr(Device) device = g_new0(Device, 1);

	g_atomic_ref_count_init(&device->refs);
	device_arena_init(&device->arena);
	if (!device_layout_copy(&device->arena, reported, &device->abi, error))
		return NULL;
	return g_steal_pointer(&device);
}

Device *device_copy_as(const Device *device, const char *identity)
{
	struct rdmadp_device abi = device->abi;

	abi.identity = identity;
	return device_copy(&abi, NULL);
}

Device *device_ref(Device *device)
{
	g_atomic_ref_count_inc(&device->refs);
	return device;
}

void device_unref(Device *device)
{
	if (device == NULL || !g_atomic_ref_count_dec(&device->refs))
		return;
	device_arena_clear(&device->arena);
	g_free(device);
}

const struct rdmadp_device *device_abi(const Device *device)
{
	return &device->abi;
}

const char *device_id(const Device *device)
{
	return device->abi.id;
}

const char *device_identity(const Device *device)
{
	return device->abi.identity;
}

const char *device_attribute(const Device *device, const char *key)
{
	for (guint32 i = 0; i < device->abi.n_attributes; i++)
		if (strcmp(device->abi.attributes[i]->key, key) == 0)
			return device->abi.attributes[i]->value;
	return NULL;
}

gboolean device_equal(const Device *a, const Device *b)
{
	return a == b || device_layout_equal(&a->abi, &b->abi);
}

const char *device_link_name(guint32 link_layer)
{
	switch (link_layer) {
	case RDMADP_LINK_ETHERNET:
		return "ether";
	case RDMADP_LINK_INFINIBAND:
		return "infiniband";
	default:
		return "unknown";
	}
}

int device_compare(const Device *a, const Device *b)
{
	return strcmp(a->abi.id, b->abi.id);
}
