/* SPDX-License-Identifier: Apache-2.0 */
#include "model/shared.h"

#include <string.h>

#include "model/compose.h"

/* --- slots --- */

static gboolean any_ready(GPtrArray *hcas)
{
	for (guint i = 0; i < hcas->len; i++)
		if (((const struct hca *)g_ptr_array_index(hcas, i))->ready)
			return TRUE;
	return FALSE;
}

/* A device that never was an RDMA adapter here, because it belongs to a virtual machine
 * or has no driver, must not cost the others their slots. */
static guint n_counting(GPtrArray *hcas)
{
	guint n = 0;

	for (guint i = 0; i < hcas->len; i++)
		n += hca_counts(g_ptr_array_index(hcas, i)) ? 1 : 0;
	return n;
}

static guint n_slots(const ResourceConfig *config, GPtrArray *hcas)
{
	if (!any_ready(hcas))
		return 0;
	return config->rdma_hca_max < 0 ? n_counting(hcas) : (guint)config->rdma_hca_max;
}

static gboolean is_bad(const struct hca *hca)
{
	return hca_counts(hca) && !hca_is_good(hca);
}

static guint n_bad(GPtrArray *hcas)
{
	guint n = 0;

	for (guint i = 0; i < hcas->len; i++)
		n += is_bad(g_ptr_array_index(hcas, i)) ? 1 : 0;
	return n;
}

/* Every bad HCA takes the slot of its ordinal, or the next one that is free. */
static void take_slots(GByteArray *bad, GPtrArray *hcas)
{
	guint taken = 0;

	for (guint i = 0; i < hcas->len && taken < bad->len; i++) {
		guint slot = i % bad->len;

		if (!is_bad(g_ptr_array_index(hcas, i)))
			continue;
		while (bad->data[slot])
			slot = (slot + 1) % bad->len;
		bad->data[slot] = TRUE;
		taken++;
	}
}

static gboolean all_bad(enum health_policy policy, GPtrArray *hcas)
{
	guint bad = n_bad(hcas);

	if (policy == HEALTH_OFF)
		return FALSE;
	return bad == n_counting(hcas) || (policy == HEALTH_ANY_DEVICE && bad > 0);
}

GByteArray *shared_bad_slots(const ResourceConfig *config, GPtrArray *hcas)
{
	guint n = n_slots(config, hcas);
	GByteArray *bad = g_byte_array_sized_new(n);

	g_byte_array_set_size(bad, n);
	if (n == 0)
		return bad;
	memset(bad->data, all_bad(config->health_policy, hcas) ? TRUE : FALSE, n);
	if (config->health_policy == HEALTH_PER_DEVICE && !bad->data[0])
		take_slots(bad, hcas);
	return bad;
}

/* The NUMA nodes (int) of the HCAs that count, empty if they are not to be told. All or
 * nothing: a scheduler must not prefer a slot because it says less. */
static GArray *numa_nodes(const ResourceConfig *config, GPtrArray *hcas)
{
	GArray *nodes = g_array_new(FALSE, FALSE, sizeof(int));

	for (guint i = 0; config->topology == 1 && i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);
		int node = hca_numa_node(hca);

		if (!hca_counts(hca))
			continue;
		if (node < 0)
			return g_array_set_size(nodes, 0);
		g_array_append_val(nodes, node);
	}
	return nodes;
}

static int node_of(const GArray *nodes, guint slot)
{
	return nodes->len == 0 ? -1 : g_array_index(nodes, int, slot % nodes->len);
}

void shared_add_slots(Snapshot *snapshot, const ResourceConfig *config, GPtrArray *hcas,
		      SlotIds **ids)
{
	g_autoptr(GByteArray) bad = shared_bad_slots(config, hcas);
	g_autoptr(GArray) nodes = numa_nodes(config, hcas);

	if (*ids == NULL || slot_ids_count(*ids) != bad->len) {
		slot_ids_unref(*ids);
		*ids = slot_ids_new(config->full_name, bad->len);
	}
	snapshot_share_ids(snapshot, *ids);
	for (guint i = 0; i < bad->len; i++)
		snapshot_next_slot(snapshot, !bad->data[i], node_of(nodes, i));
}

/* --- Allocate --- */

struct composer {
	const ResourceConfig *config;
	const Snapshot *snapshot;
	const struct file_checker *checker;
	GPtrArray *paths; /* of snapshot->files, in its order; NULL: not handed out */
	GHashTable *dropped; /* RDMA devices one file of which is not right now */
	GString *why; /* what is left out, for the error when nothing remains */
};

static gboolean is_rdma_cm(const struct char_file *file)
{
	return strcmp(file->dev_name, "infiniband/rdma_cm") == 0;
}

static void add_reason(struct composer *composer, const char *reason)
{
	g_string_append_printf(composer->why, "%s%s", composer->why->len > 0 ? "; " : "", reason);
}

static void leave_out(struct composer *composer, const struct char_file *file, const char *why)
{
	const struct file_checker *checker = composer->checker;
	const char *what = file->rdma_device == NULL ? file->host_path : file->rdma_device;
	g_autofree char *text = g_strdup_printf("'%s' is left out: %s", what, why);

	if (file->rdma_device != NULL)
		g_hash_table_add(composer->dropped, file->rdma_device);
	add_reason(composer, text);
	if (checker->left_out != NULL)
		checker->left_out(text, checker->data);
}

/* FALSE if the container cannot do without the file. */
static gboolean resolve(struct composer *composer, const struct char_file *file, GError **error)
{
	const struct file_checker *checker = composer->checker;
	g_autoptr(GError) problem = NULL;
	char *path = checker->resolve(file, checker->data, &problem);
	const char *why = problem == NULL ? "it cannot be used" : problem->message;

	g_ptr_array_add(composer->paths, path);
	if (path != NULL)
		return TRUE;
	if (is_rdma_cm(file) && composer->config->rdma_cm == CHAR_REQUIRED) {
		g_set_error(error, RESOURCE_ERROR, 0, "'%s': %s", composer->config->full_name, why);
		return FALSE;
	}
	leave_out(composer, file, why);
	return TRUE;
}

static gboolean resolve_all(struct composer *composer, GError **error)
{
	for (guint i = 0; i < composer->snapshot->files->len; i++)
		if (!resolve(composer, g_ptr_array_index(composer->snapshot->files, i), error))
			return FALSE;
	return TRUE;
}

/* The path of the i-th file, or NULL if it or its HCA is left out. */
static const char *path_of(const struct composer *composer, guint i)
{
	const struct char_file *file = g_ptr_array_index(composer->snapshot->files, i);

	if (file->rdma_device != NULL &&
	    g_hash_table_contains(composer->dropped, file->rdma_device))
		return NULL;
	return g_ptr_array_index(composer->paths, i);
}

/* The files; returns the names of the RDMA devices among them. */
static GPtrArray *add_files(const struct composer *composer, Allocation *allocation)
{
	GPtrArray *names = g_ptr_array_new();

	for (guint i = 0; i < composer->paths->len; i++) {
		const struct char_file *file = g_ptr_array_index(composer->snapshot->files, i);
		const char *path = path_of(composer, i);

		if (path == NULL)
			continue;
		allocation_add_device(allocation, path);
		if (compose_is_uverbs(file))
			g_ptr_array_add(names, file->rdma_device);
	}
	return names;
}

static Allocation *compose(struct composer *composer, GError **error)
{
	const ResourceConfig *config = composer->config;
	g_autoptr(Allocation) allocation = allocation_new();
	g_autoptr(GPtrArray) names = NULL;

	if (!resolve_all(composer, error))
		return NULL;
	names = add_files(composer, allocation);
	if (names->len == 0) {
		g_set_error(error, RESOURCE_ERROR, 0, "'%s' has no HCA that can be used now: %s",
			    config->full_name, composer->why->str);
		return NULL;
	}
	compose_add_mounts(allocation, config);
	compose_add_hca_list(allocation, config, names);
	allocation_finish(allocation);
	return g_steal_pointer(&allocation);
}

Allocation *shared_compose(const ResourceConfig *config, const Snapshot *snapshot,
			   const struct file_checker *checker, GError **error)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) dropped = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GString) why = g_string_new(NULL);
	struct composer composer = {config, snapshot, checker == NULL ? &compose_trusting : checker,
				    paths,  dropped,  why};

	for (guint i = 0; i < snapshot->notes->len; i++)
		add_reason(&composer, g_ptr_array_index(snapshot->notes, i));
	return compose(&composer, error);
}
