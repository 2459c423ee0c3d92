/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_answer.h"

#include <string.h>

#include "kubelet/sim_validate.h"

static json_t *devices_json(const V1beta1__ContainerAllocateResponse *container)
{
	json_t *devices = json_array();
	for (gsize i = 0; i < container->n_devices; i++)
		json_array_append_new(
			devices,
			json_pack("{s:o, s:o, s:o}", "host",
				  sim_json_text(container->devices[i]->host_path), "container",
				  sim_json_text(container->devices[i]->container_path),
				  "permissions",
				  sim_json_text(container->devices[i]->permissions)));
	return devices;
}

static json_t *mounts_json(const V1beta1__ContainerAllocateResponse *container)
{
	json_t *mounts = json_array();
	for (gsize i = 0; i < container->n_mounts; i++)
		json_array_append_new(mounts,
				      json_pack("{s:o, s:o, s:b}", "host",
						sim_json_text(container->mounts[i]->host_path),
						"container",
						sim_json_text(container->mounts[i]->container_path),
						"read_only", (int)container->mounts[i]->read_only));
	return mounts;
}

json_t *sim_answer_json(const V1beta1__ContainerAllocateResponse *container)
{
	json_t *envs = json_object(), *annotations = json_object(), *cdi = json_array();
	for (gsize i = 0; i < container->n_envs; i++)
		json_object_set_new(envs, container->envs[i]->key,
				    sim_json_text(container->envs[i]->value));
	for (gsize i = 0; i < container->n_annotations; i++)
		json_object_set_new(annotations, container->annotations[i]->key,
				    sim_json_text(container->annotations[i]->value));
	for (gsize i = 0; i < container->n_cdi_devices; i++)
		json_array_append_new(cdi, sim_json_text(container->cdi_devices[i]->name));
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "devices", devices_json(container), "mounts",
			 mounts_json(container), "envs", envs, "annotations", annotations,
			 "cdi_devices", cdi);
}

GBytes *sim_answer_pack(const V1beta1__ContainerAllocateResponse *container)
{
	gsize size = v1beta1__container_allocate_response__get_packed_size(container);
	guint8 *data = g_malloc(size + 1);
	v1beta1__container_allocate_response__pack(container, data);
	return g_bytes_new_take(data, size);
}

static void compare(const struct sim_grant *grant,
		    const V1beta1__ContainerAllocateResponse *container, GPtrArray *problems)
{
	gsize size;
	const guint8 *data = g_bytes_get_data(grant->response, &size);
	V1beta1__ContainerAllocateResponse *other =
		v1beta1__container_allocate_response__unpack(NULL, size, data);
	if (!other)
		return;
	sim_validate_conflicts(other, container, problems);
	v1beta1__container_allocate_response__free_unpacked(other, NULL);
}

void sim_answer_conflicts(const SimState *state, const char *pod, const char *container_name,
			  const V1beta1__ContainerAllocateResponse *container, GPtrArray *problems)
{
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		if (grant->response && strcmp(grant->pod, pod) == 0 &&
		    strcmp(grant->container, container_name) == 0)
			compare(grant, container, problems);
	}
}
