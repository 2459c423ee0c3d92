/* SPDX-License-Identifier: Apache-2.0 */
/* What changes about a resource while pods hold its devices. */
#include "model/offer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "support/stage.h"

#define S G_GINT64_CONSTANT(1000000)
#define HCA(id, n) id " rdma=mlx5_" #n " port=1:ib:active uverbs=" #n " umad=" #n " cm"
#define A HCA("a", 0)
#define B HCA("b", 1)
#define C HCA("c", 2)
#define DOWN "link port 1 is '1: DOWN'"

static guint count_of(const char *text, const char *part)
{
	guint n = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		n++;
	return n;
}

static struct stage *stage;

static int tear_down(void **state)
{
	(void)state;
	g_clear_pointer(&stage, stage_free);
	return 0;
}

/* --- numbers --- */

static void a_reload_with_other_numbers(G_GNUC_UNUSED void **state)
{
	static const char *const fresh[] = {"rdma/r-2"};

	stage = stage_new("hcaMax=4");
	SCAN(stage, HCA("a", 0), HCA("b", 1));
	stage_look(stage, "a b", "ok");
	EXPECT_SHOWN(stage, "HHHH", 1);
	assert_int_equal(offer_asks_from(stage->offer, -1), -1);
	stage_at(stage, 5);
	EVENT(stage, HCA("a", 1), HCA("b", 0));
	stage_look(stage, "a b", "ok");
	EXPECT_SHOWN(stage, "HHHH", 1);
	assert_int_equal(offer_asks_from(stage->offer, -1), 5 * S);
	offer_allocated(stage->offer, fresh, 1, 6 * S);
	stage_at(stage, 7);
	stage_held(stage, "rdma/r-1 rdma/r-2 rdma/r-3");
	EXPECT_SHOWN(stage, "HUHU", 2);
	assert_int_equal(count_of(stage->log->str, "e pods that hold 'rdma/r-"), 1);
	stage_at(stage, 60);
	stage_held(stage, "rdma/r-2");
	EXPECT_SHOWN(stage, "HHHH", 3);
	assert_int_equal(offer_asks_from(stage->offer, -1), -1);
	assert_int_equal(count_of(stage->log->str, "no pod has old device numbers"), 1);
}

static void numbers_of_an_earlier_process(G_GNUC_UNUSED void **state)
{
	g_autoptr(Device) device = device_build(A);
	struct saved_hca one = {device, TRUE, TRUE, TRUE, TRUE, NULL};
	g_autoptr(GPtrArray) saved = g_ptr_array_new();
	g_autoptr(GPtrArray) ids = g_ptr_array_new();

	g_ptr_array_add(saved, &one);
	stage = stage_new("hcaMax=2");
	offer_restore(stage->offer, saved, ids, stage->now_us);
	stage_flush(stage);
	/* shown before anything was looked at */
	EXPECT_SHOWN(stage, "HH", 1);
	SCAN(stage, HCA("a", 5));
	stage_look(stage, "a", "ok");
	EXPECT_SHOWN(stage, "HH", 1);
	stage_held(stage, "rdma/r-0");
	EXPECT_SHOWN(stage, "UH", 2);
}

static void what_was_told_before_holds_until_it_is_looked_at(G_GNUC_UNUSED void **state)
{
	g_autoptr(GPtrArray) saved = NULL;
	g_autoptr(GPtrArray) ids = g_ptr_array_new();

	stage = stage_new("hcaMax=2");
	SCAN(stage, A, B);
	stage_look(stage, "a", "ok");
	stage_look(stage, "b", "link port 1 is '1: DOWN'");
	saved = offer_save(stage->offer);
	stage_free(stage);
	stage = stage_new("hcaMax=2");
	offer_restore(stage->offer, saved, ids, stage->now_us);
	stage_flush(stage);
	EXPECT_SHOWN(stage, "HU", 1);
	SCAN(stage, A, B);
	stage_look(stage, "a b", "ok");
	EXPECT_SHOWN(stage, "HU", 1);
	stage_at(stage, 11);
	EXPECT_SHOWN(stage, "HH", 2);
	/* a backend that is not accepted any more */
	offer_give_up(stage->offer, stage->now_us);
	stage_at(stage, 21);
	EXPECT_SHOWN(stage, "UU", 3);
	assert_non_null(strstr(stage->log->str, "backend: its backend cannot be used"));
}

/* Whatever was configured meanwhile. */
static void ids_of_an_earlier_process_stay_while_a_pod_may_hold_them(G_GNUC_UNUSED void **state)
{
	g_autoptr(GPtrArray) saved = NULL;
	g_autoptr(GPtrArray) ids = g_ptr_array_new();

	stage = stage_new("hcaMax=3");
	assert_null(offer_shown(stage->offer));
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	assert_ptr_equal(offer_shown(stage->offer), stage->shown);
	saved = offer_save(stage->offer);
	g_ptr_array_add(ids, (gpointer) "rdma/r-0");
	g_ptr_array_add(ids, (gpointer) "rdma/r-1");
	g_ptr_array_add(ids, (gpointer) "rdma/r-2");
	g_ptr_array_add(ids, (gpointer) "0000:3b:00.0");
	stage_free(stage);
	stage = stage_new("hcaMax=1");
	offer_restore(stage->offer, saved, ids, stage->now_us);
	stage_flush(stage);
	EXPECT_SHOWN(stage, "HUUU", 1);
	stage_look(stage, "a", "ok");
	stage_at(stage, 700);
	stage_held(stage, "rdma/r-2");
	EXPECT_SHOWN(stage, "HU", 2);
	stage_held(stage, "");
	EXPECT_SHOWN(stage, "H", 3);
}

/* --- what bars a resource --- */

static void refuse(gboolean refused)
{
	offer_refuse(stage->offer, refused);
	stage_flush(stage);
}

static void one_that_is_refused_offers_nothing(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	refuse(TRUE);
	EXPECT_SHOWN(stage, "", 1);
	SCAN(stage, A);
	EXPECT_SHOWN(stage, "", 1);
	stage_look(stage, "a", "ok");
	EXPECT_SHOWN(stage, "", 1);
	refuse(FALSE);
	EXPECT_SHOWN(stage, "HH", 2);
	refuse(FALSE);
	EXPECT_SHOWN(stage, "HH", 2);
	/* what was shown once does not vanish */
	refuse(TRUE);
	EXPECT_SHOWN(stage, "UU", 3);
	refuse(FALSE);
	EXPECT_SHOWN(stage, "HH", 4);
}

/* --- configuration --- */

static gboolean keeps_a(const Device *device, gpointer data)
{
	(void)data;
	return strcmp(device_id(device), "a") == 0;
}

static gboolean keeps_all(const Device *device, gpointer data)
{
	(void)device;
	(void)data;
	return TRUE;
}

static void configure(const char *config, gboolean (*keeps)(const Device *, gpointer))
{
	g_autoptr(ResourceConfig) built = config_build(config);

	offer_configure(stage->offer, built, &stage->rules, keeps, NULL, stage->now_us);
	stage_flush(stage);
}

static void fewer_and_more_slots(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	EXPECT_SHOWN(stage, "HH", 1);
	configure("hcaMax=4", keeps_all);
	EXPECT_SHOWN(stage, "HHHH", 2);
	configure("hcaMax=4", keeps_all);
	EXPECT_SHOWN(stage, "HHHH", 2);
	configure("hcaMax=1", keeps_all);
	EXPECT_SHOWN(stage, "HUUU", 3);
	configure("hcaMax=2", keeps_all);
	EXPECT_SHOWN(stage, "HHUU", 4);
	assert_int_equal(offer_n_retiring(stage->offer), 2);
	assert_int_equal(offer_asks_from(stage->offer, -1), 601 * S);
	/* The same again later and later. */
	assert_int_equal(offer_asks_from(stage->offer, 601 * S), 602 * S);
	assert_int_equal(offer_asks_from(stage->offer, 605 * S), 609 * S);
	assert_int_equal(offer_asks_from(stage->offer, 700 * S), 730 * S);
	stage_at(stage, 700);
	stage_held(stage, "rdma/r-3");
	EXPECT_SHOWN(stage, "HHU", 5);
	stage_held(stage, "");
	EXPECT_SHOWN(stage, "HH", 6);
	assert_int_equal(offer_asks_from(stage->offer, -1), -1);
}

static void hcas_that_are_not_selected_any_more(G_GNUC_UNUSED void **state)
{
	stage = stage_new("");
	SCAN(stage, A, B);
	stage_look(stage, "a", "ok");
	stage_look(stage, "b", DOWN);
	EXPECT_SHOWN(stage, "HU", 1);
	configure("", keeps_a);
	SCAN(stage, A);
	EXPECT_SHOWN(stage, "HU", 1);
	assert_int_equal(offer_n_retiring(stage->offer), 1);
	assert_null(health_board_find(offer_health(stage->offer), "b"));
	stage_at(stage, 700);
	stage_held(stage, "");
	EXPECT_SHOWN(stage, "H", 2);
}

static void health_goes_on_over_a_change(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A, B);
	stage_look(stage, "a", "ok");
	stage_look(stage, "b", DOWN);
	EXPECT_SHOWN(stage, "HU", 1);
	configure("hcaMax=2 policy=anyDevice", keeps_all);
	EXPECT_SHOWN(stage, "UU", 2);
	configure("hcaMax=2 policy=off", keeps_all);
	EXPECT_SHOWN(stage, "HH", 3);
	/* what nobody watched has to be looked at first */
	configure("hcaMax=2", keeps_all);
	EXPECT_SHOWN(stage, "HH", 3);
	stage_look(stage, "a", "ok");
	stage_look(stage, "b", "link port 1 is '1: DOWN'");
	EXPECT_SHOWN(stage, "HU", 4);
	/* shorter delays hold for what is under way */
	stage_look(stage, "b", "ok");
	stage_at(stage, 3);
	EXPECT_SHOWN(stage, "HU", 4);
	stage->rules.health.up_delay_us = 0;
	configure("hcaMax=2", keeps_all);
	EXPECT_SHOWN(stage, "HH", 5);
}

static void a_resource_leaves_when_nobody_holds_it(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	offer_leave(stage->offer);
	assert_false(offer_is_over(stage->offer));
	stage_flush(stage);
	EXPECT_SHOWN(stage, "UU", 2);
	stage_at(stage, 599);
	stage_held(stage, "");
	EXPECT_SHOWN(stage, "UU", 2);
	stage_at(stage, 700);
	stage_held(stage, "rdma/r-1");
	EXPECT_SHOWN(stage, "U", 3);
	assert_false(offer_is_over(stage->offer));
	stage_held(stage, "");
	assert_true(offer_is_over(stage->offer));
	/* no empty list at the end */
	EXPECT_SHOWN(stage, "U", 3);
}

static void a_resource_that_offered_nothing_leaves_at_once(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	offer_give_up(stage->offer, stage->now_us);
	stage_flush(stage);
	EXPECT_SHOWN(stage, "", 1);
	offer_leave(stage->offer);
	stage_flush(stage);
	assert_true(offer_is_over(stage->offer));
	EXPECT_SHOWN(stage, "", 1);
}

static void a_resource_that_comes_back_stays(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	offer_leave(stage->offer);
	stage_flush(stage);
	configure("hcaMax=2", keeps_all);
	EXPECT_SHOWN(stage, "HH", 3);
	assert_int_equal(offer_n_retiring(stage->offer), 0);
	assert_false(offer_is_over(stage->offer));
}

#define STORY(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(a_reload_with_other_numbers),
		STORY(numbers_of_an_earlier_process),
		STORY(what_was_told_before_holds_until_it_is_looked_at),
		STORY(ids_of_an_earlier_process_stay_while_a_pod_may_hold_them),
		STORY(one_that_is_refused_offers_nothing),
		STORY(fewer_and_more_slots),
		STORY(hcas_that_are_not_selected_any_more),
		STORY(health_goes_on_over_a_change),
		STORY(a_resource_leaves_when_nobody_holds_it),
		STORY(a_resource_that_offered_nothing_leaves_at_once),
		STORY(a_resource_that_comes_back_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
