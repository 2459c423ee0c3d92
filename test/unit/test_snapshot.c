/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct list {
	const char *ids[4];
	gboolean healthy[4];
	int numa[4];
};

static Snapshot *build(const struct list *list)
{
	Snapshot *snapshot = snapshot_new("rdma/a");

	for (gsize i = 0; i < G_N_ELEMENTS(list->ids) && list->ids[i] != NULL; i++)
		snapshot_add_slot(snapshot, g_strdup(list->ids[i]), list->healthy[i],
				  list->numa[i]);
	return snapshot;
}

static void slots_are_found_by_id(G_GNUC_UNUSED void **state)
{
	g_autoptr(Snapshot) snapshot =
		build(&(struct list){{"a-0", "a-1"}, {TRUE, FALSE}, {-1, 1}});
	const struct slot *slot = snapshot_find(snapshot, "a-1");

	assert_string_equal(snapshot->resource, "rdma/a");
	assert_int_equal(snapshot->slots->len, 2);
	assert_ptr_equal(slot, snapshot->slots->pdata[1]);
	assert_false(slot->healthy);
	assert_int_equal(slot->numa_node, 1);
	assert_null(snapshot_find(snapshot, "a-2"));
	assert_int_equal(snapshot_n_healthy(snapshot), 1);
}

static void snapshots_share_ids(G_GNUC_UNUSED void **state)
{
	g_autoptr(SlotIds) ids = slot_ids_new("rdma/a", 1000);
	Snapshot *first = snapshot_new("rdma/a");
	g_autoptr(Snapshot) second = snapshot_new("rdma/a");
	const struct slot *slot;

	assert_int_equal(slot_ids_count(ids), 1000);
	snapshot_share_ids(first, ids);
	snapshot_share_ids(second, ids);
	assert_null(snapshot_find(second, "rdma/a-0"));
	for (guint i = 0; i < 1000; i++) {
		snapshot_next_slot(first, TRUE, -1);
		snapshot_next_slot(second, i != 999, (int)i);
	}
	snapshot_unref(first);
	slot = snapshot_find(second, "rdma/a-999");
	assert_ptr_equal(slot, second->slots->pdata[999]);
	assert_string_equal(slot->id, "rdma/a-999");
	assert_false(slot->healthy);
	slot = snapshot_find(second, "rdma/a-17");
	assert_int_equal(slot->numa_node, 17);
	assert_true(g_hash_table_contains(second->slot_index, "rdma/a-17"));
	assert_int_equal(snapshot_n_healthy(second), 999);
	assert_null(snapshot_find(second, "rdma/a-1000"));
	slot_ids_unref(NULL);
}

static void only_what_the_kubelet_sees_makes_lists_differ(G_GNUC_UNUSED void **state)
{
	static const struct list lists[] = {
		{{0}, {0}, {0}},
		{{"a", "b"}, {TRUE, TRUE}, {-1, -1}},
		{{"b", "a"}, {TRUE, TRUE}, {-1, -1}},
		{{"a", "b"}, {TRUE, FALSE}, {-1, -1}},
		{{"a", "b"}, {TRUE, TRUE}, {-1, 0}},
		{{"a"}, {TRUE}, {-1}},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
		for (gsize j = 0; j < G_N_ELEMENTS(lists); j++) {
			g_autoptr(Snapshot) a = build(&lists[i]);
			g_autoptr(Snapshot) b = build(&lists[j]);

			g_ptr_array_add(b->notes, g_strdup("a note changes nothing"));
			assert_int_equal(snapshot_same_list(a, b), i == j);
			assert_true(snapshot_same_list(a, a));
		}
	}
}

static void add_file(Snapshot *snapshot, const char *path, const char *rdma_device)
{
	struct char_file *file = g_new0(struct char_file, 1);

	file->host_path = g_strdup(path);
	file->rdma_device = g_strdup(rdma_device);
	snapshot_add_file(snapshot, file);
}

static void files_are_sorted_and_there_once(G_GNUC_UNUSED void **state)
{
	static const char *const expected[] = {"/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0",
					       "/dev/infiniband/uverbs1"};
	g_autoptr(Snapshot) snapshot = snapshot_new("rdma/a");

	add_file(snapshot, "/dev/infiniband/uverbs1", "mlx5_1");
	add_file(snapshot, "/dev/infiniband/rdma_cm", NULL);
	add_file(snapshot, "/dev/infiniband/uverbs0", "mlx5_0");
	add_file(snapshot, "/dev/infiniband/rdma_cm", "second");
	assert_int_equal(snapshot->files->len, G_N_ELEMENTS(expected));
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		const struct char_file *file = snapshot->files->pdata[i];

		assert_string_equal(file->host_path, expected[i]);
	}
	assert_null(((struct char_file *)snapshot->files->pdata[0])->rdma_device);
}

static void references_keep_a_snapshot(G_GNUC_UNUSED void **state)
{
	Snapshot *snapshot = snapshot_new("rdma/a");

	assert_ptr_equal(snapshot_ref(snapshot), snapshot);
	snapshot_unref(snapshot);
	assert_string_equal(snapshot->resource, "rdma/a");
	snapshot_unref(snapshot);
	snapshot_unref(NULL);
	char_file_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_found_by_id),
		cmocka_unit_test(snapshots_share_ids),
		cmocka_unit_test(only_what_the_kubelet_sees_makes_lists_differ),
		cmocka_unit_test(files_are_sorted_and_there_once),
		cmocka_unit_test(references_keep_a_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
