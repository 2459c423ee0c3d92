/* SPDX-License-Identifier: Apache-2.0 */
#include "model/allocation.h"

#include <string.h>

static void device_free(gpointer data)
{
	struct allocation_device *device = data;

	g_free(device->host_path);
	g_free(device->container_path);
	g_free(device);
}

static void mount_free(gpointer data)
{
	struct allocation_mount *mount = data;

	g_free(mount->host_path);
	g_free(mount->container_path);
	g_free(mount);
}

static void pair_free(gpointer data)
{
	struct allocation_pair *pair = data;

	g_free(pair->key);
	g_free(pair->value);
	g_free(pair);
}

static void grant_free(gpointer data)
{
	struct allocation_grant *grant = data;

	g_free(grant->id);
	g_free(grant->parent);
	g_free(grant->rdma_devices);
	g_free(grant->rdma_cm);
	g_free(grant->uverbs);
	g_free(grant->umad);
	g_free(grant->issm);
	g_free(grant);
}

Allocation *allocation_new(void)
{
	Allocation *allocation = g_new0(Allocation, 1);

	allocation->devices = g_ptr_array_new_with_free_func(device_free);
	allocation->mounts = g_ptr_array_new_with_free_func(mount_free);
	allocation->envs = g_ptr_array_new_with_free_func(pair_free);
	allocation->annotations = g_ptr_array_new_with_free_func(pair_free);
	allocation->cdi_names = g_ptr_array_new_with_free_func(g_free);
	allocation->grants = g_ptr_array_new_with_free_func(grant_free);
	return allocation;
}

void allocation_free(Allocation *allocation)
{
	if (allocation == NULL)
		return;
	g_ptr_array_unref(allocation->devices);
	g_ptr_array_unref(allocation->mounts);
	g_ptr_array_unref(allocation->envs);
	g_ptr_array_unref(allocation->annotations);
	g_ptr_array_unref(allocation->cdi_names);
	g_ptr_array_unref(allocation->grants);
	g_free(allocation);
}

void allocation_add_device(Allocation *allocation, const char *host_path)
{
	struct allocation_device *device = g_new0(struct allocation_device, 1);

	device->host_path = g_strdup(host_path);
	device->container_path = g_strdup(host_path);
	device->permissions = "rw";
	g_ptr_array_add(allocation->devices, device);
}

void allocation_add_mount(Allocation *allocation, const char *host_path, const char *container_path,
			  gboolean read_only)
{
	struct allocation_mount *mount = g_new0(struct allocation_mount, 1);

	mount->host_path = g_strdup(host_path);
	mount->container_path = g_strdup(container_path);
	mount->read_only = read_only;
	g_ptr_array_add(allocation->mounts, mount);
}

void allocation_add_env(Allocation *allocation, const char *key, const char *value)
{
	struct allocation_pair *pair = g_new0(struct allocation_pair, 1);

	pair->key = g_strdup(key);
	pair->value = g_strdup(value);
	g_ptr_array_add(allocation->envs, pair);
}

struct allocation_grant *allocation_add_grant(Allocation *allocation, const char *id)
{
	struct allocation_grant *grant = g_new0(struct allocation_grant, 1);

	grant->id = g_strdup(id);
	g_ptr_array_add(allocation->grants, grant);
	return grant;
}

static int device_order(gconstpointer a, gconstpointer b)
{
	const struct allocation_device *const *left = a, *const *right = b;

	return strcmp((*left)->host_path, (*right)->host_path);
}

static int grant_order(gconstpointer a, gconstpointer b)
{
	const struct allocation_grant *const *left = a, *const *right = b;

	return strcmp((*left)->id, (*right)->id);
}

static int pair_order(gconstpointer a, gconstpointer b)
{
	const struct allocation_pair *const *left = a, *const *right = b;

	return strcmp((*left)->key, (*right)->key);
}

void allocation_finish(Allocation *allocation)
{
	GPtrArray *devices = allocation->devices;

	g_ptr_array_sort(devices, device_order);
	for (guint i = devices->len; i > 1; i--)
		if (device_order(&devices->pdata[i - 1], &devices->pdata[i - 2]) == 0)
			g_ptr_array_remove_index(devices, i - 1);
	g_ptr_array_sort(allocation->grants, grant_order);
	g_ptr_array_sort(allocation->envs, pair_order);
	g_ptr_array_sort(allocation->annotations, pair_order);
}
