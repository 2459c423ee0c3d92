/* SPDX-License-Identifier: Apache-2.0 */
/* What we receive, checked. messages.c has what we send. */
#include "kubelet/messages.h"

#include <string.h>

#include "deviceplugin.pb-c.h"
#include "kubelet/decode.h"
#include "pluginregistration.pb-c.h"
#include "podresources.pb-c.h"

/* Ours are at most 320 bytes; longer ones are only turned away, not looked up. */
#define MAX_ID_LENGTH 512

G_DEFINE_QUARK(rdmadp - messages - error, messages_error)

static void set_malformed(GError **error, const char *what, GBytes *bytes)
{
	g_set_error(error, MESSAGES_ERROR, MESSAGES_ERROR_MALFORMED,
		    "the %" G_GSIZE_FORMAT " bytes received are no valid %s",
		    g_bytes_get_size(bytes), what);
}

static gboolean set_bad_id(GError **error, const char *problem, const char *id)
{
	g_autofree char *start = g_strndup(id, 64);
	g_autofree char *readable = g_utf8_make_valid(start, -1);
	g_autofree char *escaped = g_strescape(readable, NULL);

	g_set_error(error, MESSAGES_ERROR, MESSAGES_ERROR_ID, "device id '%s' %s", escaped,
		    problem);
	return FALSE;
}

static gboolean check_id(const char *id, GError **error)
{
	if (!decode_string_is_whole(id))
		return set_bad_id(error, "continues after a NUL byte", id);
	if (id[0] == '\0')
		return set_bad_id(error, "is empty", id);
	if (strlen(id) > MAX_ID_LENGTH)
		return set_bad_id(error, "is too long to be one of ours", id);
	if (!g_utf8_validate(id, -1, NULL))
		return set_bad_id(error, "is not valid UTF-8", id);
	return TRUE;
}

/* A NULL-terminated copy; NULL if an id is bad. */
static GStrv copy_ids(char *const *ids, gsize n_ids, GError **error)
{
	g_autoptr(GPtrArray) copy = g_ptr_array_new_full((guint)n_ids + 1, g_free);

	for (gsize i = 0; i < n_ids; i++) {
		if (!check_id(ids[i], error))
			return NULL;
		g_ptr_array_add(copy, g_strdup(ids[i]));
	}
	g_ptr_array_add(copy, NULL);
	return (GStrv)g_ptr_array_free(g_steal_pointer(&copy), FALSE);
}

static void strv_free(gpointer strv)
{
	g_strfreev(strv);
}

static GPtrArray *copy_allocate(const V1beta1__AllocateRequest *request, GError **error)
{
	g_autoptr(GPtrArray) containers = g_ptr_array_new_with_free_func(strv_free);

	for (gsize i = 0; i < request->n_container_requests; i++) {
		const V1beta1__ContainerAllocateRequest *from = request->container_requests[i];
		GStrv ids = copy_ids(from->devices_ids, from->n_devices_ids, error);

		if (!ids)
			return NULL;
		g_ptr_array_add(containers, ids);
	}
	return g_steal_pointer(&containers);
}

GPtrArray *messages_unpack_allocate(GBytes *bytes, GError **error)
{
	struct decode_budget budget;
	V1beta1__AllocateRequest *request =
		decode_message(&budget, &v1beta1__allocate_request__descriptor, bytes);
	GPtrArray *containers;

	if (!request) {
		set_malformed(error, "AllocateRequest", bytes);
		return NULL;
	}
	containers = copy_allocate(request, error);
	decode_free(&budget, request);
	return containers;
}

static void preference_free(gpointer data)
{
	struct preference *preference = data;

	g_strfreev(preference->available);
	g_strfreev(preference->must);
	g_free(preference);
}

static gboolean copy_preference(const V1beta1__ContainerPreferredAllocationRequest *from,
				struct preference *preference, GError **error)
{
	preference->available =
		copy_ids(from->available_deviceids, from->n_available_deviceids, error);
	if (!preference->available)
		return FALSE;
	preference->must =
		copy_ids(from->must_include_deviceids, from->n_must_include_deviceids, error);
	preference->size = from->allocation_size;
	return preference->must != NULL;
}

static GPtrArray *copy_preferences(const V1beta1__PreferredAllocationRequest *request,
				   GError **error)
{
	g_autoptr(GPtrArray) containers = g_ptr_array_new_with_free_func(preference_free);

	for (gsize i = 0; i < request->n_container_requests; i++) {
		struct preference *preference = g_new0(struct preference, 1);

		g_ptr_array_add(containers, preference);
		if (!copy_preference(request->container_requests[i], preference, error))
			return NULL;
	}
	return g_steal_pointer(&containers);
}

GPtrArray *messages_unpack_preferred(GBytes *bytes, GError **error)
{
	struct decode_budget budget;
	V1beta1__PreferredAllocationRequest *request =
		decode_message(&budget, &v1beta1__preferred_allocation_request__descriptor, bytes);
	GPtrArray *containers;

	if (!request) {
		set_malformed(error, "PreferredAllocationRequest", bytes);
		return NULL;
	}
	containers = copy_preferences(request, error);
	decode_free(&budget, request);
	return containers;
}

gboolean messages_unpack_status(GBytes *bytes, char **ret_refusal, GError **error)
{
	struct decode_budget budget;
	Pluginregistration__RegistrationStatus *status = decode_message(
		&budget, &pluginregistration__registration_status__descriptor, bytes);

	if (!status) {
		set_malformed(error, "RegistrationStatus", bytes);
		return FALSE;
	}
	*ret_refusal = status->plugin_registered ? NULL : g_utf8_make_valid(status->error, -1);
	decode_free(&budget, status);
	return TRUE;
}

void holding_free(gpointer data)
{
	struct holding *holding = data;

	g_free(holding->name_space);
	g_free(holding->pod);
	g_free(holding->container);
	g_free(holding->resource);
	g_ptr_array_unref(holding->ids);
	g_free(holding);
}

static struct holding *holding_new(const V1__PodResources *pod,
				   const V1__ContainerResources *container, const char *resource)
{
	struct holding *holding = g_new0(struct holding, 1);

	holding->name_space = g_utf8_make_valid(pod->namespace_, -1);
	holding->pod = g_utf8_make_valid(pod->name, -1);
	holding->container = g_utf8_make_valid(container->name, -1);
	holding->resource = g_utf8_make_valid(resource, -1);
	holding->ids = g_ptr_array_new_with_free_func(g_free);
	return holding;
}

static void copy_container(const V1__PodResources *pod, const V1__ContainerResources *container,
			   GPtrArray *holdings)
{
	g_autoptr(GHashTable) by_resource = g_hash_table_new(g_str_hash, g_str_equal);

	for (gsize i = 0; i < container->n_devices; i++) {
		const V1__ContainerDevices *devices = container->devices[i];
		struct holding *holding = g_hash_table_lookup(by_resource, devices->resource_name);

		if (!holding) {
			holding = holding_new(pod, container, devices->resource_name);
			g_hash_table_insert(by_resource, devices->resource_name, holding);
			g_ptr_array_add(holdings, holding);
		}
		for (gsize j = 0; j < devices->n_device_ids; j++)
			g_ptr_array_add(holding->ids,
					g_utf8_make_valid(devices->device_ids[j], -1));
	}
}

static void copy_pod(const V1__PodResources *pod, GPtrArray *holdings)
{
	for (gsize i = 0; i < pod->n_containers; i++)
		copy_container(pod, pod->containers[i], holdings);
}

GPtrArray *messages_unpack_pod_resources(GBytes *bytes, GError **error)
{
	struct decode_budget budget;
	V1__ListPodResourcesResponse *response =
		decode_message(&budget, &v1__list_pod_resources_response__descriptor, bytes);
	GPtrArray *holdings;

	if (!response) {
		set_malformed(error, "ListPodResourcesResponse", bytes);
		return NULL;
	}
	holdings = g_ptr_array_new_with_free_func(holding_free);
	for (gsize i = 0; i < response->n_pod_resources; i++)
		copy_pod(response->pod_resources[i], holdings);
	decode_free(&budget, response);
	return holdings;
}
