/* SPDX-License-Identifier: Apache-2.0 */
#include "model/health_board.h"

#define PACE_US (G_GINT64_CONSTANT(60) * G_USEC_PER_SEC)
/* Names in one sentence. */
#define MAX_NAMES 16

struct tracked {
	struct health health;
	char *name;
	gboolean told_bad; /* what was said last; nothing counts as good */
	gint64 told_us; /* 0: nothing was said so far */
	guint untold; /* changes since then */
	gboolean is_trust_told;
	char *remark; /* the last one */
	gboolean has_remark; /* it is to be told */
};

struct health_board {
	struct health_rules rules;
	GPtrArray *order; /* struct tracked *, as they came */
	GHashTable *by_identity; /* the same */
};

static void tracked_free(gpointer data)
{
	struct tracked *tracked = data;

	health_clear(&tracked->health);
	g_free(tracked->name);
	g_free(tracked->remark);
	g_free(tracked);
}

HealthBoard *health_board_new(const struct health_rules *rules)
{
	HealthBoard *board = g_new0(HealthBoard, 1);

	board->rules = *rules;
	board->order = g_ptr_array_new_with_free_func(tracked_free);
	board->by_identity = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return board;
}

void health_board_free(HealthBoard *board)
{
	if (board == NULL)
		return;
	g_hash_table_unref(board->by_identity);
	g_ptr_array_unref(board->order);
	g_free(board);
}

void health_board_set_rules(HealthBoard *board, const struct health_rules *rules)
{
	board->rules = *rules;
}

static struct tracked *find(const HealthBoard *board, const char *identity)
{
	return g_hash_table_lookup(board->by_identity, identity);
}

static struct tracked *find_or_add(HealthBoard *board, const char *identity, const char *name)
{
	struct tracked *tracked = find(board, identity);

	if (tracked == NULL) {
		tracked = g_new0(struct tracked, 1);
		g_ptr_array_add(board->order, tracked);
		g_hash_table_insert(board->by_identity, g_strdup(identity), tracked);
	}
	if (g_strcmp0(tracked->name, name) != 0) {
		g_free(tracked->name);
		tracked->name = g_strdup(name);
	}
	return tracked;
}

void health_board_restore(HealthBoard *board, const char *identity, const char *name,
			  const char *reason, gboolean was_good, gint64 now_us)
{
	struct health *health = &find_or_add(board, identity, name)->health;
	g_auto(GStrv) parts = g_strsplit(reason != NULL ? reason : "", ": ", 2);

	health_restore(health, reason == NULL, was_good, now_us);
	if (parts[0] == NULL)
		return;
	health->code = health_code_parse(parts[0]);
	health->text = g_strdup(parts[1]);
}

static gboolean note_change(struct tracked *tracked, gboolean changed)
{
	tracked->untold += changed ? 1 : 0;
	return changed;
}

gboolean health_board_observe(HealthBoard *board, const char *identity, const char *name,
			      const struct health_sight *sight, gint64 now_us)
{
	struct tracked *tracked = find_or_add(board, identity, name);

	return note_change(tracked, health_observe(&tracked->health, &board->rules, sight, now_us));
}

gboolean health_board_tick(HealthBoard *board, gint64 now_us,
			   void (*changed)(const char *identity, gpointer data), gpointer data)
{
	GHashTableIter iter;
	gpointer identity, value;
	gboolean any = FALSE;

	g_hash_table_iter_init(&iter, board->by_identity);
	while (g_hash_table_iter_next(&iter, &identity, &value)) {
		struct tracked *tracked = value;

		if (!note_change(tracked, health_tick(&tracked->health, &board->rules, now_us)))
			continue;
		changed(identity, data);
		any = TRUE;
	}
	return any;
}

void health_board_count(HealthBoard *board, const char *identity, guint64 link_downs)
{
	struct tracked *tracked = find(board, identity);

	if (tracked != NULL)
		tracked->health.link_downs = link_downs;
}

const struct health *health_board_find(const HealthBoard *board, const char *identity)
{
	const struct tracked *tracked = find(board, identity);

	return tracked == NULL ? NULL : &tracked->health;
}

static char *reason_of(const struct health *health)
{
	return g_strdup_printf("%s%s%s", health_code_name(health->code),
			       health->text == NULL ? "" : ": ",
			       health->text == NULL ? "" : health->text);
}

char *health_board_reason(const HealthBoard *board, const char *identity)
{
	const struct tracked *tracked = find(board, identity);

	return tracked == NULL || health_is_good(&tracked->health) ? NULL
								   : reason_of(&tracked->health);
}

void health_board_forget(HealthBoard *board, const char *identity)
{
	struct tracked *tracked = find(board, identity);

	if (tracked == NULL)
		return;
	g_hash_table_remove(board->by_identity, identity);
	g_ptr_array_remove(board->order, tracked);
}

void health_board_remark(HealthBoard *board, const char *identity, const char *text)
{
	struct tracked *tracked = find(board, identity);

	if (tracked == NULL || g_strcmp0(tracked->remark, text) == 0)
		return;
	g_free(tracked->remark);
	tracked->remark = g_strdup(text);
	tracked->has_remark = text != NULL;
}

/* --- what is to be said --- */

static gboolean has_news(const struct tracked *tracked)
{
	return health_is_good(&tracked->health) == tracked->told_bad;
}

static gint64 may_speak_from(const struct tracked *tracked)
{
	return tracked->told_us == 0 ? 0 : tracked->told_us + PACE_US;
}

static gint64 earlier(gint64 a, gint64 b)
{
	return a < 0 || b < 0 ? MAX(a, b) : MIN(a, b);
}

gint64 health_board_deadline(const HealthBoard *board)
{
	gint64 deadline = -1;

	for (guint i = 0; i < board->order->len; i++) {
		const struct tracked *tracked = g_ptr_array_index(board->order, i);

		deadline = earlier(deadline, health_deadline(&tracked->health, &board->rules));
		if (has_news(tracked))
			deadline = earlier(deadline, may_speak_from(tracked));
	}
	return deadline;
}

/* The same kind of sentence can name both. */
static gboolean is_same_news(const struct tracked *a, const struct tracked *b)
{
	gboolean good = health_is_good(&a->health);

	return good == health_is_good(&b->health) && (good || a->health.code == b->health.code);
}

static char *join_names(GPtrArray *group)
{
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; i < group->len && i < MAX_NAMES; i++) {
		const struct tracked *tracked = g_ptr_array_index(group, i);

		g_string_append_printf(names, "%s'%s'", i > 0 ? ", " : "", tracked->name);
	}
	if (group->len > MAX_NAMES)
		g_string_append_printf(names, " and %u more", group->len - MAX_NAMES);
	return g_string_free(g_steal_pointer(&names), FALSE);
}

/* What differs from HCA to HCA is only told of one. */
static char *describe_group(GPtrArray *group)
{
	const struct tracked *first = g_ptr_array_index(group, 0);
	g_autofree char *reason = NULL;

	if (health_is_good(&first->health))
		return g_strdup("Healthy again");
	reason = reason_of(&first->health);
	return g_strdup_printf("Unhealthy: %s", reason);
}

static void tell_group(const HealthBoard *board, GPtrArray *group, GPtrArray *list)
{
	const struct tracked *first = g_ptr_array_index(group, 0);
	gboolean good = health_is_good(&first->health);
	gboolean all_gone = !good && group->len > 1 && group->len == board->order->len &&
			    first->health.code == HEALTH_CODE_GONE;
	g_autofree char *names = join_names(group);
	g_autofree char *what = describe_group(group);
	g_autofree char *more =
		first->untold > 1
			? g_strdup_printf(" (%u changes since the last message)", first->untold)
			: g_strdup("");

	news_add(list, good ? NEWS_INFO : NEWS_WARNING, "%s%s %s %s%s%s",
		 group->len == 1 ? "HCA " : "HCAs ", names, group->len == 1 ? "is" : "are", what,
		 more,
		 all_gone ? "; all at once, as when the driver is reloaded or the bus is lost"
			  : "");
}

/* The HCAs that come with 'first' and may be spoken of now. */
static GPtrArray *take_group(const HealthBoard *board, const struct tracked *first, gint64 now_us)
{
	GPtrArray *group = g_ptr_array_new();

	for (guint i = 0; i < board->order->len; i++) {
		struct tracked *other = g_ptr_array_index(board->order, i);

		if (has_news(other) && may_speak_from(other) <= now_us &&
		    is_same_news(first, other))
			g_ptr_array_add(group, other);
	}
	return group;
}

static void tell_changes(const HealthBoard *board, gint64 now_us, GPtrArray *list)
{
	for (guint i = 0; i < board->order->len; i++) {
		const struct tracked *first = g_ptr_array_index(board->order, i);
		g_autoptr(GPtrArray) group = NULL;

		if (!has_news(first) || may_speak_from(first) > now_us)
			continue;
		group = take_group(board, first, now_us);
		tell_group(board, group, list);
		for (guint j = 0; j < group->len; j++) {
			struct tracked *tracked = g_ptr_array_index(group, j);

			tracked->told_bad = !tracked->told_bad;
			tracked->told_us = now_us;
			tracked->untold = 0;
		}
	}
}

static void tell_trust(const HealthBoard *board, GPtrArray *list)
{
	g_autoptr(GPtrArray) group = g_ptr_array_new();
	g_autofree char *names = NULL;

	for (guint i = 0; i < board->order->len; i++) {
		struct tracked *tracked = g_ptr_array_index(board->order, i);

		if (!tracked->health.assumed || tracked->is_trust_told)
			continue;
		tracked->is_trust_told = TRUE;
		g_ptr_array_add(group, tracked);
	}
	if (group->len == 0)
		return;
	names = join_names(group);
	news_add(list, NEWS_WARNING,
		 "the link of %s was never up and yet counts as good, because initial_state is "
		 "\"assume\": %s",
		 names, ((const struct tracked *)g_ptr_array_index(group, 0))->health.text);
}

static void tell_remarks(const HealthBoard *board, GPtrArray *list)
{
	g_autoptr(GPtrArray) group = g_ptr_array_new();
	g_autofree char *names = NULL;

	for (guint i = 0; i < board->order->len; i++) {
		struct tracked *tracked = g_ptr_array_index(board->order, i);

		if (!tracked->has_remark)
			continue;
		tracked->has_remark = FALSE;
		g_ptr_array_add(group, tracked);
	}
	if (group->len == 0)
		return;
	names = join_names(group);
	news_add(list, NEWS_INFO,
		 "%s %s healthy although the last scan found no port of it ACTIVE: %s", names,
		 group->len == 1 ? "counts as" : "count as",
		 ((const struct tracked *)g_ptr_array_index(group, 0))->remark);
}

void health_board_tell(HealthBoard *board, gint64 now_us, GPtrArray *list)
{
	tell_changes(board, now_us, list);
	tell_trust(board, list);
	tell_remarks(board, list);
}
