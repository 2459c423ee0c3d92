/* SPDX-License-Identifier: Apache-2.0 */
#include "model/prefer.h"

#include <string.h>

#define MAX_LEVELS 4

/* How far up two devices are compared: a level splits a run of sorted candidates into
 * groups, and a group into the groups of the next level. */
typedef int (*level_fn)(const struct prefer_candidate *a, const struct prefer_candidate *b);

struct levels {
	level_fn compare[MAX_LEVELS];
	guint n;
	gboolean spread_last; /* the last level shares out instead of packing */
};

struct group {
	struct prefer_candidate *first;
	gsize n; /* all of its candidates */
	gsize free; /* those that are not chosen yet */
	gboolean used; /* one of them is chosen */
};

struct choice {
	const struct levels *levels;
	GPtrArray *ids;
};

static int compare_text(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int compare_numa(const struct prefer_candidate *a, const struct prefer_candidate *b)
{
	return (a->numa_node > b->numa_node) - (a->numa_node < b->numa_node);
}

static int compare_root(const struct prefer_candidate *a, const struct prefer_candidate *b)
{
	return (a->root > b->root) - (a->root < b->root);
}

/* By their first bytes. */
static int compare_paths(const struct prefer_candidate *a, gsize a_length,
			 const struct prefer_candidate *b, gsize b_length)
{
	gsize shorter = MIN(a_length, b_length);
	int order = shorter > 0 ? memcmp(a->pcie_path, b->pcie_path, shorter) : 0;

	return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_switch(const struct prefer_candidate *a, const struct prefer_candidate *b)
{
	return compare_paths(a, a->switch_length, b, b->switch_length);
}

static int compare_card(const struct prefer_candidate *a, const struct prefer_candidate *b)
{
	return compare_paths(a, a->card_length, b, b->card_length);
}

static int compare_parent(const struct prefer_candidate *a, const struct prefer_candidate *b)
{
	return compare_text(a->parent != NULL ? a->parent : a->id,
			    b->parent != NULL ? b->parent : b->id);
}

static const struct levels packed = {
	{compare_numa, compare_root, compare_switch, compare_card}, 4, FALSE};
static const struct levels distributed = {{compare_numa, compare_parent}, 2, TRUE};

static int candidate_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct levels *levels = data;
	int order = 0;

	for (guint level = 0; level < levels->n && order == 0; level++)
		order = levels->compare[level](a, b);
	return order != 0 ? order
			  : compare_text(((const struct prefer_candidate *)a)->id,
					 ((const struct prefer_candidate *)b)->id);
}

static void choice_add(struct choice *choice, struct prefer_candidate *candidate)
{
	candidate->must = TRUE; /* from here on it counts as chosen */
	g_ptr_array_add(choice->ids, (gpointer)candidate->id);
}

/* Splits a sorted run into the groups of one level. */
static GArray *groups_split(level_fn compare, struct prefer_candidate *first, gsize n)
{
	GArray *groups = g_array_new(FALSE, FALSE, sizeof(struct group));
	struct group group = {0};

	for (gsize i = 0; i < n; i++) {
		if (group.n > 0 && compare(group.first, &first[i]) != 0) {
			g_array_append_val(groups, group);
			group = (struct group){0};
		}
		if (group.n++ == 0)
			group.first = &first[i];
		group.free += !first[i].must;
		group.used |= first[i].must;
	}
	if (group.n > 0)
		g_array_append_val(groups, group);
	return groups;
}

/* Groups in use come first, so that no other is opened while they have room; then
 * the largest, so that few are opened; equal ones in bus order. */
static int group_compare(gconstpointer a, gconstpointer b)
{
	const struct group *first = a;
	const struct group *second = b;

	if (first->used != second->used)
		return second->used - first->used;
	if (first->free != second->free)
		return first->free < second->free ? 1 : -1;
	return (first->first > second->first) - (first->first < second->first);
}

static GArray *groups_sorted(const struct levels *levels, guint level,
			     struct prefer_candidate *first, gsize n)
{
	GArray *groups = groups_split(levels->compare[level], first, n);

	g_array_sort(groups, group_compare);
	return groups;
}

/* --- what a choice costs: how many groups it opens at each level --- */

struct cost {
	guint opened[MAX_LEVELS];
};

static void cost_add(struct cost *cost, const struct cost *more)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cost->opened); i++)
		cost->opened[i] += more->opened[i];
}

static int cost_compare(const struct cost *a, const struct cost *b)
{
	int order = 0;

	for (gsize i = 0; i < G_N_ELEMENTS(a->opened) && order == 0; i++)
		order = (a->opened[i] > b->opened[i]) - (a->opened[i] < b->opened[i]);
	return order;
}

static struct cost cost_in(const struct levels *levels, guint level, const struct group *group,
			   gsize size);

/* Taking so many from a group of this level. */
static struct cost cost_of(const struct levels *levels, guint level, const struct group *group,
			   gsize size)
{
	struct cost cost = cost_in(levels, level + 1, group, size);

	cost.opened[level] += !group->used;
	return cost;
}

/* Among the groups from 'at' on that suffice, and are alike in being used: the one in
 * which least is opened, then the smallest. They are sorted by size. */
static guint group_best(const struct levels *levels, guint level, const GArray *groups, guint at,
			gsize size)
{
	const struct group *group = &g_array_index(groups, struct group, at);
	struct cost least = cost_of(levels, level, group, size);
	guint best = at;

	for (guint i = at + 1; i < groups->len; i++) {
		const struct group *other = &g_array_index(groups, struct group, i);
		struct cost cost;
		int order;

		if (other->used != group->used || other->free < size)
			break;
		cost = cost_of(levels, level, other, size);
		order = cost_compare(&cost, &least);
		if (order > 0 ||
		    (order == 0 && other->free >= g_array_index(groups, struct group, best).free))
			continue;
		least = cost;
		best = i;
	}
	return best;
}

/* The cost of what pack does below the group. */
static struct cost cost_in(const struct levels *levels, guint level, const struct group *group,
			   gsize size)
{
	g_autoptr(GArray) groups = NULL;
	struct cost cost = {0};

	if (level >= levels->n - levels->spread_last)
		return cost;
	groups = groups_sorted(levels, level, group->first, group->n);
	for (guint i = 0; i < groups->len && size > 0; i++) {
		const struct group *part = &g_array_index(groups, struct group, i);
		struct cost more;

		if (part->free >= size)
			part = &g_array_index(groups, struct group,
					      group_best(levels, level, groups, i, size));
		if (part->free == 0)
			continue;
		more = cost_of(levels, level, part, MIN(part->free, size));
		cost_add(&cost, &more);
		size -= MIN(part->free, size);
	}
	return cost;
}

/* --- the choice --- */

static void choose_in(struct choice *choice, guint level, struct prefer_candidate *first, gsize n,
		      gsize size);

static void take_from(struct choice *choice, guint level, const struct group *group, gsize size)
{
	if (size > 0)
		choose_in(choice, level + 1, group->first, group->n, size);
}

static void pack(struct choice *choice, guint level, GArray *groups, gsize size)
{
	for (guint i = 0; i < groups->len && size > 0; i++) {
		const struct group *group = &g_array_index(groups, struct group, i);

		if (group->free >= size)
			group = &g_array_index(groups, struct group,
					       group_best(choice->levels, level, groups, i, size));
		take_from(choice, level, group, MIN(group->free, size));
		size -= MIN(group->free, size);
	}
}

/* How many could be taken if no group were left with more than 'rest'. */
static gsize above(const GArray *groups, gsize rest)
{
	gsize sum = 0;

	for (guint i = 0; i < groups->len; i++) {
		gsize free = g_array_index(groups, struct group, i).free;

		sum += free > rest ? free - rest : 0;
	}
	return sum;
}

/* What spread takes from one group. */
struct share {
	const struct group *group;
	gsize take;
};

/* Those first that would get most of this container, then the last ones in bus order. */
static int share_compare(gconstpointer a, gconstpointer b)
{
	const struct share *first = a;
	const struct share *second = b;
	gsize first_has = first->take + first->group->n - first->group->free;
	gsize second_has = second->take + second->group->n - second->group->free;

	if (first_has != second_has)
		return first_has < second_has ? 1 : -1;
	return (first->group->first < second->group->first) -
	       (first->group->first > second->group->first);
}

/* The highest rest that yields enough. */
static gsize find_rest(const GArray *groups, gsize size)
{
	gsize low = 0;
	gsize high = 0;

	for (guint i = 0; i < groups->len; i++)
		high = MAX(high, g_array_index(groups, struct group, i).free);
	while (low < high) {
		gsize middle = low + (high - low + 1) / 2;

		if (above(groups, middle) >= size)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Takes from each group so much that what is left is even, and gives the surplus of the
 * last step back where the container has most. */
static void spread(struct choice *choice, guint level, GArray *groups, gsize size)
{
	g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(struct share));
	gsize rest = find_rest(groups, size);
	gsize surplus = above(groups, rest) > size ? above(groups, rest) - size : 0;

	for (guint i = 0; i < groups->len; i++) {
		const struct group *group = &g_array_index(groups, struct group, i);
		struct share share = {group, group->free > rest ? group->free - rest : 0};

		if (share.take > 0)
			g_array_append_val(shares, share);
	}
	g_array_sort(shares, share_compare);
	for (guint i = 0; i < shares->len; i++) {
		const struct share *share = &g_array_index(shares, struct share, i);

		take_from(choice, level, share->group, share->take - (i < surplus));
	}
}

static void choose_in(struct choice *choice, guint level, struct prefer_candidate *first, gsize n,
		      gsize size)
{
	const struct levels *levels = choice->levels;
	g_autoptr(GArray) groups = NULL;

	if (level == levels->n) {
		for (gsize i = 0; i < n && size > 0; i++) {
			if (first[i].must)
				continue;
			choice_add(choice, &first[i]);
			size--;
		}
		return;
	}
	groups = groups_sorted(levels, level, first, n);
	if (levels->spread_last && level == levels->n - 1)
		spread(choice, level, groups, size);
	else
		pack(choice, level, groups, size);
}

/* --- places, prepared for many comparisons --- */

/* Bytes of a path of that length without its last part. */
static gsize shortened(const char *path, gsize length)
{
	while (length > 0 && path[length - 1] != '/')
		length--;
	return length - (length > 0);
}

static int text_order(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *root_of(const struct prefer_candidate *candidate)
{
	return candidate->pcie_root != NULL ? candidate->pcie_root : "";
}

/* Numbers the PCIe roots in the order of their names. */
static void number_roots(struct prefer_candidate *candidates, gsize n)
{
	g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) roots = g_ptr_array_new();

	for (gsize i = 0; i < n; i++)
		if (g_hash_table_add(numbers, (gpointer)root_of(&candidates[i])))
			g_ptr_array_add(roots, (gpointer)root_of(&candidates[i]));
	g_ptr_array_sort(roots, text_order);
	for (guint i = 0; i < roots->len; i++)
		g_hash_table_insert(numbers, g_ptr_array_index(roots, i), GUINT_TO_POINTER(i));
	for (gsize i = 0; i < n; i++)
		candidates[i].root =
			GPOINTER_TO_UINT(g_hash_table_lookup(numbers, root_of(&candidates[i])));
}

/* A switch has a port of its own for each card: the path is switch, port, device. */
static void measure_path(struct prefer_candidate *candidate)
{
	const char *path = candidate->pcie_path;

	candidate->card_length = path != NULL ? shortened(path, strlen(path)) : 0;
	candidate->switch_length = shortened(path, candidate->card_length);
}

GPtrArray *prefer_choose(struct prefer_candidate *candidates, gsize n_candidates, gsize size,
			 enum allocation_policy policy)
{
	struct choice choice = {
		.levels = policy == ALLOCATION_DISTRIBUTED ? &distributed : &packed,
		.ids = g_ptr_array_new(),
	};

	number_roots(candidates, n_candidates);
	for (gsize i = 0; i < n_candidates; i++)
		measure_path(&candidates[i]);
	if (n_candidates > 0)
		g_qsort_with_data(candidates, (gint)n_candidates, sizeof(*candidates),
				  candidate_compare, (gpointer)choice.levels);
	for (gsize i = 0; i < n_candidates && choice.ids->len < size; i++)
		if (candidates[i].must)
			g_ptr_array_add(choice.ids, (gpointer)candidates[i].id);
	if (choice.ids->len < size)
		choose_in(&choice, 0, candidates, n_candidates, size - choice.ids->len);
	g_ptr_array_sort(choice.ids, text_order);
	return choice.ids;
}
