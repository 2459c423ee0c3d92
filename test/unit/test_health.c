/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "model/health.h"

#define S ((gint64)G_USEC_PER_SEC)

/* down and up 10 s, unknown limit 60 s, 3 missing scans. */
static const struct health_rules usual = {10 * S, 10 * S, 60 * S, 3, FALSE};
static const struct health_rules at_once = {0, 0, 60 * S, 3, FALSE};
static const struct health_rules trusting = {10 * S, 10 * S, 60 * S, 3, TRUE};

/* A story is a list of "second:what", where what is g(ood), b(ad), l(ink bad),
 * u(nreadable), a(bsent), r(emoved) or t(ime passes), or at the start G or B: restored as
 * good or bad; the expected text has, for
 * each step, + or - when the kubelet is told healthy or unhealthy, '.' otherwise. */
static const struct story {
	const char *name;
	const struct health_rules *rules;
	const char *steps;
	const char *told;
	guint flaps;
} stories[] = {
	{"first look good", &usual, "1:g 6:g", "+.", 0},
	{"first look bad is told at once", &usual, "1:b 6:b", "-.", 0},
	{"bad is told after the delay", &usual, "1:g 5:b 10:b 14:t 15:t", "+...-", 0},
	{"bad is told at once without a delay", &at_once, "1:g 5:b 6:g", "+-+", 0},
	{"a flap is not told", &usual, "1:g 5:b 9:g 14:b 20:g 40:t", "+.....", 2},
	{"good again is told after the delay", &usual, "1:b 5:g 14:t 15:t", "-..+", 0},
	{"a relapse while recovering starts over", &usual, "1:b 5:g 9:b 12:g 21:t 22:t", "-....+",
	 1},
	{"unreadable at first counts as healthy", &usual, "1:u 30:u 60:u 61:t", "+..-", 0},
	{"unreadable holds the last state", &usual, "1:g 5:u 20:u 30:g", "+...", 0},
	{"unreadable holds a bad state, too", &usual, "1:b 5:u 99:u", "-..", 0},
	{"unreadable too long is unhealthy, readable recovers", &usual,
	 "1:g 5:u 64:u 65:u 70:g 79:t 80:t", "+..-..+", 0},
	{"a readable look resets the limit", &usual, "1:g 5:u 60:g 61:u 120:u 121:u", "+....-", 0},
	{"suspect and then unreadable is still told", &usual, "1:g 5:b 10:u 15:t", "+..-", 0},
	{"bad after an unreadable first look waits", &usual, "1:u 5:b 15:t", "+.-", 0},
	{"absent counts from the third poll on", &usual, "1:g 5:a 10:a 15:a 24:t 25:t", "+....-",
	 0},
	{"found again in time", &usual, "1:g 5:a 10:a 15:g 20:a 25:a 50:t", "+......", 0},
	{"removed counts at once", &usual, "1:g 5:r 15:t", "+.-", 0},
	{"removed and back", &at_once, "1:g 5:r 7:g", "+-+", 0},
	{"restored as good, one bad look is a change", &usual, "1:G 2:b 11:t 12:t", "...-", 0},
	{"restored as good and found so", &usual, "1:G 2:g 99:t", "...", 0},
	{"restored as good, never readable", &usual, "1:G 2:u 60:u 61:u", "...-", 0},
	{"restored as bad and found so", &usual, "1:B 2:b 99:t", "...", 0},
	{"restored as bad, good takes its time", &usual, "1:B 2:g 11:t 12:t", "...+", 0},
	{"restored as bad, good at once without a delay", &at_once, "1:B 2:g", ".+", 0},
	{"restored as once seen up, its link is not trusted", &trusting, "1:G 2:l 12:t", "..-", 0},
	{"a link never up is trusted if asked for", &trusting, "1:l 20:l 40:l", "+..", 0},
	{"trust ends once it was up", &trusting, "1:l 5:g 10:l 20:t", "+..-", 0},
	{"trust is about the link only", &trusting, "1:b 5:l", "-.", 0},
	{"up and down as the cable comes and goes", &usual,
	 "1:g 2:l 3:l 4:l 5:l 6:g 40:l 50:t 70:g 80:t", "+......-.+", 1},
};

static gboolean observe(struct health *health, const struct story *story, char what, gint64 now)
{
	static const struct {
		char what;
		enum health_observed observed;
	} kinds[] = {{'g', HEALTH_OBSERVED_GOOD},   {'b', HEALTH_OBSERVED_BAD},
		     {'l', HEALTH_OBSERVED_BAD},    {'u', HEALTH_OBSERVED_UNREADABLE},
		     {'a', HEALTH_OBSERVED_ABSENT}, {'r', HEALTH_OBSERVED_REMOVED}};

	if (what == 'G' || what == 'B') {
		health_restore(health, what == 'G', TRUE, "before", now);
		return FALSE;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (kinds[i].what == what)
			return health_observe(health, story->rules, kinds[i].observed, what == 'l',
					      "why", now);
	assert_int_equal(what, 't');
	return health_tick(health, story->rules, now);
}

static void stories_are_told_as_written(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(stories); i++) {
		const struct story *story = &stories[i];
		g_auto(GStrv) steps = g_strsplit(story->steps, " ", -1);
		g_autoptr(GString) told = g_string_new(NULL);
		struct health health = {0};

		for (gsize j = 0; steps[j] != NULL; j++) {
			char *what;
			gint64 now = g_ascii_strtoll(steps[j], &what, 10) * S;
			gboolean news = observe(&health, story, what[1], now);

			g_string_append_c(told, !news ? '.' : health_is_good(&health) ? '+' : '-');
		}
		if (strcmp(told->str, story->told) != 0 || health.flaps != story->flaps)
			print_error("story: %s\n", story->name);
		assert_string_equal(told->str, story->told);
		assert_int_equal(health.flaps, story->flaps);
		health_clear(&health);
	}
}

/* Whoever sleeps until the deadline and ticks then sees the change. */
static void the_deadline_is_when_time_alone_changes_something(void **state)
{
	struct health health = {0};

	(void)state;
	assert_int_equal(health_deadline(&health, &usual), -1);
	health_observe(&health, &usual, HEALTH_OBSERVED_GOOD, FALSE, NULL, 1 * S);
	assert_int_equal(health_deadline(&health, &usual), -1);
	health_observe(&health, &usual, HEALTH_OBSERVED_BAD, FALSE, "link: port 1 is DOWN", 5 * S);
	assert_int_equal(health_deadline(&health, &usual), 15 * S);
	assert_false(health_tick(&health, &usual, 15 * S - 1));
	assert_true(health_tick(&health, &usual, 15 * S));
	assert_string_equal(health.reason, "link: port 1 is DOWN");
	assert_int_equal(health_deadline(&health, &usual), -1);
	health_observe(&health, &usual, HEALTH_OBSERVED_GOOD, FALSE, NULL, 20 * S);
	assert_int_equal(health_deadline(&health, &usual), 30 * S);
	health_tick(&health, &usual, 30 * S);
	health_observe(&health, &usual, HEALTH_OBSERVED_UNREADABLE, FALSE, NULL, 31 * S);
	assert_int_equal(health_deadline(&health, &usual), 91 * S);
	assert_true(health_tick(&health, &usual, 91 * S));
	assert_string_equal(health.reason, "unknown: no answer for 60 s");
	health_clear(&health);
}

static void states_have_names(void **state)
{
	(void)state;
	assert_string_equal(health_state_name(HEALTH_STATE_UNKNOWN), "unknown");
	assert_string_equal(health_state_name(HEALTH_STATE_RECOVERING), "recovering");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stories_are_told_as_written),
		cmocka_unit_test(the_deadline_is_when_time_alone_changes_something),
		cmocka_unit_test(states_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
