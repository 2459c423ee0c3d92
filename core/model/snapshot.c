/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot.h"

#include <string.h>

static void slot_free(gpointer data)
{
	struct slot *slot = data;

	g_free(slot->id);
	g_free(slot);
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

Snapshot *snapshot_new(const char *resource)
{
	Snapshot *snapshot = g_new0(Snapshot, 1);

	g_atomic_ref_count_init(&snapshot->refs);
	snapshot->resource = g_strdup(resource);
	snapshot->slots = g_ptr_array_new_with_free_func(slot_free);
	snapshot->slot_index = g_hash_table_new(g_str_hash, g_str_equal);
	snapshot->files = g_ptr_array_new_with_free_func(file_free);
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
	g_hash_table_unref(snapshot->slot_index);
	g_ptr_array_unref(snapshot->slots);
	g_ptr_array_unref(snapshot->files);
	g_ptr_array_unref(snapshot->notes);
	g_free(snapshot->resource);
	g_free(snapshot);
}

void snapshot_add_slot(Snapshot *snapshot, char *id, gboolean healthy, int numa_node)
{
	struct slot *slot = g_new0(struct slot, 1);

	slot->id = id;
	slot->healthy = healthy;
	slot->numa_node = numa_node;
	g_ptr_array_add(snapshot->slots, slot);
	g_hash_table_insert(snapshot->slot_index, slot->id, slot);
}

void snapshot_add_file(Snapshot *snapshot, struct char_file *file)
{
	guint at;

	for (at = 0; at < snapshot->files->len; at++) {
		const struct char_file *other = g_ptr_array_index(snapshot->files, at);
		int order = strcmp(file->host_path, other->host_path);

		if (order < 0)
			break;
		if (order == 0) {
			char_file_free(file);
			return;
		}
	}
	g_ptr_array_insert(snapshot->files, (gint)at, file);
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
