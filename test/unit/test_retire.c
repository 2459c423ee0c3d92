/* SPDX-License-Identifier: Apache-2.0 */
#include "model/retire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define AFTER 600

/* "a b" becomes a list of two healthy slots. */
static Snapshot *list_of(const char *ids)
{
	g_auto(GStrv) words = g_strsplit_set(ids, " ", -1);
	Snapshot *snapshot = snapshot_new("rdma/a");

	for (gsize i = 0; words[i]; i++)
		snapshot_add_slot(snapshot, g_strdup(words[i]), TRUE, (int)i);
	return snapshot;
}

/* What the list shows: "a b !c", unhealthy ones with a '!'. */
static char *text_of(const Snapshot *snapshot)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < snapshot->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(snapshot->slots, i);

		g_string_append_printf(text, "%s%s%s", i > 0 ? " " : "", slot->healthy ? "" : "!",
				       slot->id);
	}
	return g_strdup(text->str);
}

static void expect_shown(Retire *retire, const char *wanted, gint64 now_us, const char *expected)
{
	g_autoptr(Snapshot) list = list_of(wanted);
	g_autoptr(Snapshot) shown = retire_apply(retire, list, now_us);
	g_autofree char *text = text_of(shown);

	assert_string_equal(text, expected);
}

/* 'data': the ids that are held, between blanks. */
static gboolean is_held(const char *id, gpointer data)
{
	g_autofree char *word = g_strdup_printf(" %s ", id);

	return strstr(data, word) != NULL;
}

static gboolean release(Retire *retire, gint64 asked_us, const char *held)
{
	return retire_release(retire, asked_us, is_held, (char *)held);
}

static void what_is_wanted_is_shown_as_it_is(G_GNUC_UNUSED void **state)
{
	g_autoptr(Retire) retire = retire_new(AFTER);
	g_autoptr(Snapshot) first = list_of("a b"), second = list_of("a b c");
	g_autoptr(Snapshot) shown = retire_apply(retire, first, 0);

	assert_ptr_equal(shown, first);
	snapshot_unref(shown);
	shown = retire_apply(retire, second, 0);
	assert_ptr_equal(shown, second);
	assert_int_equal(retire_count(retire), 0);
	assert_int_equal(retire_due_us(retire), G_MAXINT64);
}

static void an_id_that_is_not_wanted_stays_unhealthy(G_GNUC_UNUSED void **state)
{
	g_autoptr(Retire) retire = retire_new(AFTER);

	expect_shown(retire, "a b c", 0, "a b c");
	expect_shown(retire, "a c", 10, "a c !b");
	expect_shown(retire, "c", 20, "c !b !a");
	expect_shown(retire, "c", 1000000, "c !b !a");
	assert_int_equal(retire_count(retire), 2);
	assert_int_equal(retire_due_us(retire), 10 + AFTER);
}

static void it_goes_when_it_was_long_enough_and_nobody_holds_it(G_GNUC_UNUSED void **state)
{
	g_autoptr(Retire) retire = retire_new(AFTER);

	expect_shown(retire, "a b c", 0, "a b c");
	expect_shown(retire, "a c", 10, "a c !b");
	expect_shown(retire, "c", 20, "c !b !a");
	assert_false(release(retire, 10 + AFTER - 1, "  "));
	assert_false(release(retire, 10 + AFTER, " b "));
	expect_shown(retire, "c", 10 + AFTER, "c !b !a");
	assert_true(release(retire, 10 + AFTER, " c "));
	expect_shown(retire, "c", 10 + AFTER, "c !a");
	assert_int_equal(retire_due_us(retire), 20 + AFTER);
	assert_true(release(retire, 20 + AFTER, "  "));
	expect_shown(retire, "c", 20 + AFTER, "c");
	assert_int_equal(retire_count(retire), 0);
}

static void one_that_comes_back_begins_anew(G_GNUC_UNUSED void **state)
{
	g_autoptr(Retire) retire = retire_new(AFTER);

	expect_shown(retire, "a b", 0, "a b");
	expect_shown(retire, "a", 10, "a !b");
	expect_shown(retire, "b a", 20, "b a");
	assert_false(release(retire, 10000, "  "));
	expect_shown(retire, "a", 30, "a !b");
	assert_int_equal(retire_due_us(retire), 30 + AFTER);
}

static void a_resource_that_is_removed_never_shows_an_empty_list(G_GNUC_UNUSED void **state)
{
	g_autoptr(Retire) retire = retire_new(0);
	g_autoptr(Snapshot) full = list_of("a b"), nothing = snapshot_new("rdma/a");
	g_autoptr(Snapshot) shown = retire_apply(retire, full, 0);
	g_autofree char *text = NULL;

	snapshot_unref(shown);
	shown = retire_apply(retire, nothing, 5);
	text = text_of(shown);
	assert_string_equal(text, "!a !b");
	assert_true(release(retire, 5, " a "));
	assert_int_equal(retire_count(retire), 1);
	assert_true(release(retire, 6, "  "));
	assert_int_equal(retire_count(retire), 0);
}

static void what_else_a_snapshot_has_is_kept(G_GNUC_UNUSED void **state)
{
	g_autoptr(Retire) retire = retire_new(AFTER);
	g_autoptr(Snapshot) full = list_of("a b"), less = list_of("a");
	g_autoptr(Snapshot) shown = retire_apply(retire, full, 0);
	struct char_file *file = g_new0(struct char_file, 1);
	const struct char_file *copy;
	const struct slot *slot;

	file->host_path = g_strdup("/dev/infiniband/uverbs0");
	file->rdma_device = g_strdup("mlx5_0");
	file->dev_minor = 192;
	snapshot_add_file(less, file);
	g_ptr_array_add(less->notes, g_strdup("note"));
	snapshot_unref(shown);
	shown = retire_apply(retire, less, 1);
	assert_int_equal(shown->files->len, 1);
	copy = g_ptr_array_index(shown->files, 0);
	assert_string_equal(copy->host_path, "/dev/infiniband/uverbs0");
	assert_string_equal(copy->rdma_device, "mlx5_0");
	assert_int_equal(copy->dev_minor, 192);
	assert_string_equal(g_ptr_array_index(shown->notes, 0), "note");
	assert_string_equal(shown->resource, "rdma/a");
	slot = snapshot_find(shown, "b");
	assert_int_equal(slot->numa_node, -1);
	assert_false(slot->healthy);
}

static void shared_ids_are_compared_as_a_whole(G_GNUC_UNUSED void **state)
{
	g_autoptr(Retire) retire = retire_new(AFTER);
	g_autoptr(SlotIds) many = slot_ids_new("rdma/a", 1000), few = slot_ids_new("rdma/a", 998);
	SlotIds *lists[] = {many, many, few};

	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
		g_autoptr(Snapshot) list = snapshot_new("rdma/a");
		g_autoptr(Snapshot) shown = NULL;

		snapshot_share_ids(list, lists[i]);
		for (guint j = 0; j < slot_ids_count(lists[i]); j++)
			snapshot_next_slot(list, TRUE, -1);
		shown = retire_apply(retire, list, 0);
		assert_int_equal(shown->slots->len, 1000);
		assert_int_equal(snapshot_n_healthy(shown), slot_ids_count(lists[i]));
	}
	assert_int_equal(retire_count(retire), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wanted_is_shown_as_it_is),
		cmocka_unit_test(an_id_that_is_not_wanted_stays_unhealthy),
		cmocka_unit_test(it_goes_when_it_was_long_enough_and_nobody_holds_it),
		cmocka_unit_test(one_that_comes_back_begins_anew),
		cmocka_unit_test(a_resource_that_is_removed_never_shows_an_empty_list),
		cmocka_unit_test(what_else_a_snapshot_has_is_kept),
		cmocka_unit_test(shared_ids_are_compared_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
