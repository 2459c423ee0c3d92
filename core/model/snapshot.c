/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot.h"

#include <string.h>

struct slot_ids {
	gatomicrefcount refs;
	GPtrArray *texts;
	GHashTable *index; /* text -> its number + 1 */
};

static SlotIds *ids_empty(void)
{
	SlotIds *ids = g_new0(SlotIds, 1);

	g_atomic_ref_count_init(&ids->refs);
	ids->texts = g_ptr_array_new_with_free_func(g_free);
	ids->index = g_hash_table_new(g_str_hash, g_str_equal);
	return ids;
}

/* Takes id over. */
static void ids_add(SlotIds *ids, char *id)
{
	g_ptr_array_add(ids->texts, id);
	g_hash_table_insert(ids->index, id, GUINT_TO_POINTER(ids->texts->len));
}

SlotIds *slot_ids_new(const char *base, guint n)
{
	SlotIds *ids = ids_empty();

	for (guint i = 0; i < n; i++)
		ids_add(ids, g_strdup_printf("%s-%u", base, i));
	return ids;
}

SlotIds *slot_ids_ref(SlotIds *ids)
{
	g_atomic_ref_count_inc(&ids->refs);
	return ids;
}

void slot_ids_unref(SlotIds *ids)
{
	if (ids == NULL || !g_atomic_ref_count_dec(&ids->refs))
		return;
	g_hash_table_unref(ids->index);
	g_ptr_array_unref(ids->texts);
	g_free(ids);
}

guint slot_ids_count(const SlotIds *ids)
{
	return ids->texts->len;
}

void char_file_free(struct char_file *file)
{
	if (file == NULL)
		return;
	g_free(file->host_path);
	g_free(file->dev_name);
	g_free(file->rdma_device);
	g_free(file->sysfs_dir);
	g_free(file);
}

static void file_free(gpointer data)
{
	char_file_free(data);
}

GPtrArray *char_files_new(void)
{
	return g_ptr_array_new_with_free_func(file_free);
}

void char_files_add(GPtrArray *files, struct char_file *file)
{
	guint at;

	for (at = 0; at < files->len; at++) {
		const struct char_file *other = g_ptr_array_index(files, at);
		int order = strcmp(file->host_path, other->host_path);

		if (order < 0)
			break;
		if (order == 0) {
			char_file_free(file);
			return;
		}
	}
	g_ptr_array_insert(files, (gint)at, file);
}

static void unit_free(gpointer data)
{
	struct unit *unit = data;

	device_unref(unit->device);
	g_ptr_array_unref(unit->files);
	g_free(unit->problem);
	g_free(unit->id);
	g_free(unit);
}

Snapshot *snapshot_new(const char *resource)
{
	Snapshot *snapshot = g_new0(Snapshot, 1);

	g_atomic_ref_count_init(&snapshot->refs);
	snapshot->resource = g_strdup(resource);
	snapshot->slots = g_ptr_array_new();
	snapshot->ids = ids_empty();
	snapshot->slot_index = snapshot->ids->index;
	snapshot->blocks = g_ptr_array_new_with_free_func(g_free);
	snapshot->files = char_files_new();
	snapshot->notes = g_ptr_array_new_with_free_func(g_free);
	return snapshot;
}

Snapshot *snapshot_ref(Snapshot *snapshot)
{
	g_atomic_ref_count_inc(&snapshot->refs);
	return snapshot;
}

void snapshot_unref(Snapshot *snapshot)
{
	if (snapshot == NULL || !g_atomic_ref_count_dec(&snapshot->refs))
		return;
	g_ptr_array_unref(snapshot->slots);
	g_ptr_array_unref(snapshot->blocks);
	slot_ids_unref(snapshot->ids);
	g_ptr_array_unref(snapshot->files);
	g_clear_pointer(&snapshot->units, g_hash_table_unref);
	g_ptr_array_unref(snapshot->notes);
	g_free(snapshot->resource);
	g_free(snapshot);
}

/* Slots live in blocks of doubling size: a list of many costs few allocations. */
static struct slot *slot_new(Snapshot *snapshot)
{
	guint used = snapshot->slots->len;
	struct slot *slot;

	if (snapshot->n_free == 0) {
		snapshot->n_free = MAX(used, 8);
		slot = g_new0(struct slot, snapshot->n_free);
		g_ptr_array_add(snapshot->blocks, slot);
	} else {
		slot = (struct slot *)g_ptr_array_index(snapshot->slots, used - 1) + 1;
	}
	snapshot->n_free--;
	g_ptr_array_add(snapshot->slots, slot);
	return slot;
}

void snapshot_share_ids(Snapshot *snapshot, SlotIds *ids)
{
	g_return_if_fail(snapshot->slots->len == 0);
	slot_ids_ref(ids);
	slot_ids_unref(snapshot->ids);
	snapshot->ids = ids;
	snapshot->slot_index = ids->index;
}

void snapshot_next_slot(Snapshot *snapshot, gboolean healthy, int numa_node)
{
	struct slot *slot;

	g_return_if_fail(snapshot->slots->len < snapshot->ids->texts->len);
	slot = slot_new(snapshot);
	slot->id = g_ptr_array_index(snapshot->ids->texts, snapshot->slots->len - 1);
	slot->healthy = healthy;
	slot->numa_node = numa_node;
}

void snapshot_add_slot(Snapshot *snapshot, char *id, gboolean healthy, int numa_node)
{
	ids_add(snapshot->ids, id);
	snapshot_next_slot(snapshot, healthy, numa_node);
}

const struct slot *snapshot_find(const Snapshot *snapshot, const char *id)
{
	guint number = GPOINTER_TO_UINT(g_hash_table_lookup(snapshot->slot_index, id));

	return number == 0 || number > snapshot->slots->len
		       ? NULL
		       : g_ptr_array_index(snapshot->slots, number - 1);
}

void snapshot_set_unhealthy(Snapshot *snapshot, const char *id)
{
	struct slot *slot = (struct slot *)snapshot_find(snapshot, id);

	if (slot != NULL)
		slot->healthy = FALSE;
}

void snapshot_add_file(Snapshot *snapshot, struct char_file *file)
{
	char_files_add(snapshot->files, file);
}

void snapshot_begin_units(Snapshot *snapshot)
{
	g_return_if_fail(snapshot->units == NULL);
	snapshot->units = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, unit_free);
}

void snapshot_add_unit(Snapshot *snapshot, struct unit *unit)
{
	g_hash_table_insert(snapshot->units, unit->id, unit);
}

const struct unit *snapshot_unit(const Snapshot *snapshot, const char *id)
{
	return snapshot->units == NULL ? NULL : g_hash_table_lookup(snapshot->units, id);
}

void snapshot_share_units(Snapshot *to, const Snapshot *from)
{
	g_return_if_fail(to->units == NULL);
	to->units = from->units == NULL ? NULL : g_hash_table_ref(from->units);
}

static gboolean slot_same(const struct slot *a, const struct slot *b)
{
	return !a->healthy == !b->healthy && a->numa_node == b->numa_node &&
	       strcmp(a->id, b->id) == 0;
}

gboolean snapshot_same_list(const Snapshot *a, const Snapshot *b)
{
	if (a == b)
		return TRUE;
	if (a->slots->len != b->slots->len)
		return FALSE;
	for (guint i = 0; i < a->slots->len; i++)
		if (!slot_same(g_ptr_array_index(a->slots, i), g_ptr_array_index(b->slots, i)))
			return FALSE;
	return TRUE;
}

gsize snapshot_n_healthy(const Snapshot *snapshot)
{
	gsize n = 0;

	for (guint i = 0; i < snapshot->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(snapshot->slots, i);

		n += slot->healthy ? 1 : 0;
	}
	return n;
}
