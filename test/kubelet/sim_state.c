/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_state.h"

#include <string.h>

/* --- sets --- */

GHashTable *sim_set_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static int compare_strings(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *sim_set_sorted(GHashTable *set)
{
	GPtrArray *members = g_ptr_array_sized_new(g_hash_table_size(set) + 1);
	GHashTableIter iter;
	gpointer key;
	g_hash_table_iter_init(&iter, set);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		g_ptr_array_add(members, key);
	g_ptr_array_sort(members, compare_strings);
	g_ptr_array_add(members, NULL);
	return members;
}

/* --- life --- */

static void resource_free(gpointer data)
{
	struct sim_resource *resource = data;
	g_free(resource->name);
	g_hash_table_unref(resource->devices);
	g_clear_pointer(&resource->healthy, g_hash_table_unref);
	g_hash_table_unref(resource->unhealthy);
	g_hash_table_unref(resource->taken);
	g_free(resource);
}

static void grant_free(gpointer data)
{
	struct sim_grant *grant = data;
	g_free(grant->pod);
	g_free(grant->container);
	g_free(grant->resource);
	g_strfreev(grant->ids);
	g_clear_pointer(&grant->response, g_bytes_unref);
	g_free(grant);
}

SimState *sim_state_new(const struct sim_profile *profile)
{
	SimState *state = g_new0(SimState, 1);
	state->profile = profile;
	state->resources = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, resource_free);
	state->grants = g_ptr_array_new_with_free_func(grant_free);
	state->node = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return state;
}

void sim_state_free(SimState *state)
{
	if (!state)
		return;
	g_hash_table_unref(state->resources);
	g_ptr_array_unref(state->grants);
	g_hash_table_unref(state->node);
	g_free(state);
}

static GHashTable *new_devices(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
				     (GDestroyNotify)sim_device_free);
}

static struct sim_resource *find_or_add(SimState *state, const char *name)
{
	struct sim_resource *resource = sim_state_find(state, name);
	if (resource)
		return resource;
	resource = g_new0(struct sim_resource, 1);
	resource->name = g_strdup(name);
	resource->devices = new_devices();
	resource->unhealthy = sim_set_new();
	resource->taken = sim_set_new();
	g_hash_table_insert(state->resources, resource->name, resource);
	return resource;
}

struct sim_resource *sim_state_find(const SimState *state, const char *resource)
{
	return g_hash_table_lookup(state->resources, resource);
}

GPtrArray *sim_state_names(const SimState *state)
{
	GPtrArray *names = sim_set_sorted(state->resources);
	g_ptr_array_set_size(names, (int)names->len - 1);
	return names;
}

/* --- what plugins do --- */

void sim_state_connected(SimState *state, const char *name)
{
	struct sim_resource *resource = find_or_add(state, name);
	resource->endpoint = TRUE;
	resource->stopped_us = 0;
}

static struct sim_device *device_dup(const struct sim_device *device)
{
	struct sim_device *copy = sim_device_new(device->id, device->health);
	copy->has_topology = device->has_topology;
	g_array_append_vals(copy->nodes, device->nodes->data, device->nodes->len);
	return copy;
}

static void empty_sets(struct sim_resource *resource)
{
	g_clear_pointer(&resource->healthy, g_hash_table_unref);
	resource->healthy = sim_set_new();
	g_hash_table_remove_all(resource->unhealthy);
	g_hash_table_remove_all(resource->devices);
}

void sim_state_update(SimState *state, const char *name, GPtrArray *devices)
{
	struct sim_resource *resource = find_or_add(state, name);
	empty_sets(resource);
	for (guint i = 0; i < devices->len; i++) {
		struct sim_device *device = device_dup(g_ptr_array_index(devices, i));
		gboolean is_healthy = strcmp(device->health, "Healthy") == 0;
		g_hash_table_add(is_healthy ? resource->healthy : resource->unhealthy,
				 g_strdup(device->id));
		g_hash_table_replace(resource->devices, device->id, device);
	}
}

void sim_state_stopped(SimState *state, const char *name, gint64 now_us)
{
	struct sim_resource *resource = find_or_add(state, name);
	resource->stopped_us = now_us;
	if (!resource->healthy)
		resource->healthy = sim_set_new();
	GHashTableIter iter;
	gpointer id;
	g_hash_table_iter_init(&iter, resource->healthy);
	while (g_hash_table_iter_next(&iter, &id, NULL)) {
		g_hash_table_add(resource->unhealthy, g_strdup(id));
		g_hash_table_iter_remove(&iter);
	}
}

static gboolean is_expired(const struct sim_resource *resource, gint64 now_us, gint64 grace_us)
{
	return resource->stopped_us != 0 && now_us - resource->stopped_us >= grace_us;
}

/* A resource of which containers still hold ids stays known, but not registered. */
static void forget_devices(struct sim_resource *resource)
{
	empty_sets(resource);
	g_clear_pointer(&resource->healthy, g_hash_table_unref);
	resource->endpoint = FALSE;
	resource->stopped_us = 0;
}

GPtrArray *sim_state_expire(SimState *state, gint64 now_us, gint64 grace_us)
{
	GPtrArray *gone = g_ptr_array_new_with_free_func(g_free);
	GHashTableIter iter;
	gpointer value;
	g_hash_table_iter_init(&iter, state->resources);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct sim_resource *resource = value;
		if (!is_expired(resource, now_us, grace_us))
			continue;
		g_ptr_array_add(gone, g_strdup(resource->name));
		if (g_hash_table_size(resource->taken) == 0)
			g_hash_table_iter_remove(&iter);
		else
			forget_devices(resource);
	}
	return gone;
}

void sim_state_remember(SimState *state, const char *name, gint64 now_us)
{
	struct sim_resource *resource = find_or_add(state, name);
	empty_sets(resource);
	resource->endpoint = TRUE;
	resource->stopped_us = now_us;
}

/* --- counting --- */

gsize sim_resource_allocatable(const struct sim_resource *resource)
{
	return resource->healthy ? g_hash_table_size(resource->healthy) : 0;
}

gsize sim_resource_capacity(const struct sim_resource *resource)
{
	return sim_resource_allocatable(resource) + g_hash_table_size(resource->unhealthy);
}

gsize sim_resource_free(const struct sim_resource *resource)
{
	gsize n = 0;
	GHashTableIter iter;
	gpointer id;
	if (!resource->healthy)
		return 0;
	g_hash_table_iter_init(&iter, resource->healthy);
	while (g_hash_table_iter_next(&iter, &id, NULL))
		n += !g_hash_table_contains(resource->taken, id);
	return n;
}

void sim_state_tick(SimState *state)
{
	GHashTableIter iter;
	gpointer key, value;
	g_hash_table_iter_init(&iter, state->node);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct sim_resource *resource = sim_state_find(state, key);
		if (!resource || !resource->healthy)
			*(struct sim_node_entry *)value = (struct sim_node_entry){0};
	}
	g_hash_table_iter_init(&iter, state->resources);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct sim_resource *resource = value;
		if (!resource->healthy)
			continue;
		struct sim_node_entry *entry = g_new0(struct sim_node_entry, 1);
		entry->capacity = sim_resource_capacity(resource);
		entry->allocatable = sim_resource_allocatable(resource);
		g_hash_table_replace(state->node, g_strdup(key), entry);
	}
}

/* --- who holds what --- */

static GStrv sorted_copy(const char *const *ids)
{
	GStrv copy = g_strdupv((char **)ids);
	qsort(copy, g_strv_length(copy), sizeof(*copy), compare_strings);
	return copy;
}

struct sim_grant *sim_state_grant(SimState *state, const char *pod, const char *container,
				  const char *resource, const char *const *ids)
{
	struct sim_grant *grant = g_new0(struct sim_grant, 1);
	grant->pod = g_strdup(pod);
	grant->container = g_strdup(container);
	grant->resource = g_strdup(resource);
	grant->ids = sorted_copy(ids);
	g_ptr_array_add(state->grants, grant);
	return grant;
}

gboolean sim_state_end_pod(SimState *state, const char *pod)
{
	gboolean found = FALSE;
	for (guint i = 0; i < state->grants->len; i++) {
		struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		if (strcmp(grant->pod, pod) != 0 || grant->ended)
			continue;
		grant->ended = TRUE;
		found = TRUE;
	}
	return found;
}

void sim_state_recount(SimState *state)
{
	GHashTableIter iter;
	gpointer value;
	g_hash_table_iter_init(&iter, state->resources);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		g_hash_table_remove_all(((struct sim_resource *)value)->taken);
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		struct sim_resource *resource = sim_state_find(state, grant->resource);
		for (gsize j = 0; resource && grant->ids[j]; j++)
			g_hash_table_add(resource->taken, g_strdup(grant->ids[j]));
	}
}

void sim_state_clean_up(SimState *state)
{
	gboolean removed = FALSE;
	for (guint i = state->grants->len; i-- > 0;) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		if (!grant->ended)
			continue;
		g_ptr_array_remove_index(state->grants, i);
		removed = TRUE;
	}
	if (removed)
		sim_state_recount(state);
}
