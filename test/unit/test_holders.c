/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/holders.h"

#include "fake_pods.h"
#include "holds.h"

#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		while (!(condition))                                                               \
			g_main_context_iteration(NULL, TRUE);                                      \
	} while (0)

struct fixture {
	struct fake_pods *pods;
	Holders *holders;
};

struct answer {
	Holders *asks_again; /* or NULL */
	char *error;
	gboolean is_held; /* rdma/a's a-1 */
	gint64 asked_us;
	guint times;
};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->pods = fake_pods_new();
	fixture->holders = holders_new(fixture->pods->rpc, fixture->pods->path);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	holders_free(fixture->holders);
	holders_free(NULL);
	fake_pods_free(fixture->pods);
	g_free(fixture);
	return 0;
}

static void on_answer(Holdings *holdings, const GError *error, gpointer data)
{
	struct answer *answer = data;

	assert_true((holdings == NULL) != (error == NULL));
	answer->times++;
	g_free(answer->error);
	answer->error = error != NULL ? g_strdup(error->message) : NULL;
	answer->is_held = holdings != NULL && holds(holdings, "rdma/a", "a-1");
	answer->asked_us = holdings != NULL ? holdings_asked_us(holdings) : -1;
	if (answer->asks_again != NULL)
		holders_ask(g_steal_pointer(&answer->asks_again), 0, on_answer, answer);
}

static void the_kubelet_is_asked(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {0};
	gint64 now = g_get_monotonic_time();

	fake_pods_add(fixture->pods, "job-0", "main", "rdma/a", "a-1 a-2");
	holders_ask(fixture->holders, now, on_answer, &answer);
	assert_int_equal(answer.times, 0);
	WAIT_FOR(answer.times == 1);
	assert_true(answer.is_held);
	assert_true(answer.asked_us >= now);
}

static void an_answer_that_is_new_enough_is_given_again(void **state)
{
	struct fixture *fixture = *state;
	struct answer first = {0}, second = {0}, third = {0};
	gint64 now = g_get_monotonic_time();

	holders_ask(fixture->holders, now, on_answer, &first);
	WAIT_FOR(first.times == 1);
	holders_ask(fixture->holders, now, on_answer, &second);
	assert_int_equal(second.times, 0);
	WAIT_FOR(second.times == 1);
	assert_int_equal(fixture->pods->lists, 1);
	holders_ask(fixture->holders, g_get_monotonic_time() + 1000, on_answer, &third);
	WAIT_FOR(third.times == 1);
	assert_int_equal(fixture->pods->lists, 2);
	assert_true(third.asked_us > second.asked_us);
}

static void a_question_about_later_waits_for_later(void **state)
{
	struct fixture *fixture = *state;
	struct answer early = {0}, late = {0};
	gint64 now = g_get_monotonic_time();

	holders_ask(fixture->holders, now + 300000, on_answer, &late);
	holders_ask(fixture->holders, now, on_answer, &early);
	WAIT_FOR(early.times == 1);
	assert_int_equal(late.times, 0);
	WAIT_FOR(late.times == 1);
	assert_true(late.asked_us >= now + 300000);
}

static void a_question_waits_until_nothing_is_allocated(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {0};
	gint64 allocated = g_get_monotonic_time();

	holders_allocated(fixture->holders);
	holders_ask(fixture->holders, 0, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_true(answer.asked_us >= allocated + G_USEC_PER_SEC);
}

static gboolean on_allocate(gpointer data)
{
	holders_allocated(data);
	return G_SOURCE_CONTINUE;
}

static void a_question_does_not_wait_for_ever(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {0};
	guint allocating = g_timeout_add(50, on_allocate, fixture->holders);

	holders_allocated(fixture->holders);
	holders_ask(fixture->holders, 0, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_null(answer.error);
	g_source_remove(allocating);
}

static void a_failure_is_told_until_there_is_an_answer(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {0};

	fixture->pods->fails = TRUE;
	holders_ask(fixture->holders, 0, on_answer, &answer);
	WAIT_FOR(answer.times == 1);
	assert_non_null(strstr(answer.error, "rejected by rate limit"));
	fixture->pods->fails = FALSE;
	holders_ask(fixture->holders, 0, on_answer, &answer);
	WAIT_FOR(answer.times == 2);
	assert_null(answer.error);
}

static void a_failure_leaves_the_last_answer_there(void **state)
{
	struct fixture *fixture = *state;
	struct answer first = {0}, second = {0}, third = {0};

	holders_ask(fixture->holders, 0, on_answer, &first);
	WAIT_FOR(first.times == 1);
	fake_pods_vanish(fixture->pods);
	holders_ask(fixture->holders, g_get_monotonic_time(), on_answer, &second);
	WAIT_FOR(second.times == 1);
	assert_non_null(strstr(second.error, "No such file"));
	holders_ask(fixture->holders, first.asked_us, on_answer, &third);
	WAIT_FOR(third.times == 1);
	assert_int_equal(third.asked_us, first.asked_us);
	g_free(second.error);
}

static void who_asks_again_in_the_answer_is_answered_once_more(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {.asks_again = fixture->holders};

	holders_ask(fixture->holders, 0, on_answer, &answer);
	WAIT_FOR(answer.times == 2);
	assert_int_equal(fixture->pods->lists, 1);
}

static void who_takes_a_question_back_is_not_called(void **state)
{
	struct fixture *fixture = *state;
	struct answer gone = {0}, stays = {0};

	fixture->pods->holds = TRUE;
	holders_ask(fixture->holders, 0, on_answer, &gone);
	holders_ask(fixture->holders, 0, on_answer, &stays);
	WAIT_FOR(fixture->pods->held != NULL);
	holders_forget(fixture->holders, &gone);
	fake_pods_reply(fixture->pods, g_steal_pointer(&fixture->pods->held));
	WAIT_FOR(stays.times == 1);
	assert_int_equal(gone.times, 0);
}

static void after_its_end_nobody_is_called(void **state)
{
	struct fixture *fixture = *state;
	struct answer answer = {0};

	holders_ask(fixture->holders, 0, on_answer, &answer);
	g_clear_pointer(&fixture->holders, holders_free);
	while (g_main_context_iteration(NULL, FALSE))
		;
	assert_int_equal(answer.times, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(the_kubelet_is_asked),
		TEST(an_answer_that_is_new_enough_is_given_again),
		TEST(a_question_about_later_waits_for_later),
		TEST(a_question_waits_until_nothing_is_allocated),
		TEST(a_question_does_not_wait_for_ever),
		TEST(a_failure_is_told_until_there_is_an_answer),
		TEST(a_failure_leaves_the_last_answer_there),
		TEST(who_asks_again_in_the_answer_is_answered_once_more),
		TEST(who_takes_a_question_back_is_not_called),
		TEST(after_its_end_nobody_is_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
