/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "model/health.h"

#define S G_GINT64_CONSTANT(1000000)

/* down and up 10 s, unknown limit 60 s, 3 missing scans. */
static const struct health_rules usual = {10 * S, 10 * S, 60 * S, 3, FALSE};
static const struct health_rules at_once = {0, 0, 60 * S, 3, FALSE};
static const struct health_rules trusting = {10 * S, 10 * S, 60 * S, 3, TRUE};

/* A story is a list of "second:what", where what is g(ood), b(ad), l(ink bad),
 * u(nreadable), a(bsent), r(emoved), p(ending) or t(ime passes), or at the start G or B:
 * restored as good or bad; the expected text has, for each step, + or - when the kubelet is to be told healthy or unhealthy, else '.'. */
static const struct story {
	const char *name;
	const struct health_rules *rules;
	const char *steps;
	const char *told;
	enum health_state state; /* at the end */
	guint flaps;
} stories[] = {
	{"first look good", &usual, "1:g 6:g", "..", HEALTH_STATE_HEALTHY, 0},
	{"first look bad is told at once", &usual, "1:b 6:b", "-.", HEALTH_STATE_UNHEALTHY, 0},
	{"bad is told after the delay", &usual, "1:g 5:b 10:b 14:t 15:t", "....-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"bad is told at once without a delay", &at_once, "1:g 5:b 6:g", ".-+",
	 HEALTH_STATE_HEALTHY, 0},
	{"a flap is not told", &usual, "1:g 5:b 9:g 14:b 20:g 40:t", "......", HEALTH_STATE_HEALTHY,
	 2},
	{"good again is told after the delay", &usual, "1:b 5:g 14:t 15:t", "-..+",
	 HEALTH_STATE_HEALTHY, 0},
	{"a relapse while recovering starts over", &usual, "1:b 5:g 9:b 12:g 21:t 22:t", "-....+",
	 HEALTH_STATE_HEALTHY, 1},
	{"unreadable at first counts as healthy", &usual, "1:u 30:u 60:u 61:t", "...-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"unreadable holds the last state", &usual, "1:g 5:u 20:u 30:g", "....",
	 HEALTH_STATE_HEALTHY, 0},
	{"unreadable holds a bad state, too", &usual, "1:b 5:u 99:u", "-..", HEALTH_STATE_UNHEALTHY,
	 0},
	{"gone, then there and unreadable", &at_once, "1:g 5:r 6:u 66:u", ".-..",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"recovering and then unreadable", &usual, "1:b 5:g 6:u 15:t 66:t", "-..+-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"unreadable too long is unhealthy, readable recovers", &usual,
	 "1:g 5:u 64:u 65:u 70:g 79:t 80:t", "...-..+", HEALTH_STATE_HEALTHY, 0},
	{"a readable look resets the limit", &usual, "1:g 5:u 60:g 61:u 120:u 121:u", ".....-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"suspect and then unreadable is still told", &usual, "1:g 5:b 10:u 15:t", "...-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"bad after an unreadable first look waits", &usual, "1:u 5:b 15:t", "..-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"absent counts from the third poll on", &usual, "1:g 5:a 10:a 15:a 24:t 25:t", ".....-",
	 HEALTH_STATE_MISSING, 0},
	{"found again in time", &usual, "1:g 5:a 10:a 15:g 20:a 25:a 50:t", ".......",
	 HEALTH_STATE_HEALTHY, 0},
	{"removed counts at once", &usual, "1:g 5:r 15:t", "..-", HEALTH_STATE_MISSING, 0},
	{"removed and back", &at_once, "1:g 5:r 7:g", ".-+", HEALTH_STATE_HEALTHY, 0},
	{"unhealthy, then gone", &at_once, "1:g 5:b 7:r", ".-.", HEALTH_STATE_MISSING, 0},
	{"gone, then back without a link", &at_once, "1:g 5:r 7:b", ".-.", HEALTH_STATE_UNHEALTHY,
	 0},
	{"known of before, and not there", &usual, "1:a 5:a 10:a", "..-", HEALTH_STATE_MISSING, 0},
	{"a link never up is trusted if asked for", &trusting, "1:l 20:l 40:l", "...",
	 HEALTH_STATE_HEALTHY, 0},
	{"trust ends once it was up", &trusting, "1:l 5:g 10:l 20:t", "...-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"trust is about the link only", &trusting, "1:b 5:l", "-.", HEALTH_STATE_RECOVERING, 0},
	{"up and down as the cable comes and goes", &usual,
	 "1:g 2:l 3:l 4:l 5:l 6:g 40:l 50:t 70:g 80:t", ".......-.+", HEALTH_STATE_HEALTHY, 1},
	{"files that come in time are never told", &usual, "1:p 4:p 9:g 60:t", "....",
	 HEALTH_STATE_HEALTHY, 0},
	{"files that do not come are told after the delay", &usual, "1:p 4:p 11:t 12:p", "..-.",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"files that come late are told after the delay, too", &usual, "1:p 11:t 20:g 30:t", ".-.+",
	 HEALTH_STATE_HEALTHY, 0},
	{"a complete HCA without a link is told at once", &usual, "1:p 4:l", ".-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"a complete HCA that cannot be read counts as healthy", &usual, "1:p 4:u 30:t 64:t",
	 "...-", HEALTH_STATE_UNHEALTHY, 0},
	{"restored as good, one bad look is a change", &usual, "1:G 2:b 11:t 12:t", "...-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"restored as good and found so", &usual, "1:G 2:g 99:t", "...", HEALTH_STATE_HEALTHY, 0},
	{"restored as good, never readable", &usual, "1:G 2:u 60:u 61:u", "...-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"restored as bad and found so", &usual, "1:B 2:b 99:t", "...", HEALTH_STATE_UNHEALTHY, 0},
	{"restored as bad, good takes its time", &usual, "1:B 2:g 11:t 12:t", "...+",
	 HEALTH_STATE_HEALTHY, 0},
	{"restored as bad, good at once without a delay", &at_once, "1:B 2:g", ".+",
	 HEALTH_STATE_HEALTHY, 0},
	{"restored as once seen up, its link is not trusted", &trusting, "1:G 2:l 12:t", "..-",
	 HEALTH_STATE_UNHEALTHY, 0},
	{"files that vanish are no new HCA's", &usual, "1:g 5:p 14:t 15:t", "...-",
	 HEALTH_STATE_UNHEALTHY, 0},
};

static gboolean observe(struct health *health, const struct story *story, char what, gint64 now)
{
	static const struct {
		char what;
		struct health_sight sight;
	} kinds[] = {
		{'g', {HEALTH_OBSERVED_GOOD, HEALTH_CODE_NONE, NULL}},
		{'b', {HEALTH_OBSERVED_BAD, HEALTH_CODE_FATAL, "why"}},
		{'l', {HEALTH_OBSERVED_BAD, HEALTH_CODE_LINK, "why"}},
		{'u', {HEALTH_OBSERVED_UNREADABLE, HEALTH_CODE_NONE, NULL}},
		{'a', {HEALTH_OBSERVED_ABSENT, HEALTH_CODE_GONE, "why"}},
		{'r', {HEALTH_OBSERVED_REMOVED, HEALTH_CODE_GONE, "why"}},
		{'p', {HEALTH_OBSERVED_PENDING, HEALTH_CODE_FILES, "why"}},
	};

	if (what == 'G' || what == 'B') {
		health_restore(health, what == 'G', TRUE, now);
		return FALSE;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (kinds[i].what == what)
			return health_observe(health, story->rules, &kinds[i].sight, now);
	assert_int_equal(what, 't');
	return health_tick(health, story->rules, now);
}

static void stories_are_told_as_written(G_GNUC_UNUSED void **state)
{
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
		assert_string_equal(health_state_name(health.state),
				    health_state_name(story->state));
		assert_int_equal(health.flaps, story->flaps);
		health_clear(&health);
	}
}

/* Whoever sleeps until the deadline and ticks then sees the change. */
static void the_deadline_is_when_time_alone_changes_something(G_GNUC_UNUSED void **state)
{
	static const struct health_sight good = {HEALTH_OBSERVED_GOOD, HEALTH_CODE_NONE, NULL};
	static const struct health_sight down = {HEALTH_OBSERVED_BAD, HEALTH_CODE_LINK,
						 "port 1 is DOWN"};
	static const struct health_sight unreadable = {.observed = HEALTH_OBSERVED_UNREADABLE};
	struct health health = {0};

	assert_int_equal(health_deadline(&health, &usual), -1);
	health_observe(&health, &usual, &good, 1 * S);
	assert_int_equal(health_deadline(&health, &usual), -1);
	health_observe(&health, &usual, &down, 5 * S);
	assert_int_equal(health_deadline(&health, &usual), 15 * S);
	assert_false(health_tick(&health, &usual, 15 * S - 1));
	assert_true(health_tick(&health, &usual, 15 * S));
	assert_int_equal(health.code, HEALTH_CODE_LINK);
	assert_string_equal(health.text, "port 1 is DOWN");
	assert_int_equal(health_deadline(&health, &usual), -1);
	health_observe(&health, &usual, &good, 20 * S);
	assert_int_equal(health_deadline(&health, &usual), 30 * S);
	health_tick(&health, &usual, 30 * S);
	health_observe(&health, &usual, &unreadable, 31 * S);
	assert_int_equal(health_deadline(&health, &usual), 91 * S);
	health_observe(&health, &usual, &down, 32 * S);
	health_observe(&health, &usual, &unreadable, 33 * S);
	assert_int_equal(health_deadline(&health, &usual), 42 * S);
	assert_true(health_tick(&health, &usual, 42 * S));
	health_observe(&health, &usual, &good, 43 * S);
	health_tick(&health, &usual, 53 * S);
	health_observe(&health, &usual, &unreadable, 60 * S);
	assert_true(health_tick(&health, &usual, 120 * S));
	assert_int_equal(health.code, HEALTH_CODE_UNKNOWN);
	assert_string_equal(health.text, "no answer for 60 s");
	health_clear(&health);
}

/* An unhealthy one of which nothing is heard any more is so for that reason, once. */
static void an_unhealthy_one_that_is_silent_has_a_fresh_reason(G_GNUC_UNUSED void **state)
{
	static const struct health_sight down = {HEALTH_OBSERVED_BAD, HEALTH_CODE_LINK, "down"};
	static const struct health_sight unreadable = {.observed = HEALTH_OBSERVED_UNREADABLE};
	struct health health = {0};

	health_observe(&health, &usual, &down, 1 * S);
	health_observe(&health, &usual, &unreadable, 5 * S);
	assert_int_equal(health_deadline(&health, &usual), 65 * S);
	assert_false(health_tick(&health, &usual, 65 * S - 1));
	assert_int_equal(health.code, HEALTH_CODE_LINK);
	assert_false(health_tick(&health, &usual, 65 * S));
	assert_int_equal(health.code, HEALTH_CODE_UNKNOWN);
	assert_string_equal(health.text, "no answer for 60 s");
	assert_int_equal(health_deadline(&health, &usual), -1);
	assert_int_equal(health.since_us, 1 * S);
	health_observe(&health, &usual, &down, 70 * S);
	assert_int_equal(health.code, HEALTH_CODE_LINK);
	health_clear(&health);
}

static void states_and_codes_have_names(G_GNUC_UNUSED void **state)
{
	assert_string_equal(health_state_name(HEALTH_STATE_UNKNOWN), "unknown");
	assert_string_equal(health_state_name(HEALTH_STATE_MISSING), "missing");
	assert_string_equal(health_code_name(HEALTH_CODE_NONE), "none");
	assert_string_equal(health_code_name(HEALTH_CODE_LINK), "link");
	assert_string_equal(health_code_name(HEALTH_CODE_BACKEND), "backend");
	assert_int_equal(health_code_parse("files"), HEALTH_CODE_FILES);
	assert_int_equal(health_code_parse("file"), HEALTH_CODE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stories_are_told_as_written),
		cmocka_unit_test(the_deadline_is_when_time_alone_changes_something),
		cmocka_unit_test(an_unhealthy_one_that_is_silent_has_a_fresh_reason),
		cmocka_unit_test(states_and_codes_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
