/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_config.h"

#include <string.h>

static const char *const key_names[SELECTOR_N_KEYS] = {
	[SELECTOR_VENDORS] = "vendors",		 [SELECTOR_DEVICE_IDS] = "deviceIDs",
	[SELECTOR_DRIVERS] = "drivers",		 [SELECTOR_IF_NAMES] = "ifNames",
	[SELECTOR_LINK_TYPES] = "linkTypes",	 [SELECTOR_ADDRESSES] = "addresses",
	[SELECTOR_RDMA_DEVICES] = "rdmaDevices", [SELECTOR_PF_NAMES] = "pfNames",
	[SELECTOR_ROOT_DEVICES] = "rootDevices", [SELECTOR_NUMA_NODES] = "numaNodes",
};

const char *selector_key_name(enum selector_key key)
{
	return key_names[key];
}

struct selector *selector_new(void)
{
	return g_new0(struct selector, 1);
}

void selector_free(struct selector *selector)
{
	if (selector == NULL)
		return;
	for (int key = 0; key < SELECTOR_N_KEYS; key++)
		g_strfreev(selector->values[key]);
	g_clear_pointer(&selector->attributes, g_hash_table_unref);
	selector_free(selector->exclude);
	g_free(selector);
}

void resource_mount_free(struct resource_mount *mount)
{
	if (mount == NULL)
		return;
	g_free(mount->host_path);
	g_free(mount->container_path);
	g_free(mount);
}

ResourceConfig *resource_config_new(void)
{
	ResourceConfig *config = g_new0(ResourceConfig, 1);
	g_atomic_ref_count_init(&config->refs);
	config->rdma_hca_max = -1;
	config->selectors = g_ptr_array_new_with_free_func((GDestroyNotify)selector_free);
	config->rdma_cm = CHAR_REQUIRED;
	config->topology = -1;
	config->health = (struct health_overrides){
		.down_delay_s = -1,
		.up_delay_s = -1,
		.unknown_limit_s = -1,
		.missing_scans = -1,
		.assume_initial = -1,
	};
	return config;
}

ResourceConfig *resource_config_ref(ResourceConfig *config)
{
	g_atomic_ref_count_inc(&config->refs);
	return config;
}

void resource_config_unref(ResourceConfig *config)
{
	if (config == NULL || !g_atomic_ref_count_dec(&config->refs))
		return;
	g_free(config->prefix);
	g_free(config->name);
	g_free(config->full_name);
	g_free(config->bus);
	g_clear_pointer(&config->selectors, g_ptr_array_unref);
	g_strfreev(config->extra_devices);
	g_clear_pointer(&config->mounts, g_ptr_array_unref);
	g_free(config->env_hca_list);
	g_free(config);
}

static gboolean list_contains(GStrv list, const char *value)
{
	return g_strv_contains((const char *const *)list, value);
}

static gboolean list_is_empty(GStrv list)
{
	return list == NULL || list[0] == NULL;
}

static gboolean list_covers(GStrv list, GStrv part)
{
	for (gsize i = 0; part[i] != NULL; i++) {
		if (!list_contains(list, part[i]))
			return FALSE;
	}
	return TRUE;
}

/* The order inside a list means nothing, nor does a value that is there twice. */
static gboolean lists_equal(GStrv a, GStrv b)
{
	if (list_is_empty(a) || list_is_empty(b))
		return list_is_empty(a) == list_is_empty(b);
	return list_covers(a, b) && list_covers(b, a);
}

static guint table_size(GHashTable *table)
{
	return table == NULL ? 0 : g_hash_table_size(table);
}

static gboolean attributes_equal(GHashTable *a, GHashTable *b)
{
	if (table_size(a) != table_size(b))
		return FALSE;
	if (table_size(a) == 0)
		return TRUE;
	GHashTableIter iter;
	gpointer key, values;
	g_hash_table_iter_init(&iter, a);
	while (g_hash_table_iter_next(&iter, &key, &values)) {
		gpointer others;
		if (!g_hash_table_lookup_extended(b, key, NULL, &others) ||
		    !lists_equal(values, others))
			return FALSE;
	}
	return TRUE;
}

static gboolean selector_equal(const struct selector *a, const struct selector *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (int key = 0; key < SELECTOR_N_KEYS; key++) {
		if (!lists_equal(a->values[key], b->values[key]))
			return FALSE;
	}
	return attributes_equal(a->attributes, b->attributes) &&
	       selector_equal(a->exclude, b->exclude);
}

static gboolean selectors_equal(GPtrArray *a, GPtrArray *b)
{
	if (a->len != b->len)
		return FALSE;
	for (guint i = 0; i < a->len; i++) {
		if (!selector_equal(a->pdata[i], b->pdata[i]))
			return FALSE;
	}
	return TRUE;
}

static gboolean mount_equal(const struct resource_mount *a, const struct resource_mount *b)
{
	return g_str_equal(a->host_path, b->host_path) &&
	       g_str_equal(a->container_path, b->container_path) && a->read_only == b->read_only;
}

static guint array_length(GPtrArray *array)
{
	return array == NULL ? 0 : array->len;
}

static gboolean mounts_equal(GPtrArray *a, GPtrArray *b)
{
	if (array_length(a) != array_length(b))
		return FALSE;
	for (guint i = 0; i < array_length(a); i++) {
		if (!mount_equal(a->pdata[i], b->pdata[i]))
			return FALSE;
	}
	return TRUE;
}

static gboolean health_equal(const ResourceConfig *a, const ResourceConfig *b)
{
	return a->health_policy == b->health_policy &&
	       a->health.down_delay_s == b->health.down_delay_s &&
	       a->health.up_delay_s == b->health.up_delay_s &&
	       a->health.unknown_limit_s == b->health.unknown_limit_s &&
	       a->health.missing_scans == b->health.missing_scans &&
	       a->health.assume_initial == b->health.assume_initial;
}

static gboolean devices_equal(const ResourceConfig *a, const ResourceConfig *b)
{
	return g_strcmp0(a->bus, b->bus) == 0 && selectors_equal(a->selectors, b->selectors);
}

static gboolean answer_equal(const ResourceConfig *a, const ResourceConfig *b)
{
	return a->rdma_cm == b->rdma_cm && a->umad == b->umad && a->issm == b->issm &&
	       lists_equal(a->extra_devices, b->extra_devices) &&
	       mounts_equal(a->mounts, b->mounts) &&
	       g_strcmp0(a->env_hca_list, b->env_hca_list) == 0;
}

static gboolean offer_equal(const ResourceConfig *a, const ResourceConfig *b)
{
	return g_strcmp0(a->full_name, b->full_name) == 0 && a->mode == b->mode &&
	       a->rdma_hca_max == b->rdma_hca_max && a->topology == b->topology &&
	       a->allocation_policy == b->allocation_policy;
}

gboolean resource_config_equal(const ResourceConfig *a, const ResourceConfig *b)
{
	return offer_equal(a, b) && devices_equal(a, b) && answer_equal(a, b) && health_equal(a, b);
}
