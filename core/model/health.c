/* SPDX-License-Identifier: Apache-2.0 */
#include "model/health.h"

static void health_enter(struct health *health, enum health_state state, gint64 now_us)
{
	health->state = state;
	health->since_us = now_us;
}

void health_clear(struct health *health)
{
	g_free(health->text);
	*health = (struct health){0};
}

gboolean health_is_good(const struct health *health)
{
	switch (health->state) {
	case HEALTH_STATE_UNKNOWN:
	case HEALTH_STATE_HEALTHY:
	case HEALTH_STATE_SUSPECT:
		return TRUE;
	case HEALTH_STATE_UNHEALTHY:
	case HEALTH_STATE_RECOVERING:
	case HEALTH_STATE_MISSING:
		break;
	}
	return FALSE;
}

static void health_set_reason(struct health *health, enum health_code code, const char *text)
{
	health->code = code;
	if (g_strcmp0(text, health->text) == 0)
		return;
	g_free(health->text);
	health->text = g_strdup(text);
}

/* Unreadable until it is looked at, so that one which never answers ends unhealthy. */
void health_restore(struct health *health, gboolean good, gboolean was_good, gint64 now_us)
{
	health_enter(health, good ? HEALTH_STATE_UNKNOWN : HEALTH_STATE_UNHEALTHY, now_us);
	health->unreadable_since_us = now_us;
	health->was_good = was_good;
}

static void health_fail(struct health *health, gint64 now_us)
{
	health_enter(health,
		     health->code == HEALTH_CODE_GONE ? HEALTH_STATE_MISSING
						      : HEALTH_STATE_UNHEALTHY,
		     now_us);
}

/* --- what is seen --- */

static void health_see_good(struct health *health, gint64 now_us)
{
	switch (health->state) {
	case HEALTH_STATE_SUSPECT:
		health->flaps += health->pending ? 0 : 1;
		health_enter(health, HEALTH_STATE_HEALTHY, now_us);
		break;
	case HEALTH_STATE_UNKNOWN:
		health_enter(health, HEALTH_STATE_HEALTHY, now_us);
		break;
	case HEALTH_STATE_UNHEALTHY:
	case HEALTH_STATE_MISSING:
		health_enter(health, HEALTH_STATE_RECOVERING, now_us);
		break;
	case HEALTH_STATE_HEALTHY:
	case HEALTH_STATE_RECOVERING:
		break;
	}
	health->pending = FALSE;
}

/* What was unreadable at the first look was told as healthy, so that a bad
 * observation afterwards is a change like any other; without any look before, or with
 * none of a complete HCA, it is the first word and needs no delay. */
static void health_see_bad(struct health *health, gint64 now_us)
{
	gboolean first = health->since_us == 0 || health->pending;

	health->pending = FALSE;
	switch (health->state) {
	case HEALTH_STATE_UNKNOWN:
	case HEALTH_STATE_SUSPECT:
		if (first)
			health_fail(health, now_us);
		else if (health->state == HEALTH_STATE_UNKNOWN)
			health_enter(health, HEALTH_STATE_SUSPECT, now_us);
		break;
	case HEALTH_STATE_HEALTHY:
		health_enter(health, HEALTH_STATE_SUSPECT, now_us);
		break;
	case HEALTH_STATE_RECOVERING:
		health->flaps++;
		health_fail(health, now_us);
		break;
	case HEALTH_STATE_UNHEALTHY:
	case HEALTH_STATE_MISSING:
		if ((health->state == HEALTH_STATE_MISSING) != (health->code == HEALTH_CODE_GONE))
			health_fail(health, now_us);
		break;
	}
}

static void health_see_pending(struct health *health, gint64 now_us)
{
	if (health->since_us != 0 && !health->pending) {
		health_see_bad(health, now_us);
		return;
	}
	health->pending = TRUE;
	if (health->state == HEALTH_STATE_UNKNOWN)
		health_enter(health, HEALTH_STATE_SUSPECT, now_us);
}

static void health_see_unreadable(struct health *health, gint64 now_us)
{
	if (health->unreadable_since_us == 0)
		health->unreadable_since_us = now_us;
	/* Its files have come, so that it was read at all: this is the first look. */
	if (health->pending && health->state == HEALTH_STATE_SUSPECT)
		health_enter(health, HEALTH_STATE_UNKNOWN, now_us);
	health->pending = FALSE;
	if (health->state == HEALTH_STATE_UNKNOWN && health->since_us == 0)
		health->since_us = now_us;
}

/* FALSE if the observation is not worth anything yet. */
static gboolean health_counts(struct health *health, const struct health_rules *rules,
			      enum health_observed observed)
{
	if (observed == HEALTH_OBSERVED_ABSENT)
		return ++health->misses >= rules->missing_scans;
	health->misses = observed == HEALTH_OBSERVED_REMOVED ? rules->missing_scans : 0;
	return TRUE;
}

static void health_see(struct health *health, const struct health_rules *rules,
		       const struct health_sight *sight, gint64 now_us)
{
	if (!health_counts(health, rules, sight->observed))
		return;
	health->unreadable_since_us = 0;
	health->assumed = sight->observed == HEALTH_OBSERVED_BAD &&
			  sight->code == HEALTH_CODE_LINK && rules->assume_initial &&
			  !health->was_good;
	if (sight->observed != HEALTH_OBSERVED_GOOD)
		health_set_reason(health, sight->code, sight->text);
	if (sight->observed == HEALTH_OBSERVED_PENDING) {
		health_see_pending(health, now_us);
	} else if (sight->observed == HEALTH_OBSERVED_GOOD || health->assumed) {
		/* A link taken as good on trust has not been seen up. */
		health->was_good |= !health->assumed;
		health_see_good(health, now_us);
	} else {
		health_see_bad(health, now_us);
	}
}

gboolean health_observe(struct health *health, const struct health_rules *rules,
			const struct health_sight *sight, gint64 now_us)
{
	gboolean was_good = health_is_good(health);

	if (sight->observed == HEALTH_OBSERVED_UNREADABLE)
		health_see_unreadable(health, now_us);
	else
		health_see(health, rules, sight, now_us);
	health_tick(health, rules, now_us);
	return health_is_good(health) != was_good;
}

/* --- time --- */

/* One that was unhealthy before gets a fresh reason: what was read then may not be so
 * any more. */
static gboolean health_waits_for_answer(const struct health *health)
{
	return health->unreadable_since_us != 0 &&
	       (health_is_good(health) || health->code != HEALTH_CODE_UNKNOWN);
}

static void health_give_up_waiting(struct health *health, const struct health_rules *rules,
				   gint64 now_us)
{
	g_autofree char *text = g_strdup_printf("no answer for %g s",
						(double)rules->unknown_limit_us / G_USEC_PER_SEC);

	if (!health_waits_for_answer(health) ||
	    now_us - health->unreadable_since_us < rules->unknown_limit_us)
		return;
	health_set_reason(health, HEALTH_CODE_UNKNOWN, text);
	if (health->state != HEALTH_STATE_UNHEALTHY)
		health_fail(health, now_us);
}

gboolean health_tick(struct health *health, const struct health_rules *rules, gint64 now_us)
{
	gboolean was_good = health_is_good(health);

	if (health->state == HEALTH_STATE_SUSPECT &&
	    now_us - health->since_us >= rules->down_delay_us)
		health_fail(health, now_us);
	if (health->state == HEALTH_STATE_RECOVERING &&
	    now_us - health->since_us >= rules->up_delay_us)
		health_enter(health, HEALTH_STATE_HEALTHY, now_us);
	health_give_up_waiting(health, rules, now_us);
	return health_is_good(health) != was_good;
}

gint64 health_deadline(const struct health *health, const struct health_rules *rules)
{
	gint64 deadline = -1;

	if (health->state == HEALTH_STATE_SUSPECT)
		deadline = health->since_us + rules->down_delay_us;
	else if (health->state == HEALTH_STATE_RECOVERING)
		deadline = health->since_us + rules->up_delay_us;
	if (health_waits_for_answer(health)) {
		gint64 limit = health->unreadable_since_us + rules->unknown_limit_us;

		deadline = deadline < 0 ? limit : MIN(deadline, limit);
	}
	return deadline;
}

/* --- names --- */

const char *health_state_name(enum health_state state)
{
	static const char *const names[] = {"unknown",	 "healthy",    "suspect",
					    "unhealthy", "recovering", "missing"};

	return names[state];
}

static const char *const code_names[] = {"none",  "link",    "files",  "gone",
					 "fatal", "unknown", "vendor", "backend"};

const char *health_code_name(enum health_code code)
{
	return code_names[code];
}

enum health_code health_code_parse(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(code_names); i++)
		if (g_str_equal(name, code_names[i]))
			return (enum health_code)i;
	return HEALTH_CODE_NONE;
}
