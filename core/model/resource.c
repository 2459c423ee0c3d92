/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource.h"

#include <string.h>

#include "model/exclusive.h"
#include "model/shared.h"

struct resource {
	ResourceConfig *config;
	gboolean exclusive;
	GPtrArray *hcas; /* struct hca *; the index is the ordinal */
	GHashTable *by_identity; /* of their devices -> the first that has it, borrowed */
	struct hca_probe probe;
	SlotIds **ids; /* of the last snapshot; not part of the state */
};

G_DEFINE_QUARK(rdmadp - resource - error - quark, resource_error)

static void free_hca(gpointer data)
{
	hca_free(data);
}

Resource *resource_new(ResourceConfig *config)
{
	Resource *resource = g_new0(Resource, 1);

	resource->config = config;
	resource->exclusive = config->mode == RESOURCE_EXCLUSIVE;
	resource->hcas = g_ptr_array_new_with_free_func(free_hca);
	resource->by_identity = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	resource->ids = g_new0(SlotIds *, 1);
	return resource;
}

Resource *resource_new_like(const Resource *resource, ResourceConfig *config)
{
	Resource *renewed = resource_new(config);

	renewed->exclusive = resource->exclusive;
	renewed->probe = resource->probe;
	return renewed;
}

void resource_free(Resource *resource)
{
	if (resource == NULL)
		return;
	g_hash_table_unref(resource->by_identity);
	g_ptr_array_unref(resource->hcas);
	slot_ids_unref(*resource->ids);
	g_free((gpointer)resource->ids);
	resource_config_unref(resource->config);
	g_free(resource);
}

const ResourceConfig *resource_config(const Resource *resource)
{
	return resource->config;
}

void resource_set_exclusive(Resource *resource, gboolean exclusive)
{
	resource->exclusive = exclusive;
}

gboolean resource_is_exclusive(const Resource *resource)
{
	return resource->exclusive;
}

GPtrArray *resource_hcas(const Resource *resource)
{
	return resource->hcas;
}

static struct hca *find(const Resource *resource, const char *identity)
{
	return g_hash_table_lookup(resource->by_identity, identity);
}

const struct hca *resource_find(const Resource *resource, const char *identity)
{
	return find(resource, identity);
}

static struct hca *append(Resource *resource, const char *identity)
{
	struct hca *hca = g_new0(struct hca, 1);

	hca->ordinal = resource->hcas->len;
	hca->healthy = TRUE;
	g_ptr_array_add(resource->hcas, hca);
	if (find(resource, identity) == NULL)
		g_hash_table_insert(resource->by_identity, g_strdup(identity), hca);
	return hca;
}

static int device_order(gconstpointer a, gconstpointer b)
{
	return device_compare(*(const Device *const *)a, *(const Device *const *)b);
}

void resource_set_devices(Resource *resource, GPtrArray *devices)
{
	g_autoptr(GPtrArray) sorted = g_ptr_array_copy(devices, NULL, NULL);

	g_ptr_array_set_free_func(sorted, NULL);
	g_ptr_array_sort(sorted, device_order);
	for (guint i = 0; i < resource->hcas->len; i++)
		((struct hca *)g_ptr_array_index(resource->hcas, i))->present = FALSE;
	for (guint i = 0; i < sorted->len; i++) {
		Device *device = g_ptr_array_index(sorted, i);
		const char *identity = device_identity(device);
		struct hca *hca = find(resource, identity);

		if (hca == NULL)
			hca = append(resource, identity);
		hca_set_device(hca, device, resource->config, &resource->probe);
	}
}

void resource_set_probe(Resource *resource, const struct hca_probe *probe)
{
	resource->probe = *probe;
}

gboolean resource_probe(Resource *resource, const char *identity)
{
	struct hca *hca = find(resource, identity);
	g_autofree char *before = hca == NULL ? NULL : g_strdup(hca->missing);

	if (hca == NULL || !hca->present || resource->probe.look == NULL)
		return FALSE;
	hca_set_device(hca, hca->device, resource->config, &resource->probe);
	return g_strcmp0(before, hca->missing) != 0;
}

void resource_set_refusal(Resource *resource, const char *identity, const char *why)
{
	struct hca *hca = find(resource, identity);

	if (hca == NULL)
		return;
	g_free(hca->refusal);
	hca->refusal = g_strdup(why);
}

gboolean resource_set_health(Resource *resource, const char *identity, gboolean healthy,
			     const char *reason)
{
	struct hca *hca = find(resource, identity);

	if (hca == NULL)
		return FALSE;
	hca->healthy = healthy;
	g_free(hca->reason);
	hca->reason = healthy ? NULL : g_strdup(reason);
	return TRUE;
}

void saved_hca_free(struct saved_hca *saved)
{
	if (saved == NULL)
		return;
	device_unref(saved->device);
	g_free(saved->reason);
	g_free(saved);
}

static void free_saved(gpointer data)
{
	saved_hca_free(data);
}

GPtrArray *resource_save(const Resource *resource)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(free_saved);

	for (guint i = 0; i < resource->hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(resource->hcas, i);
		struct saved_hca *saved = g_new0(struct saved_hca, 1);

		saved->device = device_ref(hca->device);
		saved->usable = hca->usable;
		saved->ready = hca->ready;
		saved->healthy = hca->healthy;
		saved->reason = g_strdup(hca->reason);
		g_ptr_array_add(all, saved);
	}
	return all;
}

void resource_restore(Resource *resource, GPtrArray *saved)
{
	g_return_if_fail(resource->hcas->len == 0);
	for (guint i = 0; i < saved->len; i++) {
		const struct saved_hca *one = g_ptr_array_index(saved, i);
		struct hca *hca = append(resource, device_identity(one->device));

		hca_set_device(hca, one->device, resource->config, NULL);
		hca->ready |= one->ready;
		hca->usable |= one->usable;
		hca->healthy = one->healthy;
		hca->reason = g_strdup(one->reason);
	}
}

/* An id of the other mode is shown only until no pod holds it. */
static gboolean is_slot_of(const ResourceConfig *config, const char *id)
{
	gsize length = strlen(config->full_name);

	return strncmp(id, config->full_name, length) == 0 && id[length] == '-';
}

static void add_files(Snapshot *snapshot, const ResourceConfig *config, const struct hca *hca)
{
	if (hca_is_complete(hca))
		hca_add_files(hca, config, snapshot->files);
	else if (hca->usable)
		g_ptr_array_add(snapshot->notes,
				g_strdup_printf("'%s' is left out: %s", device_id(hca->device),
						hca_problem(hca)));
}

Snapshot *resource_snapshot(const Resource *resource)
{
	Snapshot *snapshot = snapshot_new(resource->config->full_name);

	if (resource->exclusive) {
		exclusive_add_units(snapshot, resource->config, resource->hcas);
		return snapshot;
	}
	for (guint i = 0; i < resource->hcas->len; i++)
		add_files(snapshot, resource->config, g_ptr_array_index(resource->hcas, i));
	shared_add_slots(snapshot, resource->config, resource->hcas, resource->ids);
	return snapshot;
}

Allocation *resource_compose(const ResourceConfig *config, const Snapshot *snapshot,
			     const char *const *ids, gsize n_ids,
			     const struct file_checker *checker, GError **error)
{
	if (n_ids == 0) {
		g_set_error(error, RESOURCE_ERROR, 0, "'%s': no device was asked for",
			    config->full_name);
		return NULL;
	}
	for (gsize i = 0; i < n_ids; i++) {
		gboolean is_known = snapshot_find(snapshot, ids[i]) != NULL;

		if (is_known && (snapshot->units != NULL || is_slot_of(config, ids[i])))
			continue;
		g_set_error(error, RESOURCE_ERROR, 0,
			    is_known ? "'%s' does not offer the device '%s' any more"
				     : "'%s' has no device '%s'",
			    config->full_name, ids[i]);
		return NULL;
	}
	return snapshot->units != NULL
		       ? exclusive_compose(config, snapshot, ids, n_ids, checker, error)
		       : shared_compose(config, snapshot, checker, error);
}
