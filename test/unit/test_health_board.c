/* SPDX-License-Identifier: Apache-2.0 */
#include "model/health_board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define S G_GINT64_CONSTANT(1000000)

static const struct health_rules usual = {10 * S, 10 * S, 60 * S, 3, FALSE};
static const struct health_rules at_once = {0, 0, 60 * S, 3, FALSE};
static const struct health_rules trusting = {10 * S, 10 * S, 60 * S, 3, TRUE};

static const struct health_sight good = {HEALTH_OBSERVED_GOOD, HEALTH_CODE_NONE, NULL};
static const struct health_sight down = {HEALTH_OBSERVED_BAD, HEALTH_CODE_LINK, "port 1 is DOWN"};
static const struct health_sight fatal = {HEALTH_OBSERVED_BAD, HEALTH_CODE_FATAL, "it burns"};
static const struct health_sight gone = {HEALTH_OBSERVED_REMOVED, HEALTH_CODE_GONE, "not there"};

static void see(HealthBoard *board, const char *names, const struct health_sight *sight, gint64 now)
{
	for (const char *name = names; *name != '\0'; name++) {
		char text[] = {*name, '\0'};

		health_board_observe(board, text, text, sight, now);
	}
}

/* What is said now, a line each, with its level's first letter. */
static char *told(HealthBoard *board, gint64 now)
{
	g_autoptr(GPtrArray) list = news_new();
	g_autoptr(GString) text = g_string_new(NULL);

	health_board_tell(board, now, list);
	for (guint i = 0; i < list->len; i++) {
		const struct news *news = g_ptr_array_index(list, i);

		g_string_append_printf(text, "%s%c %s", i > 0 ? "\n" : "", "iwe"[news->level],
				       news -> text);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

#define EXPECT_TOLD(board, now, expected)                                                          \
	do {                                                                                       \
		g_autofree char *told_text = told(board, now);                                     \
		assert_string_equal(told_text, expected);                                          \
	} while (0)

static void those_that_change_together_are_told_together(G_GNUC_UNUSED void **state)
{
	HealthBoard *board = health_board_new(&at_once);

	see(board, "abcd", &good, 1 * S);
	EXPECT_TOLD(board, 1 * S, "");
	see(board, "ac", &down, 5 * S);
	see(board, "b", &fatal, 5 * S);
	EXPECT_TOLD(board, 5 * S,
		    "w HCAs 'a', 'c' are Unhealthy: link: port 1 is DOWN\n"
		    "w HCA 'b' is Unhealthy: fatal: it burns");
	EXPECT_TOLD(board, 6 * S, "");
	see(board, "abcd", &good, 70 * S);
	EXPECT_TOLD(board, 70 * S, "i HCAs 'a', 'b', 'c' are Healthy again");
	health_board_free(board);
}

/* A driver that is reloaded is one event, not as many as it has HCAs. */
static void the_loss_of_all_is_one_report(G_GNUC_UNUSED void **state)
{
	HealthBoard *board = health_board_new(&usual);
	GString *names = g_string_new(NULL);

	for (int name = 'a'; name < 'a' + 20; name++)
		g_string_append_c(names, (char)name);
	see(board, names->str, &good, 1 * S);
	see(board, names->str, &gone, 5 * S);
	EXPECT_TOLD(board, 5 * S, "");
	assert_int_equal(health_board_deadline(board), 15 * S);
	see(board, names->str, &gone, 15 * S);
	EXPECT_TOLD(board, 15 * S,
		    "w HCAs 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', "
		    "'o', 'p' and 4 more are Unhealthy: gone: not there; all at once, as when the "
		    "driver is reloaded or the bus is lost");
	g_string_free(names, TRUE);
	health_board_free(board);
}

static void one_message_a_minute_for_each(G_GNUC_UNUSED void **state)
{
	HealthBoard *board = health_board_new(&at_once);

	see(board, "a", &down, 10 * S);
	EXPECT_TOLD(board, 10 * S, "w HCA 'a' is Unhealthy: link: port 1 is DOWN");
	for (int second = 11; second < 70; second++) {
		see(board, "a", second % 2 == 0 ? &down : &good, second * S);
		EXPECT_TOLD(board, second * S, "");
	}
	/* its last word is said when the minute is over */
	assert_int_equal(health_board_deadline(board), 70 * S);
	EXPECT_TOLD(board, 70 * S,
		    "i HCA 'a' is Healthy again (59 changes since the last message)");
	assert_int_equal(health_board_deadline(board), -1);
	/* what came back in time is no news */
	see(board, "a", &down, 75 * S);
	see(board, "a", &good, 76 * S);
	EXPECT_TOLD(board, 200 * S, "");
	health_board_free(board);
}

static void changed(const char *identity, gpointer data)
{
	g_string_append(data, identity);
}

static void a_tick_tells_whom_it_changed(G_GNUC_UNUSED void **state)
{
	HealthBoard *board = health_board_new(&usual);
	GString *names = g_string_new(NULL);

	see(board, "abc", &good, 1 * S);
	see(board, "b", &down, 2 * S);
	assert_false(health_board_tick(board, 11 * S, changed, names));
	assert_true(health_board_tick(board, 12 * S, changed, names));
	assert_string_equal(names->str, "b");
	assert_null(health_board_reason(board, "a"));
	assert_null(health_board_reason(board, "unheard of"));
	g_string_assign(names, "");
	{
		g_autofree char *reason = health_board_reason(board, "b");

		assert_string_equal(reason, "link: port 1 is DOWN");
	}
	g_string_free(names, TRUE);
	health_board_free(board);
}

static void what_was_told_before_is_said_once_more(G_GNUC_UNUSED void **state)
{
	HealthBoard *board = health_board_new(&usual);

	health_board_restore(board, "a", "a", "link: port 1: it is DOWN", TRUE, 1 * S);
	health_board_restore(board, "b", "b", NULL, TRUE, 1 * S);
	EXPECT_TOLD(board, 1 * S, "w HCA 'a' is Unhealthy: link: port 1: it is DOWN");
	see(board, "ab", &good, 2 * S);
	assert_true(health_board_find(board, "a")->was_good);
	assert_int_equal(health_board_deadline(board), 12 * S);
	health_board_free(board);
}

static void rules_can_be_changed_and_hcas_forgotten(G_GNUC_UNUSED void **state)
{
	HealthBoard *board = health_board_new(&usual);

	see(board, "ab", &good, 1 * S);
	see(board, "ab", &down, 2 * S);
	health_board_set_rules(board, &at_once);
	assert_int_equal(health_board_deadline(board), 2 * S);
	health_board_forget(board, "a");
	health_board_forget(board, "unheard of");
	assert_null(health_board_find(board, "a"));
	see(board, "b", &down, 3 * S);
	assert_false(health_is_good(health_board_find(board, "b")));
	EXPECT_TOLD(board, 3 * S, "w HCA 'b' is Unhealthy: link: port 1 is DOWN");
	health_board_free(board);
}

static void trust_in_a_link_is_said_once(G_GNUC_UNUSED void **state)
{
	HealthBoard *board = health_board_new(&trusting);

	see(board, "ab", &down, 1 * S);
	EXPECT_TOLD(board, 1 * S,
		    "w the link of 'a', 'b' was never up and yet counts as good, because "
		    "initial_state is \"assume\": port 1 is DOWN");
	see(board, "ab", &down, 100 * S);
	EXPECT_TOLD(board, 100 * S, "");
	health_board_free(board);
}

static void a_remark_is_said_once(G_GNUC_UNUSED void **state)
{
	HealthBoard *board = health_board_new(&usual);

	health_board_remark(board, "a", "nobody knows it");
	see(board, "ab", &good, 1 * S);
	health_board_remark(board, "a", "the uplink is ACTIVE");
	health_board_remark(board, "b", "the uplink is ACTIVE");
	EXPECT_TOLD(board, 1 * S,
		    "i 'a', 'b' count as healthy although the last scan found no port of it "
		    "ACTIVE: the uplink is ACTIVE");
	health_board_remark(board, "a", "the uplink is ACTIVE");
	EXPECT_TOLD(board, 2 * S, "");
	health_board_remark(board, "a", NULL);
	EXPECT_TOLD(board, 3 * S, "");
	health_board_free(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_change_together_are_told_together),
		cmocka_unit_test(the_loss_of_all_is_one_report),
		cmocka_unit_test(one_message_a_minute_for_each),
		cmocka_unit_test(a_tick_tells_whom_it_changed),
		cmocka_unit_test(what_was_told_before_is_said_once_more),
		cmocka_unit_test(rules_can_be_changed_and_hcas_forgotten),
		cmocka_unit_test(trust_in_a_link_is_said_once),
		cmocka_unit_test(a_remark_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
