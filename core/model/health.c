/* SPDX-License-Identifier: Apache-2.0 */
#include "model/health.h"

#define US_PER_S G_GINT64_CONSTANT(1000000)

static void health_enter(struct health *health, enum health_state state, gint64 now_us)
{
	health->state = state;
	health->since_us = now_us;
}

void health_clear(struct health *health)
{
	g_free(health->reason);
	*health = (struct health){0};
}

gboolean health_is_good(const struct health *health)
{
	return health->state != HEALTH_STATE_UNHEALTHY && health->state != HEALTH_STATE_RECOVERING;
}

static void health_set_reason(struct health *health, const char *reason)
{
	if (reason == NULL || g_strcmp0(reason, health->reason) == 0)
		return;
	g_free(health->reason);
	health->reason = g_strdup(reason);
}

/* Unreadable until it is looked at, so that one which never answers ends unhealthy. */
void health_restore(struct health *health, gboolean good, gboolean was_good, const char *reason,
		    gint64 now_us)
{
	health_enter(health, good ? HEALTH_STATE_UNKNOWN : HEALTH_STATE_UNHEALTHY, now_us);
	health->unreadable_since_us = now_us;
	health->was_good = was_good;
	health->bad = !good;
	if (!good)
		health_set_reason(health, reason);
}

static void health_see_good(struct health *health, gint64 now_us)
{
	health->was_good = TRUE;
	health->bad = FALSE;
	switch (health->state) {
	case HEALTH_STATE_SUSPECT:
		health->flaps++;
		health_enter(health, HEALTH_STATE_HEALTHY, now_us);
		break;
	case HEALTH_STATE_UNKNOWN:
		health_enter(health, HEALTH_STATE_HEALTHY, now_us);
		break;
	case HEALTH_STATE_UNHEALTHY:
		health_enter(health, HEALTH_STATE_RECOVERING, now_us);
		break;
	case HEALTH_STATE_HEALTHY:
	case HEALTH_STATE_RECOVERING:
		break;
	}
}

/* What was unreadable at the first look was told as healthy, so that a bad
 * observation afterwards is a change like any other; without any look before, it is
 * the first word and needs no delay. */
static void health_see_bad(struct health *health, gint64 now_us)
{
	health->bad = TRUE;
	switch (health->state) {
	case HEALTH_STATE_UNKNOWN:
		health_enter(health,
			     health->since_us == 0 ? HEALTH_STATE_UNHEALTHY : HEALTH_STATE_SUSPECT,
			     now_us);
		break;
	case HEALTH_STATE_HEALTHY:
		health_enter(health, HEALTH_STATE_SUSPECT, now_us);
		break;
	case HEALTH_STATE_RECOVERING:
		health->flaps++;
		health_enter(health, HEALTH_STATE_UNHEALTHY, now_us);
		break;
	case HEALTH_STATE_SUSPECT:
	case HEALTH_STATE_UNHEALTHY:
		break;
	}
}

static void health_see_unreadable(struct health *health, gint64 now_us)
{
	if (health->unreadable_since_us == 0)
		health->unreadable_since_us = now_us;
	if (health->state == HEALTH_STATE_UNKNOWN && health->since_us == 0)
		health->since_us = now_us;
}

/* TRUE if the observation says that the HCA is bad now. */
static gboolean health_counts_as_bad(struct health *health, const struct health_rules *rules,
				     enum health_observed observed, gboolean link)
{
	switch (observed) {
	case HEALTH_OBSERVED_ABSENT:
		return ++health->misses >= rules->missing_scans;
	case HEALTH_OBSERVED_REMOVED:
		health->misses = rules->missing_scans;
		return TRUE;
	case HEALTH_OBSERVED_BAD:
		return !(link && rules->assume_initial && !health->was_good);
	case HEALTH_OBSERVED_GOOD:
	case HEALTH_OBSERVED_UNREADABLE:
		break;
	}
	return FALSE;
}

gboolean health_observe(struct health *health, const struct health_rules *rules,
			enum health_observed observed, gboolean link, const char *reason,
			gint64 now_us)
{
	gboolean was_good = health_is_good(health);
	gboolean first = health->since_us == 0;
	gboolean bad = health_counts_as_bad(health, rules, observed, link);

	if (observed == HEALTH_OBSERVED_UNREADABLE) {
		health_see_unreadable(health, now_us);
	} else if (bad || observed == HEALTH_OBSERVED_GOOD || observed == HEALTH_OBSERVED_BAD) {
		health->unreadable_since_us = 0;
		if (observed == HEALTH_OBSERVED_GOOD || observed == HEALTH_OBSERVED_BAD)
			health->misses = 0;
		if (bad) {
			health_set_reason(health, reason);
			health_see_bad(health, now_us);
		} else {
			gboolean seen = health->was_good;

			health_see_good(health, now_us);
			/* A link taken as good on trust has not been seen up. */
			health->was_good = seen || observed == HEALTH_OBSERVED_GOOD;
		}
	}
	health_tick(health, rules, now_us);
	return first || health_is_good(health) != was_good;
}

static gboolean health_unreadable_too_long(const struct health *health,
					   const struct health_rules *rules, gint64 now_us)
{
	return health->unreadable_since_us != 0 && health_is_good(health) &&
	       now_us - health->unreadable_since_us >= rules->unknown_limit_us;
}

gboolean health_tick(struct health *health, const struct health_rules *rules, gint64 now_us)
{
	gboolean was_good = health_is_good(health);

	if (health->state == HEALTH_STATE_SUSPECT &&
	    now_us - health->since_us >= rules->down_delay_us)
		health_enter(health, HEALTH_STATE_UNHEALTHY, now_us);
	if (health->state == HEALTH_STATE_RECOVERING &&
	    now_us - health->since_us >= rules->up_delay_us)
		health_enter(health, HEALTH_STATE_HEALTHY, now_us);
	if (health_unreadable_too_long(health, rules, now_us)) {
		g_autofree char *reason =
			g_strdup_printf("unknown: no answer for %" G_GINT64_FORMAT " s",
					rules->unknown_limit_us / US_PER_S);

		health_set_reason(health, reason);
		health_enter(health, HEALTH_STATE_UNHEALTHY, now_us);
	}
	return health_is_good(health) != was_good;
}

gint64 health_deadline(const struct health *health, const struct health_rules *rules)
{
	gint64 deadline = -1;

	if (health->state == HEALTH_STATE_SUSPECT)
		deadline = health->since_us + rules->down_delay_us;
	else if (health->state == HEALTH_STATE_RECOVERING)
		deadline = health->since_us + rules->up_delay_us;
	if (health->unreadable_since_us != 0 && health_is_good(health)) {
		gint64 limit = health->unreadable_since_us + rules->unknown_limit_us;

		deadline = deadline < 0 ? limit : MIN(deadline, limit);
	}
	return deadline;
}

const char *health_state_name(enum health_state state)
{
	static const char *const names[] = {"unknown", "healthy", "suspect", "unhealthy",
					    "recovering"};

	return names[state];
}
