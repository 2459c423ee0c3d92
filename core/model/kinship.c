/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kinship.h"

#include <string.h>

/* From a sub-function over its virtual function to the physical one. */
#define MAX_LEVELS 3

static gboolean has_interface(const Device *device, const char *name)
{
	const struct rdmadp_device *abi = device_abi(device);

	for (guint32 i = 0; i < abi->n_netdevs; i++)
		if (strcmp(abi->netdevs[i]->name, name) == 0)
			return TRUE;
	return FALSE;
}

static const Device *find(GPtrArray *devices, const char *id)
{
	for (guint i = 0; i < devices->len; i++)
		if (strcmp(device_id(g_ptr_array_index(devices, i)), id) == 0)
			return g_ptr_array_index(devices, i);
	return NULL;
}

gboolean kinship_depends_on(GPtrArray *devices, const Device *device, const char *interface)
{
	for (guint level = 0; device != NULL && level < MAX_LEVELS; level++) {
		const char *parent = device_abi(device)->parent_id;

		if (has_interface(device, interface))
			return TRUE;
		device = parent == NULL ? NULL : find(devices, parent);
	}
	return FALSE;
}
