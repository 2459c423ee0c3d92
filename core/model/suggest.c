/* SPDX-License-Identifier: Apache-2.0 */
#include "model/suggest.h"

#include <string.h>

/* Longer words are nobody's typing mistake, and the work grows with the square. */
#define LONGEST_WORD 64
#define SHORTEST_ENDING 4

/* Lower case without separators; returns the length, which may be cut. */
static gsize fold(const char *word, char ret_folded[LONGEST_WORD])
{
	gsize n = 0;
	for (; *word != '\0' && n < LONGEST_WORD; word++) {
		if (*word != '_' && *word != '-')
			ret_folded[n++] = g_ascii_tolower(*word);
	}
	return n;
}

struct rows {
	guint before_last[LONGEST_WORD + 1], last[LONGEST_WORD + 1], present[LONGEST_WORD + 1];
};

static guint cheapest_edit(const struct rows *rows, const char *a, const char *b, gsize i, gsize j)
{
	guint replace = rows->last[j - 1] + (a[i - 1] != b[j - 1]);
	guint best = MIN(replace, MIN(rows->last[j], rows->present[j - 1]) + 1);
	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
		best = MIN(best, rows->before_last[j - 2] + 1);
	return best;
}

guint suggest_distance(const char *a, const char *b)
{
	char folded_a[LONGEST_WORD], folded_b[LONGEST_WORD];
	gsize length_a = fold(a, folded_a), length_b = fold(b, folded_b);
	struct rows rows = {0};
	for (gsize j = 0; j <= length_b; j++)
		rows.present[j] = (guint)j;
	for (gsize i = 1; i <= length_a; i++) {
		memcpy(rows.before_last, rows.last, sizeof(rows.last));
		memcpy(rows.last, rows.present, sizeof(rows.last));
		rows.present[0] = (guint)i;
		for (gsize j = 1; j <= length_b; j++)
			rows.present[j] = cheapest_edit(&rows, folded_a, folded_b, i, j);
	}
	return rows.present[length_b];
}

/* "name" for "resourceName": the only candidate that ends so, or NULL. */
static const char *with_ending(const char *word, const char *const *candidates)
{
	char ending[LONGEST_WORD], folded[LONGEST_WORD];
	gsize length = fold(word, ending);
	const char *found = NULL;
	if (length < SHORTEST_ENDING || length == LONGEST_WORD)
		return NULL;
	for (; *candidates != NULL; candidates++) {
		gsize n = fold(*candidates, folded);
		if (n < length || memcmp(folded + n - length, ending, length) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = *candidates;
	}
	return found;
}

static const char *with_few_edits(const char *word, const char *const *candidates)
{
	gsize length = strlen(word);
	/* A third of the letters may be wrong, in a short word one. */
	guint best = length >= LONGEST_WORD ? 0 : (guint)MIN(MAX(length / 3, 1), 3) + 1;
	const char *nearest = NULL;
	for (; *candidates != NULL; candidates++) {
		guint distance = suggest_distance(word, *candidates);
		/* Two letters that are both wrong are another word. */
		if (distance >= best || distance >= strlen(*candidates))
			continue;
		best = distance;
		nearest = *candidates;
	}
	return nearest;
}

const char *suggest_nearest(const char *word, const char *const *candidates)
{
	const char *nearest = with_few_edits(word, candidates);
	return nearest != NULL ? nearest : with_ending(word, candidates);
}
