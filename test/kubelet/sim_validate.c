/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_validate.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "kubelet/sim_names.h"

typedef V1beta1__ContainerAllocateResponse Container;

/* --- devices --- */

static gboolean permissions_are_valid(const char *permissions)
{
	return *permissions && strspn(permissions, "rwm") == strlen(permissions);
}

static void check_node(const char *dev_root, const char *path, GPtrArray *problems)
{
	struct stat info;
	if (!g_str_has_prefix(path, "/dev/")) {
		sim_problems_add(problems, "host-path", "device '%s' is not below /dev", path);
		return;
	}
	g_autofree char *real = g_build_filename(dev_root, path + strlen("/dev/"), NULL);
	if (stat(real, &info) != 0)
		sim_problems_add(problems, "host-path",
				 "device '%s': %s; the container's creation fails", real,
				 g_strerror(errno));
	else if (!S_ISCHR(info.st_mode))
		sim_problems_add(problems, "host-path", "device '%s' is not a character device",
				 real);
}

static void check_device(const V1beta1__DeviceSpec *device, const char *dev_root,
			 GPtrArray *problems)
{
	if (!g_path_is_absolute(device->host_path) || !g_path_is_absolute(device->container_path))
		sim_problems_add(problems, "device-path",
				 "device '%s' as '%s': both paths must be absolute",
				 device->host_path, device->container_path);
	else if (dev_root)
		check_node(dev_root, device->host_path, problems);
	if (!permissions_are_valid(device->permissions))
		sim_problems_add(problems, "permissions",
				 "device '%s' has permissions '%s': must be some of r, w and m, "
				 "empty means no access",
				 device->host_path, device->permissions);
}

/* --- the rest --- */

static void check_mount(const V1beta1__Mount *mount, GPtrArray *problems)
{
	if (!g_path_is_absolute(mount->host_path) || !g_path_is_absolute(mount->container_path))
		sim_problems_add(problems, "mount-path",
				 "mount of '%s' at '%s': both paths must be absolute",
				 mount->host_path, mount->container_path);
}

static void check_env(const V1beta1__ContainerAllocateResponse__EnvsEntry *env, GPtrArray *problems)
{
	if (!sim_name_is_env(env->key))
		sim_problems_add(problems, "env-name", "'%s' is no name of an environment variable",
				 env->key);
}

static void check_cdi(const V1beta1__CDIDevice *device, const struct sim_profile *profile,
		      GPtrArray *problems)
{
	if (!sim_name_is_cdi(device->name))
		sim_problems_add(problems, "cdi-name",
				 "'%s' is no CDI name (vendor.com/class=name): the container's "
				 "creation fails",
				 device->name);
	else if (!profile->cdi_field)
		sim_problems_add(problems, "cdi-unknown",
				 "CDI device '%s': this kubelet does not read the field",
				 device->name);
}

/* Repeated keys inside one answer: the first wins. */
static void check_repeated(const char *what, const char *key, const char *value, GHashTable *seen,
			   GPtrArray *problems)
{
	const char *before = g_hash_table_lookup(seen, key);
	if (!before)
		g_hash_table_insert(seen, (char *)key, (char *)value);
	else if (strcmp(before, value) != 0)
		sim_problems_add(problems, "conflict",
				 "%s '%s' is '%s' and '%s': the first wins silently", what, key,
				 before, value);
}

static void check_duplicates(const Container *container, GPtrArray *problems)
{
	g_autoptr(GHashTable) devices = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) mounts = g_hash_table_new(g_str_hash, g_str_equal);
	for (gsize i = 0; i < container->n_devices; i++)
		check_repeated("device", container->devices[i]->container_path,
			       container->devices[i]->host_path, devices, problems);
	for (gsize i = 0; i < container->n_mounts; i++)
		check_repeated("mount", container->mounts[i]->container_path,
			       container->mounts[i]->host_path, mounts, problems);
}

static void check_container(const Container *container, const struct sim_profile *profile,
			    const char *dev_root, GPtrArray *problems)
{
	for (gsize i = 0; i < container->n_devices; i++)
		check_device(container->devices[i], dev_root, problems);
	for (gsize i = 0; i < container->n_mounts; i++)
		check_mount(container->mounts[i], problems);
	for (gsize i = 0; i < container->n_envs; i++)
		check_env(container->envs[i], problems);
	for (gsize i = 0; i < container->n_cdi_devices; i++)
		check_cdi(container->cdi_devices[i], profile, problems);
	check_duplicates(container, problems);
}

void sim_validate_response(const SimAllocated *response, const struct sim_profile *profile,
			   const char *dev_root, GPtrArray *problems)
{
	if (response->n_container_responses == 0) {
		sim_problems_add(problems, "no-response",
				 "no container response: the pod is rejected and its devices stay "
				 "taken until the next clean-up");
		return;
	}
	if (response->n_container_responses > 1)
		sim_problems_add(problems, "extra-response",
				 "%zu container responses for one request: only the first is read",
				 response->n_container_responses);
	check_container(response->container_responses[0], profile, dev_root, problems);
}

void sim_validate_conflicts(const Container *first, const Container *second, GPtrArray *problems)
{
	g_autoptr(GHashTable) envs = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) devices = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) mounts = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) annotations = g_hash_table_new(g_str_hash, g_str_equal);
	const Container *const both[] = {first, second};
	for (gsize i = 0; i < G_N_ELEMENTS(both); i++) {
		for (gsize j = 0; j < both[i]->n_envs; j++)
			check_repeated("env", both[i]->envs[j]->key, both[i]->envs[j]->value, envs,
				       problems);
		for (gsize j = 0; j < both[i]->n_devices; j++)
			check_repeated("device", both[i]->devices[j]->container_path,
				       both[i]->devices[j]->host_path, devices, problems);
		for (gsize j = 0; j < both[i]->n_mounts; j++)
			check_repeated("mount", both[i]->mounts[j]->container_path,
				       both[i]->mounts[j]->host_path, mounts, problems);
		for (gsize j = 0; j < both[i]->n_annotations; j++)
			check_repeated("annotation", both[i]->annotations[j]->key,
				       both[i]->annotations[j]->value, annotations, problems);
	}
}
