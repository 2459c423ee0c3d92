/* SPDX-License-Identifier: Apache-2.0 */
#include "support/stage.h"

#include <string.h>

#define S G_GINT64_CONSTANT(1000000)

static const struct offer_rules usual = {{10 * S, 10 * S, 60 * S, 3, FALSE}, 600 * S, FALSE, FALSE};

struct stage *stage_new_undecided(const char *config)
{
	struct stage *stage = stage_new(config);
	g_autoptr(ResourceConfig) built = config_build(config);

	stage->rules.undecided = TRUE;
	offer_free(stage->offer);
	stage->offer = offer_new(built, &stage->rules);
	return stage;
}

struct stage *stage_new(const char *config)
{
	struct stage *stage = g_new0(struct stage, 1);
	g_autoptr(ResourceConfig) built = config_build(config);

	stage->rules = usual;
	stage->offer = offer_new(built, &stage->rules);
	stage->log = g_string_new(NULL);
	stage->now_us = 1 * S;
	return stage;
}

void stage_free(struct stage *stage)
{
	offer_free(stage->offer);
	snapshot_unref(stage->shown);
	g_string_free(stage->log, TRUE);
	g_free(stage);
}

static void say(struct stage *stage)
{
	g_autoptr(GPtrArray) list = news_new();

	offer_tell(stage->offer, stage->now_us, list);
	for (guint i = 0; i < list->len; i++) {
		const struct news *news = g_ptr_array_index(list, i);

		g_string_append_printf(stage->log, "%c %s\n", "iwe"[news->level], news -> text);
	}
}

void stage_flush(struct stage *stage)
{
	g_autoptr(Snapshot) list = offer_take_list(stage->offer, stage->now_us);

	say(stage);
	if (list == NULL || (stage->shown != NULL && snapshot_same_list(list, stage->shown)))
		return;
	snapshot_unref(stage->shown);
	stage->shown = g_steal_pointer(&list);
	stage->n_messages++;
}

void stage_at(struct stage *stage, double second)
{
	gint64 until = (gint64)(second * S);
	gint64 deadline;

	g_assert(until >= stage->now_us);
	while ((deadline = offer_deadline(stage->offer)) >= 0 && deadline <= until) {
		stage->now_us = MAX(stage->now_us, deadline);
		offer_tick(stage->offer, stage->now_us);
		stage_flush(stage);
	}
	stage->now_us = until;
}

void stage_scan(struct stage *stage, enum offer_scan scan, const char *const *devices)
{
	g_autoptr(GPtrArray) list = device_build_all(devices);

	offer_scanned(stage->offer, list, scan, stage->now_us);
	stage_flush(stage);
}

static struct rdmadp_health health_of(const char *answer)
{
	static const char *const names[] = {"unknown", "ok",	"link",	 "files",
					    "gone",    "fatal", "vendor"};
	struct rdmadp_health health = {.size = sizeof(health)};
	const char *text = strchr(answer, ' ');
	gsize length = text == NULL ? strlen(answer) : (gsize)(text - answer);
	guint32 i = 0;

	while (strlen(names[i]) != length || strncmp(names[i], answer, length) != 0)
		g_assert(++i < G_N_ELEMENTS(names));
	health.state = MIN(i, RDMADP_UNHEALTHY);
	health.reason = i < RDMADP_UNHEALTHY ? 0 : i - 1;
	g_strlcpy(health.text, text == NULL ? "" : text + 1, sizeof(health.text));
	return health;
}

void stage_look(struct stage *stage, const char *identities, const char *answer)
{
	g_auto(GStrv) list = g_strsplit(identities, " ", -1);

	for (gsize i = 0; list[i] != NULL; i++) {
		if (strcmp(answer, "hang") == 0) {
			offer_observe_stuck(stage->offer, list[i], stage->now_us);
		} else {
			const struct rdmadp_health health = health_of(answer);

			offer_observe(stage->offer, list[i], &health, stage->now_us);
		}
	}
	stage_flush(stage);
}

void stage_poll(struct stage *stage)
{
	offer_poll(stage->offer, stage->now_us);
	stage_flush(stage);
}

void stage_first_look_over(struct stage *stage)
{
	offer_first_look_over(stage->offer, stage->now_us);
	stage_flush(stage);
}

void stage_held(struct stage *stage, const char *ids)
{
	g_auto(GStrv) words = g_strsplit(ids, " ", -1);
	g_autoptr(GPtrArray) list = g_ptr_array_new();

	for (gsize i = 0; words[i] != NULL; i++)
		g_ptr_array_add(list, words[i]);
	offer_held(stage->offer, list, list->len > 0 ? "'hpc/job-0'" : NULL, stage->now_us);
	stage_flush(stage);
}

char *stage_list(const struct stage *stage)
{
	GString *text = g_string_new(NULL);

	if (stage->shown == NULL)
		g_string_append(text, "none");
	for (guint i = 0; stage->shown != NULL && i < stage->shown->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(stage->shown->slots, i);

		g_string_append_c(text, slot->healthy ? 'H' : 'U');
	}
	return g_string_free(text, FALSE);
}
