/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/double_watch.h"

#include "edge/log.h"
#include "fake_pods.h"
#include "support/capture.h"
#include "support/wait.h"

#define RES "rdma/hca"

struct fixture {
	struct fake_pods *pods;
	Holders *holders;
	DoubleWatch *watch;
	guint lists; /* of the kubelet, at least, for the wait to end */
	gboolean is_answered;
};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	log_setup(LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, NULL);
	fixture->pods = fake_pods_new();
	fixture->holders = holders_new(fixture->pods->rpc, fixture->pods->path);
	fixture->watch = double_watch_new(fixture->holders, RES, 10);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	double_watch_free(fixture->watch);
	double_watch_free(NULL);
	holders_free(fixture->holders);
	fake_pods_free(fixture->pods);
	g_free(fixture);
	return 0;
}

static gboolean has_asked(gpointer data)
{
	const struct fixture *fixture = data;

	return fixture->pods->lists >= fixture->lists;
}

static void on_answer(Holdings *holdings, const GError *error, gpointer data)
{
	assert_true((holdings == NULL) != (error == NULL));
	((struct fixture *)data)->is_answered = TRUE;
}

static gboolean has_answered(gpointer data)
{
	return ((const struct fixture *)data)->is_answered;
}

/* What is said about one more allocation. */
static char *said_after_allocation(struct fixture *fixture)
{
	gint64 before = g_get_monotonic_time();

	fixture->lists = fixture->pods->lists + 1;
	fixture->is_answered = FALSE;
	capture_start();
	double_watch_allocated(fixture->watch);
	test_wait(has_asked, fixture);
	/* Behind the question of the watch, which the same answer is for. */
	holders_ask(fixture->holders, before, on_answer, fixture);
	test_wait(has_answered, fixture);
	return capture_stop();
}

static void a_device_of_two_containers_is_said(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *fine = NULL, *first = NULL, *again = NULL, *over = NULL, *back = NULL;

	fake_pods_add(fixture->pods, "job-0", "main", RES, "0000:3b:00.0 0000:5e:00.0");
	fake_pods_add(fixture->pods, "job-1", "main", "rdma/other", "0000:3b:00.0");
	fine = said_after_allocation(fixture);
	assert_string_equal(fine, "");
	fake_pods_add(fixture->pods, "job-2", "side", RES, "0000:3b:00.0");
	first = said_after_allocation(fixture);
	assert_non_null(strstr(first,
			       "error: " RES ": device '0000:3b:00.0' was given to two "
			       "containers: 'main' of pod 'hpc/job-0' and 'side' of pod "
			       "'hpc/job-2'; an exclusive device is one container's only, so "
			       "delete one of the pods\n"));
	again = said_after_allocation(fixture);
	assert_string_equal(again, "");
	fake_pods_end(fixture->pods, "job-2");
	over = said_after_allocation(fixture);
	assert_string_equal(over, "");
	fake_pods_add(fixture->pods, "job-2", "side", RES, "0000:3b:00.0");
	back = said_after_allocation(fixture);
	assert_non_null(strstr(back, "was given to two containers"));
}

static void a_silent_kubelet_is_no_news(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *silent = NULL, *then = NULL;

	fixture->pods->fails = TRUE;
	silent = said_after_allocation(fixture);
	assert_null(strstr(silent, "error"));
	assert_null(strstr(silent, "warning"));
	fixture->pods->fails = FALSE;
	then = said_after_allocation(fixture);
	assert_string_equal(then, "");
}

static gboolean has_held(gpointer data)
{
	return ((struct fixture *)data)->pods->held != NULL;
}

/* What was given away while the kubelet was being asked is looked at, too. */
static void many_allocations_are_two_looks(void **state)
{
	struct fixture *fixture = *state;

	fixture->pods->holds = TRUE;
	double_watch_allocated(fixture->watch);
	test_wait(has_held, fixture);
	for (guint i = 0; i < 100; i++)
		double_watch_allocated(fixture->watch);
	fixture->pods->holds = FALSE;
	fake_pods_reply(fixture->pods, g_steal_pointer(&fixture->pods->held));
	fixture->lists = 2;
	test_wait(has_asked, fixture);
	assert_int_equal(fixture->pods->lists, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_device_of_two_containers_is_said),
		TEST(a_silent_kubelet_is_no_news),
		TEST(many_allocations_are_two_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
