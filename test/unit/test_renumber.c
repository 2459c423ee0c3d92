/* SPDX-License-Identifier: Apache-2.0 */
#include "model/renumber.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define S G_GINT64_CONSTANT(1000000)

/* "uverbs=231:192 umad=231:0" */
static gboolean note(Renumber *renumber, const char *identity, const char *words, gint64 now)
{
	GHashTable *numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_auto(GStrv) list = g_strsplit(words, " ", -1);

	for (gsize i = 0; list[i] != NULL; i++) {
		g_auto(GStrv) pair = g_strsplit(list[i], "=", 2);

		g_hash_table_insert(numbers, g_strdup(pair[0]), g_strdup(pair[1]));
	}
	return renumber_note(renumber, identity, numbers, now);
}

/* "x-0 x-1": the ids of slots; an id that is the identity of an HCA stands for that. */
static const char *identity_of(const char *id, G_GNUC_UNUSED gpointer data)
{
	return id[0] == 'x' ? NULL : id;
}

static gboolean held(Renumber *renumber, const char *words, gint64 asked)
{
	g_auto(GStrv) list = g_strsplit(words, " ", -1);
	g_autoptr(GPtrArray) ids = g_ptr_array_new();

	for (gsize i = 0; list[i] != NULL; i++)
		g_ptr_array_add(ids, list[i]);
	return renumber_held(renumber, ids, identity_of, NULL, asked);
}

struct search {
	const char *id; /* that is looked for */
	const char *why; /* it is stale, or NULL */
	guint n; /* stale ones */
};

static void visit(const char *id, const char *why, gpointer data)
{
	struct search *search = data;

	assert_non_null(why);
	search->n++;
	if (g_strcmp0(id, search->id) == 0)
		search->why = why;
}

static const char *stale(const Renumber *renumber, const char *id)
{
	struct search search = {.id = id};

	renumber_each_stale(renumber, visit, &search);
	return search.why;
}

static guint n_stale(const Renumber *renumber)
{
	struct search search = {0};

	renumber_each_stale(renumber, visit, &search);
	return search.n;
}

static void numbers_that_stay_are_no_news(G_GNUC_UNUSED void **state)
{
	g_autoptr(Renumber) renumber = renumber_new();

	assert_false(note(renumber, "a", "uverbs=231:192", 1 * S));
	assert_false(note(renumber, "a", "uverbs=231:192", 2 * S));
	/* what comes in addition harms nobody, what goes is not another's */
	assert_false(note(renumber, "a", "uverbs=231:192 umad=231:0", 3 * S));
	assert_false(note(renumber, "a", "umad=231:0", 4 * S));
	assert_false(note(renumber, "a", "uverbs=231:192", 5 * S));
	assert_false(renumber_is_open(renumber));
	assert_false(held(renumber, "x-0", 6 * S));
}

static void whoever_holds_a_slot_from_before_is_stale(G_GNUC_UNUSED void **state)
{
	g_autoptr(Renumber) renumber = renumber_new();

	note(renumber, "a", "uverbs=231:192", 1 * S);
	note(renumber, "b", "uverbs=231:193", 1 * S);
	renumber_allocated(renumber, "x-1", 2 * S);
	assert_true(note(renumber, "a", "uverbs=231:193", 5 * S));
	assert_true(note(renumber, "b", "uverbs=231:192", 5 * S));
	assert_true(renumber_is_open(renumber));
	/* an answer from before says nothing */
	assert_false(held(renumber, "x-0 x-1", 4 * S));
	renumber_allocated(renumber, "x-2", 6 * S);
	assert_true(held(renumber, "x-0 x-1 x-2", 7 * S));
	assert_int_equal(n_stale(renumber), 2);
	assert_non_null(strstr(stale(renumber, "x-0"), "renumbered: uverbs of '"));
	assert_non_null(stale(renumber, "x-1"));
	assert_null(stale(renumber, "x-2"));
	/* as they end */
	assert_false(held(renumber, "x-0 x-1 x-2", 8 * S));
	assert_true(held(renumber, "x-0 x-2", 9 * S));
	assert_true(held(renumber, "x-2", 20 * S));
	assert_int_equal(n_stale(renumber), 0);
	assert_false(renumber_is_open(renumber));
	/* and the same id is right from then on */
	assert_false(held(renumber, "x-0 x-1 x-2", 30 * S));
}

static void an_id_of_one_hca_is_stale_only_with_it(G_GNUC_UNUSED void **state)
{
	g_autoptr(Renumber) renumber = renumber_new();

	note(renumber, "a", "uverbs=231:192", 1 * S);
	note(renumber, "b", "uverbs=231:193", 1 * S);
	assert_true(note(renumber, "b", "uverbs=231:199", 2 * S));
	assert_true(held(renumber, "a b c", 3 * S));
	assert_null(stale(renumber, "a"));
	assert_string_equal(stale(renumber, "b"),
			    "renumbered: uverbs of 'b' was 231:193 when a pod got it and is "
			    "231:199 now; the pod has to be made again");
	assert_null(stale(renumber, "c"));
}

static void numbers_that_come_back_make_good(G_GNUC_UNUSED void **state)
{
	g_autoptr(Renumber) renumber = renumber_new();

	note(renumber, "a", "uverbs=231:192", 1 * S);
	note(renumber, "a", "uverbs=231:193", 2 * S);
	renumber_allocated(renumber, "x-1", 3 * S);
	assert_true(held(renumber, "x-0 x-1", 4 * S));
	assert_non_null(stale(renumber, "x-0"));
	assert_true(note(renumber, "a", "uverbs=231:192", 5 * S));
	assert_true(held(renumber, "x-0 x-1", 6 * S));
	assert_null(stale(renumber, "x-0"));
	assert_non_null(stale(renumber, "x-1"));
}

static void an_hca_that_came_later_is_not_in_what_was_before(G_GNUC_UNUSED void **state)
{
	g_autoptr(Renumber) renumber = renumber_new();

	note(renumber, "a", "uverbs=231:192", 1 * S);
	renumber_allocated(renumber, "x-0", 2 * S);
	assert_false(note(renumber, "b", "uverbs=231:193", 3 * S));
	renumber_allocated(renumber, "x-1", 4 * S);
	assert_true(note(renumber, "b", "uverbs=231:194", 5 * S));
	assert_true(held(renumber, "x-0 x-1", 6 * S));
	assert_null(stale(renumber, "x-0"));
	assert_non_null(stale(renumber, "x-1"));
	renumber_forget(renumber, "b");
	assert_true(held(renumber, "x-0 x-1", 30 * S));
	assert_false(renumber_is_open(renumber));
}

/* A pod that is being admitted is not in the kubelet's answer yet. */
static void a_fresh_allocation_keeps_the_books_open(G_GNUC_UNUSED void **state)
{
	g_autoptr(Renumber) renumber = renumber_new();

	note(renumber, "a", "uverbs=231:192", 1 * S);
	renumber_allocated(renumber, "x-0", 10 * S);
	note(renumber, "a", "uverbs=231:193", 11 * S);
	assert_false(held(renumber, "", 12 * S));
	assert_true(renumber_is_open(renumber));
	assert_true(held(renumber, "x-0", 13 * S));
	assert_int_equal(n_stale(renumber), 1);
	assert_true(held(renumber, "", 25 * S));
	assert_false(renumber_is_open(renumber));
	renumber_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_that_stay_are_no_news),
		cmocka_unit_test(whoever_holds_a_slot_from_before_is_stale),
		cmocka_unit_test(an_id_of_one_hca_is_stale_only_with_it),
		cmocka_unit_test(numbers_that_come_back_make_good),
		cmocka_unit_test(an_hca_that_came_later_is_not_in_what_was_before),
		cmocka_unit_test(a_fresh_allocation_keeps_the_books_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
