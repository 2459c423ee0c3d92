/* SPDX-License-Identifier: Apache-2.0 */
#include "model/exclusive.h"

#include <string.h>

#include "model/compose.h"
#include "model/prefer.h"

const char *exclusive_id(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	gboolean is_subfunction = abi->parent_id != NULL && !(abi->flags & RDMADP_DEVICE_VF);

	return is_subfunction ? abi->id : abi->identity;
}

/* --- the list --- */

/* A sub-function that was made anew can have the name of one that is gone. */
static gboolean takes_id(const struct hca *hca, const struct hca *holder)
{
	return holder == NULL || (hca->present && !holder->present);
}

/* What another resource has, or the selectors refuse, is not ours to give, whatever its
 * health; an id that was shown before retires. */
static gboolean is_ours(const struct hca *hca)
{
	return hca->present || hca->refusal == NULL;
}

/* id -> the HCA (struct hca *) that has it. */
static GHashTable *find_listed(GPtrArray *hcas)
{
	GHashTable *listed = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < hcas->len; i++) {
		struct hca *hca = g_ptr_array_index(hcas, i);
		const char *id = exclusive_id(hca->device);

		if (hca_counts(hca) && is_ours(hca) &&
		    takes_id(hca, g_hash_table_lookup(listed, id)))
			g_hash_table_replace(listed, (gpointer)id, hca);
	}
	return listed;
}

struct list {
	GHashTable *listed;
	gboolean all_bad;
	gboolean topology;
};

static gboolean any_bad(GHashTable *listed)
{
	GHashTableIter iter;
	gpointer hca;

	g_hash_table_iter_init(&iter, listed);
	while (g_hash_table_iter_next(&iter, NULL, &hca))
		if (!hca_is_good(hca))
			return TRUE;
	return FALSE;
}

/* All or nothing: beside devices with a node, those without are taken last. */
static gboolean knows_topology(const ResourceConfig *config, GHashTable *listed)
{
	GHashTableIter iter;
	gpointer hca;

	if (config->topology == 0)
		return FALSE;
	g_hash_table_iter_init(&iter, listed);
	while (g_hash_table_iter_next(&iter, NULL, &hca))
		if (hca_numa_node(hca) < 0)
			return FALSE;
	return TRUE;
}

static void add_unit(Snapshot *snapshot, const ResourceConfig *config, const struct hca *hca)
{
	struct unit *unit = g_new0(struct unit, 1);

	unit->id = g_strdup(exclusive_id(hca->device));
	unit->device = device_ref(hca->device);
	unit->files = char_files_new();
	if (hca_is_complete(hca))
		hca_add_files(hca, config, unit->files);
	else
		unit->problem = g_strdup(hca_problem(hca));
	snapshot_add_unit(snapshot, unit);
}

static void add_slot(Snapshot *snapshot, const struct list *list, const struct hca *hca)
{
	gboolean healthy = !list->all_bad && hca_is_good(hca);
	int node = list->topology ? hca_numa_node(hca) : -1;

	snapshot_add_slot(snapshot, g_strdup(exclusive_id(hca->device)), healthy, node);
}

void exclusive_add_units(Snapshot *snapshot, const ResourceConfig *config, GPtrArray *hcas)
{
	g_autoptr(GHashTable) listed = find_listed(hcas);
	struct list list = {
		.listed = listed,
		.all_bad = config->health_policy == HEALTH_ANY_DEVICE && any_bad(listed),
		.topology = knows_topology(config, listed),
	};

	snapshot_begin_units(snapshot);
	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		if (g_hash_table_lookup(listed, exclusive_id(hca->device)) != hca)
			continue;
		add_unit(snapshot, config, hca);
		add_slot(snapshot, &list, hca);
	}
}

/* --- Allocate --- */

struct composer {
	const ResourceConfig *config;
	const struct file_checker *checker;
	Allocation *allocation;
	GPtrArray *names; /* of the RDMA devices that are handed out; borrowed */
};

static void note_first(char **member, const char *path)
{
	if (*member == NULL)
		*member = g_strdup(path);
}

/* What a variable or a device-info file says about the file. */
static void note_path(struct allocation_grant *grant, const struct char_file *file,
		      const char *path)
{
	if (compose_is_uverbs(file))
		note_first(&grant->uverbs, path);
	else if (g_str_has_prefix(file->dev_name, "infiniband/umad"))
		note_first(&grant->umad, path);
	else if (g_str_has_prefix(file->dev_name, "infiniband/issm"))
		note_first(&grant->issm, path);
	else if (strcmp(file->dev_name, "infiniband/rdma_cm") == 0)
		note_first(&grant->rdma_cm, path);
}

/* FALSE if the device is of no use without the file. */
static gboolean add_file(struct composer *composer, struct allocation_grant *grant,
			 const struct char_file *file, GError **error)
{
	const struct file_checker *checker = composer->checker;
	g_autoptr(GError) problem = NULL;
	g_autofree char *path = checker->resolve(file, checker->data, &problem);
	g_autofree char *text = NULL;

	if (path != NULL) {
		allocation_add_device(composer->allocation, path);
		note_path(grant, file, path);
		return TRUE;
	}
	text = g_strdup_printf("device '%s' of '%s': %s", grant->id, composer->config->full_name,
			       problem == NULL ? "a file cannot be used" : problem->message);
	if (file->required) {
		g_set_error_literal(error, RESOURCE_ERROR, 0, text);
		return FALSE;
	}
	if (checker->left_out != NULL)
		checker->left_out(text, checker->data);
	return TRUE;
}

static char *join_names(GPtrArray *names, guint from)
{
	GString *text = g_string_new(NULL);

	for (guint i = from; i < names->len; i++)
		g_string_append_printf(text, "%s%s", i > from ? "," : "",
				       (const char *)g_ptr_array_index(names, i));
	return g_string_free(text, FALSE);
}

/* Without asking for a bus by name: the address ends the path of a PCI function. */
static gboolean is_pci(const struct rdmadp_device *abi, const char *id)
{
	const char *last = abi->pcie_path == NULL ? NULL : strrchr(abi->pcie_path, '/');

	return abi->pcie_path != NULL && strcmp(last == NULL ? abi->pcie_path : last + 1, id) == 0;
}

static void describe(struct allocation_grant *grant, const struct unit *unit)
{
	const struct rdmadp_device *abi = device_abi(unit->device);

	grant->is_pci = is_pci(abi, unit->id);
	grant->parent = g_strdup(abi->parent_id);
}

static gboolean add_device(struct composer *composer, const struct unit *unit, GError **error)
{
	struct allocation_grant *grant = allocation_add_grant(composer->allocation, unit->id);
	guint before = composer->names->len;

	if (unit->problem != NULL) {
		g_set_error(error, RESOURCE_ERROR, 0, "device '%s' of '%s' cannot be used now: %s",
			    unit->id, composer->config->full_name, unit->problem);
		return FALSE;
	}
	for (guint i = 0; i < unit->files->len; i++) {
		const struct char_file *file = g_ptr_array_index(unit->files, i);

		if (!add_file(composer, grant, file, error))
			return FALSE;
		if (compose_is_uverbs(file))
			g_ptr_array_add(composer->names, file->rdma_device);
	}
	describe(grant, unit);
	grant->rdma_devices = join_names(composer->names, before);
	return TRUE;
}

static gboolean add_devices(struct composer *composer, const Snapshot *snapshot,
			    const char *const *ids, gsize n_ids, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (gsize i = 0; i < n_ids; i++) {
		const struct unit *unit = snapshot_unit(snapshot, ids[i]);

		if (!g_hash_table_add(seen, (gpointer)ids[i]))
			continue;
		if (unit == NULL) {
			g_set_error(error, RESOURCE_ERROR, 0,
				    "'%s' does not offer the device '%s' any more",
				    composer->config->full_name, ids[i]);
			return FALSE;
		}
		if (!add_device(composer, unit, error))
			return FALSE;
	}
	return TRUE;
}

Allocation *exclusive_compose(const ResourceConfig *config, const Snapshot *snapshot,
			      const char *const *ids, gsize n_ids,
			      const struct file_checker *checker, GError **error)
{
	g_autoptr(Allocation) allocation = allocation_new();
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	struct composer composer = {config, checker == NULL ? &compose_trusting : checker,
				    allocation, names};

	if (!add_devices(&composer, snapshot, ids, n_ids, error))
		return NULL;
	compose_add_mounts(allocation, config);
	compose_add_hca_list(allocation, config, names);
	allocation_finish(allocation);
	return g_steal_pointer(&allocation);
}

/* --- GetPreferredAllocation --- */

static void add_candidate(GArray *candidates, const Snapshot *snapshot, const char *id,
			  gboolean must)
{
	const struct unit *unit = snapshot_unit(snapshot, id);
	struct prefer_candidate candidate = {.id = id, .numa_node = -1, .must = must};

	if (unit != NULL) {
		const struct rdmadp_device *abi = device_abi(unit->device);

		candidate.numa_node = abi->numa_node;
		candidate.pcie_root = abi->pcie_root;
		candidate.pcie_path = abi->pcie_path;
		candidate.parent = abi->parent_id;
	}
	g_array_append_val(candidates, candidate);
}

static void add_candidates(GArray *candidates, GHashTable *seen, const Snapshot *snapshot,
			   const char *const *ids, gboolean must)
{
	for (gsize i = 0; ids[i] != NULL; i++)
		if (g_hash_table_add(seen, (gpointer)ids[i]))
			add_candidate(candidates, snapshot, ids[i], must);
}

GPtrArray *exclusive_prefer(const Snapshot *snapshot, const char *const *available,
			    const char *const *must, gsize size, enum allocation_policy policy)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(struct prefer_candidate));

	add_candidates(candidates, seen, snapshot, must, TRUE);
	add_candidates(candidates, seen, snapshot, available, FALSE);
	return prefer_choose((struct prefer_candidate *)(void *)candidates->data, candidates->len,
			     size, policy);
}
