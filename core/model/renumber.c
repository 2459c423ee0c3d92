/* SPDX-License-Identifier: Apache-2.0 */
#include "model/renumber.h"

/* A pod that is being admitted while the kubelet answers may be missing in the answer. */
#define SETTLE_US (G_GINT64_CONSTANT(10) * G_USEC_PER_SEC)

/* The numbers that an HCA had from an epoch on. */
struct past {
	guint epoch;
	GHashTable *numbers;
};

struct renumber {
	guint epoch; /* grows with each change */
	GHashTable *history; /* identity -> GPtrArray of struct past *, the oldest first */
	GHashTable *granted; /* id -> epoch of its last allocation; none: before all */
	GHashTable *stale; /* id -> why */
	gboolean is_open;
	gint64 changed_us;
	gint64 allocated_us;
};

static void past_free(gpointer data)
{
	struct past *past = data;

	g_hash_table_unref(past->numbers);
	g_free(past);
}

static void pasts_free(gpointer data)
{
	g_ptr_array_unref(data);
}

Renumber *renumber_new(void)
{
	Renumber *self = g_new0(Renumber, 1);

	self->history = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, pasts_free);
	self->granted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	self->stale = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return self;
}

void renumber_free(Renumber *renumber)
{
	if (renumber == NULL)
		return;
	g_hash_table_unref(renumber->history);
	g_hash_table_unref(renumber->granted);
	g_hash_table_unref(renumber->stale);
	g_free(renumber);
}

/* The first device that has a number in both, and not the same, or NULL. */
static const char *find_conflict(GHashTable *before, GHashTable *now)
{
	GHashTableIter iter;
	gpointer device, number;

	g_hash_table_iter_init(&iter, before);
	while (g_hash_table_iter_next(&iter, &device, &number)) {
		const char *other = g_hash_table_lookup(now, device);

		if (other != NULL && !g_str_equal(number, other))
			return device;
	}
	return NULL;
}

static gboolean is_same(GHashTable *a, GHashTable *b)
{
	GHashTableIter iter;
	gpointer device, number;

	if (g_hash_table_size(a) != g_hash_table_size(b))
		return FALSE;
	g_hash_table_iter_init(&iter, a);
	while (g_hash_table_iter_next(&iter, &device, &number))
		if (g_strcmp0(g_hash_table_lookup(b, device), number) != 0)
			return FALSE;
	return TRUE;
}

static const struct past *last_of(GPtrArray *pasts)
{
	return g_ptr_array_index(pasts, pasts->len - 1);
}

static GPtrArray *pasts_of(Renumber *self, const char *identity)
{
	GPtrArray *pasts = g_hash_table_lookup(self->history, identity);

	if (pasts == NULL) {
		pasts = g_ptr_array_new_with_free_func(past_free);
		g_hash_table_insert(self->history, g_strdup(identity), pasts);
	}
	return pasts;
}

static gboolean conflicts_with_any(GPtrArray *pasts, GHashTable *numbers)
{
	for (guint i = 0; i < pasts->len; i++)
		if (find_conflict(((const struct past *)g_ptr_array_index(pasts, i))->numbers,
				  numbers) != NULL)
			return TRUE;
	return FALSE;
}

static void append(Renumber *self, GPtrArray *pasts, GHashTable *numbers)
{
	struct past *past = g_new(struct past, 1);

	past->epoch = self->epoch;
	past->numbers = numbers;
	g_ptr_array_add(pasts, past);
}

gboolean renumber_note(Renumber *renumber, const char *identity, GHashTable *numbers, gint64 now_us)
{
	GPtrArray *pasts = pasts_of(renumber, identity);
	gboolean conflict;

	if (pasts->len > 0 && is_same(last_of(pasts)->numbers, numbers)) {
		g_hash_table_unref(numbers);
		return FALSE;
	}
	conflict = conflicts_with_any(pasts, numbers);
	/* What is new now is not in what was allocated so far. */
	if (pasts->len > 0 || renumber->allocated_us != 0)
		renumber->epoch++;
	append(renumber, pasts, numbers);
	if (conflict) {
		renumber->is_open = TRUE;
		renumber->changed_us = now_us;
	}
	return conflict;
}

void renumber_forget(Renumber *renumber, const char *identity)
{
	g_hash_table_remove(renumber->history, identity);
}

void renumber_allocated(Renumber *renumber, const char *id, gint64 now_us)
{
	/* Without a change so far, the ids that are not listed have the same numbers. */
	if (renumber->epoch > 0)
		g_hash_table_insert(renumber->granted, g_strdup(id),
				    GUINT_TO_POINTER(renumber->epoch));
	renumber->allocated_us = now_us;
}

gboolean renumber_is_open(const Renumber *renumber)
{
	return renumber->is_open;
}

/* --- who holds what --- */

/* What the HCA had when the epoch was that one; NULL: it was not there yet. */
static GHashTable *numbers_at(GPtrArray *pasts, guint epoch)
{
	for (guint i = pasts->len; i > 0; i--) {
		const struct past *past = g_ptr_array_index(pasts, i - 1);

		if (past->epoch <= epoch)
			return past->numbers;
	}
	return NULL;
}

/* Why what the id got of one HCA is not right any more, or NULL. */
static char *judge(const char *identity, GPtrArray *pasts, guint epoch)
{
	GHashTable *before = numbers_at(pasts, epoch);
	GHashTable *now = last_of(pasts)->numbers;
	const char *device = before == NULL ? NULL : find_conflict(before, now);

	return device == NULL
		       ? NULL
		       : g_strdup_printf("renumbered: %s of '%s' was %s when a pod got it and is "
					 "%s now; the pod has to be made again",
					 device, identity,
					 (const char *)g_hash_table_lookup(before, device),
					 (const char *)g_hash_table_lookup(now, device));
}

static char *judge_all(const Renumber *self, guint epoch)
{
	GHashTableIter iter;
	gpointer identity, pasts;

	g_hash_table_iter_init(&iter, self->history);
	while (g_hash_table_iter_next(&iter, &identity, &pasts)) {
		char *why = judge(identity, pasts, epoch);

		if (why != NULL)
			return why;
	}
	return NULL;
}

static char *judge_id(const Renumber *self, const char *id, const char *identity)
{
	guint epoch = GPOINTER_TO_UINT(g_hash_table_lookup(self->granted, id));
	GPtrArray *pasts;

	if (identity == NULL)
		return judge_all(self, epoch);
	pasts = g_hash_table_lookup(self->history, identity);
	return pasts == NULL ? NULL : judge(identity, pasts, epoch);
}

/* Nobody holds old numbers: only the present ones matter from now on. */
static void close_books(Renumber *self)
{
	GHashTableIter iter;
	gpointer pasts;

	g_hash_table_iter_init(&iter, self->history);
	while (g_hash_table_iter_next(&iter, NULL, &pasts)) {
		g_ptr_array_remove_range(pasts, 0, ((GPtrArray *)pasts)->len - 1);
		((struct past *)g_ptr_array_index((GPtrArray *)pasts, 0))->epoch = 0;
	}
	g_hash_table_remove_all(self->granted);
	self->epoch = 0;
	self->is_open = FALSE;
}

gboolean renumber_held(Renumber *renumber, GPtrArray *ids,
		       const char *(*identity_of)(const char *id, gpointer data), gpointer data,
		       gint64 asked_us)
{
	GHashTable *before = renumber->stale;
	gboolean changed;

	if (!renumber->is_open || asked_us < renumber->changed_us)
		return FALSE;
	renumber->stale = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (guint i = 0; i < ids->len; i++) {
		const char *id = g_ptr_array_index(ids, i);
		char *why = judge_id(renumber, id, identity_of(id, data));

		if (why != NULL)
			g_hash_table_insert(renumber->stale, g_strdup(id), why);
	}
	changed = !is_same(before, renumber->stale);
	g_hash_table_unref(before);
	if (g_hash_table_size(renumber->stale) == 0 &&
	    asked_us >= renumber->allocated_us + SETTLE_US)
		close_books(renumber);
	return changed;
}

void renumber_each_stale(const Renumber *renumber,
			 void (*visit)(const char *id, const char *why, gpointer data),
			 gpointer data)
{
	GHashTableIter iter;
	gpointer id, why;

	g_hash_table_iter_init(&iter, renumber->stale);
	while (g_hash_table_iter_next(&iter, &id, &why))
		visit(id, why, data);
}
