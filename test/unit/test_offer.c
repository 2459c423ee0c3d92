/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories of the field, each with the exact number of lists that the kubelet receives.
 * The rules are those that post-mortems of RDMA health checks have taught; test/README.md
 * numbers them.
 */
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

static struct stage *stage;

static int tear_down(void **state)
{
	(void)state;
	g_clear_pointer(&stage, stage_free);
	return 0;
}

/* F18: a port that never was ACTIVE. */
static void a_port_that_never_was_up(G_GNUC_UNUSED void **state)
{
	static const struct {
		gboolean assume;
		const char *list, *said;
	} table[] = {
		{FALSE, "HU", "w HCA 'b' is Unhealthy: link: port 1 is '1: DOWN'\n"},
		{TRUE, "HH",
		 "w the link of 'b' was never up and yet counts as good, because initial_state is "
		 "\"assume\": port 1 is '1: DOWN'\n"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(ResourceConfig) config = config_build("hcaMax=2");

		stage = stage_new("hcaMax=2");
		stage->rules.health.assume_initial = table[i].assume;
		offer_free(stage->offer);
		stage->offer = offer_new(config, &stage->rules);
		SCAN(stage, A, B);
		EXPECT_SHOWN(stage, "none", 0);
		for (guint second = 1; second < 600; second += 5) {
			stage_at(stage, second);
			stage_poll(stage);
			stage_look(stage, "a", "ok");
			stage_look(stage, "b", DOWN);
		}
		EXPECT_SHOWN(stage, table[i].list, 1);
		assert_string_equal(stage->log->str, table[i].said);
		g_clear_pointer(&stage, stage_free);
	}
}

static void expect_reason(const char *reason)
{
	const struct hca *hca = resource_find(offer_resource(stage->offer), "b");
	g_autofree char *told = health_board_reason(offer_health(stage->offer), "b");

	assert_string_equal(told, reason);
	assert_string_equal(hca_problem(hca), reason);
}

/* F22, rules 1 and 11: one that hangs delays nobody, and is unknown, not down. */
static void one_that_hangs_is_unhealthy_after_the_limit(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=3");
	SCAN(stage, A, B, C);
	stage_look(stage, "a c", "ok");
	EXPECT_SHOWN(stage, "none", 0);
	stage_at(stage, 1.1);
	stage_first_look_over(stage);
	EXPECT_SHOWN(stage, "HHH", 1);
	for (guint second = 2; second < 61; second += 5) {
		stage_at(stage, second);
		stage_look(stage, "a c", "ok");
		stage_look(stage, "b", "hang");
	}
	EXPECT_SHOWN(stage, "HHH", 1);
	stage_at(stage, 61.1);
	EXPECT_SHOWN(stage, "HUH", 2);
	assert_string_equal(stage->log->str,
			    "w HCA 'b' is Unhealthy: unknown: no answer for 60 s\n");
	/* the others are still looked at, and it has a way back */
	stage_look(stage, "c", DOWN);
	stage_at(stage, 72);
	EXPECT_SHOWN(stage, "HUU", 3);
	stage_look(stage, "b c", "ok");
	stage_at(stage, 83);
	EXPECT_SHOWN(stage, "HHH", 4);
}

/* A read that hangs while the HCA is Unhealthy: why it is so is fresh, and no news. */
static void one_that_is_unhealthy_and_hangs(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A, B);
	stage_look(stage, "a", "ok");
	stage_look(stage, "b", DOWN);
	stage_at(stage, 5);
	stage_look(stage, "b", "hang");
	stage_at(stage, 64);
	expect_reason("link: port 1 is '1: DOWN'");
	stage_at(stage, 66);
	expect_reason("unknown: no answer for 60 s");
	stage_look(stage, "b", "fatal it burns");
	expect_reason("fatal: it burns");
	EXPECT_SHOWN(stage, "HU", 1);
}

/* Rule 1: an error holds the last state, a good one and a bad one. */
static void what_cannot_be_read_holds_the_last_state(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A, B);
	stage_look(stage, "a", "ok");
	stage_look(stage, "b", DOWN);
	EXPECT_SHOWN(stage, "HU", 1);
	for (guint second = 2; second < 60; second += 5) {
		stage_at(stage, second);
		stage_look(stage, "a b", "unknown 'state' cannot be read: I/O error");
	}
	EXPECT_SHOWN(stage, "HU", 1);
}

/* Rule 2: gone counts after three polls, and after the delay. */
static void a_device_that_vanishes_between_polls(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A, B);
	stage_look(stage, "a b", "ok");
	stage_at(stage, 2);
	SCAN(stage, A);
	for (guint second = 5; second <= 15; second += 5) {
		stage_at(stage, second);
		stage_poll(stage);
	}
	stage_at(stage, 24.9);
	EXPECT_SHOWN(stage, "HH", 1);
	stage_at(stage, 25);
	EXPECT_SHOWN(stage, "HU", 2);
	assert_string_equal(
		health_state_name(health_board_find(offer_health(stage->offer), "b")->state),
		"missing");
	SCAN(stage, A, B);
	stage_look(stage, "a b", "ok");
	stage_at(stage, 35);
	EXPECT_SHOWN(stage, "HH", 3);
}

static void a_device_that_an_event_takes_away(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A, B);
	stage_look(stage, "a b", "ok");
	stage_at(stage, 2);
	EVENT(stage, A);
	stage_at(stage, 11.9);
	EXPECT_SHOWN(stage, "HH", 1);
	stage_at(stage, 12);
	EXPECT_SHOWN(stage, "HU", 2);
}

/* Without polls, what scans miss counts. */
static void without_polls_scans_count(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A, B);
	stage_look(stage, "a b", "ok");
	for (guint second = 60; second <= 180; second += 60) {
		stage_at(stage, second);
		stage_scan(stage, OFFER_SCAN_COUNTS, (const char *const[]){A, NULL});
	}
	stage_at(stage, 189);
	EXPECT_SHOWN(stage, "HH", 1);
	stage_at(stage, 190);
	EXPECT_SHOWN(stage, "HU", 2);
}

/* Rule 3: a driver that is reloaded takes all at once: one list, one report; if it is
 * back in time, none. */
static void all_gone_at_once(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=4");
	SCAN(stage, A, B, C);
	stage_look(stage, "a b c", "ok");
	stage_at(stage, 5);
	EVENT(stage, NULL);
	stage_at(stage, 12);
	EVENT(stage, A, B, C);
	stage_look(stage, "a b c", "ok");
	stage_at(stage, 60);
	EXPECT_SHOWN(stage, "HHHH", 1);
	assert_string_equal(stage->log->str, "");
	EVENT(stage, NULL);
	stage_at(stage, 100);
	EXPECT_SHOWN(stage, "UUUU", 2);
	assert_string_equal(stage->log->str,
			    "w HCAs 'a', 'b', 'c' are Unhealthy: gone: it is not on the bus any "
			    "more; all at once, as when the driver is reloaded or the bus is "
			    "lost\n");
	EVENT(stage, A, B, C);
	stage_look(stage, "a b c", "ok");
	stage_at(stage, 120);
	EXPECT_SHOWN(stage, "HHHH", 3);
}

/* Rule 4: every way to be unhealthy has a way back. */
static void every_unhealthy_state_is_left(G_GNUC_UNUSED void **state)
{
	static const char *const answers[] = {DOWN, "files uverbs0 is gone", "fatal it burns",
					      "vendor too hot"};

	for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
		stage = stage_new("hcaMax=1");
		SCAN(stage, A);
		stage_look(stage, "a", answers[i]);
		EXPECT_SHOWN(stage, "U", 1);
		stage_at(stage, 30);
		stage_look(stage, "a", "ok");
		stage_at(stage, 40);
		EXPECT_SHOWN(stage, "H", 2);
		g_clear_pointer(&stage, stage_free);
	}
}

/* Rule 7, F34: virtual functions follow their PF's uplink; why is said once. */
static void idle_functions_are_healthy(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, "v1 vf parent=p rdma=r1 port=1:ib:down uverbs=1 cm",
	     "v2 vf parent=p rdma=r2 port=1:ib:down uverbs=2 cm");
	for (guint second = 1; second < 200; second += 5) {
		stage_at(stage, second);
		stage_look(stage, "v1 v2", "ok port 1 is '1: DOWN', which counts as idle");
	}
	EXPECT_SHOWN(stage, "HH", 1);
	assert_string_equal(stage->log->str,
			    "i 'v1', 'v2' count as healthy although the last scan found no port of "
			    "it ACTIVE: port 1 is '1: DOWN', which counts as idle\n");
}

/* Rule 8: a link that is up without its character device is not usable. */
static void files_that_vanish_make_unhealthy(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, A, B);
	stage_look(stage, "a b", "ok");
	EVENT(stage, A, "b rdma=mlx5_1 port=1:ib:active cm");
	stage_look(stage, "a b", "ok");
	stage_at(stage, 12);
	EXPECT_SHOWN(stage, "HU", 2);
	assert_string_equal(stage->log->str,
			    "w HCA 'b' is Unhealthy: files: uverbs for mlx5_1 missing\n");
	EVENT(stage, A, B);
	stage_look(stage, "a b", "ok");
	stage_at(stage, 30);
	EXPECT_SHOWN(stage, "HH", 3);
}

/* Rule 9: an adapter with neither layer (EFA) counts by what its backend says. */
static void an_adapter_without_a_link_layer(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=1 rdma_cm=optional");
	SCAN(stage, "a rdma=rdmap0 port=1:unknown:active uverbs=0");
	stage_look(stage, "a", "ok");
	stage_at(stage, 100);
	EXPECT_SHOWN(stage, "H", 1);
}

/* F35: states change every second; nothing is sent unless it lasts. */
static void a_flapping_link(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=1");
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	for (guint i = 0; i < 50; i++) {
		stage_at(stage, 2 + i);
		stage_look(stage, "a", i % 6 == 5 ? "ok" : DOWN);
	}
	stage_look(stage, "a", "ok");
	EXPECT_SHOWN(stage, "H", 1);
	assert_int_equal(health_board_find(offer_health(stage->offer), "a")->flaps, 9);
	assert_string_equal(stage->log->str, "");
	stage_at(stage, 60);
	stage_look(stage, "a", DOWN);
	stage_at(stage, 90);
	EXPECT_SHOWN(stage, "U", 2);
	stage_look(stage, "a", "ok");
	stage_at(stage, 99.9);
	EXPECT_SHOWN(stage, "U", 2);
	stage_at(stage, 100);
	EXPECT_SHOWN(stage, "H", 3);
}

/* F31: the driver comes late, step by step; later it is there in time. */
static void a_late_driver(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2");
	SCAN(stage, NULL);
	EXPECT_SHOWN(stage, "", 1);
	stage_at(stage, 2);
	EVENT(stage, "a note=no_driver_is_bound");
	stage_at(stage, 3);
	EVENT(stage, "a net=ib0:ib");
	stage_at(stage, 4);
	EVENT(stage, "a net=ib0:ib rdma=mlx5_0 port=1:ib:active");
	stage_look(stage, "a", "ok");
	stage_at(stage, 5);
	EVENT(stage, "a net=ib0:ib rdma=mlx5_0 port=1:ib:active uverbs=0");
	stage_look(stage, "a", "ok");
	EXPECT_SHOWN(stage, "", 1);
	stage_at(stage, 6);
	EVENT(stage, "a net=ib0:ib rdma=mlx5_0 port=1:ib:active uverbs=0 cm");
	stage_look(stage, "a", "ok");
	stage_at(stage, 300);
	EXPECT_SHOWN(stage, "HH", 2);
	assert_string_equal(stage->log->str,
			    "i 'a' is selected and cannot be used: no driver is bound\n"
			    "i 'a' is selected and cannot be used: it has no RDMA device; load the "
			    "RDMA driver of this adapter\n");
}

/* A second HCA appears the same way beside one that works. */
static void an_hca_that_appears_in_steps(G_GNUC_UNUSED void **state)
{
	stage = stage_new("");
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	EXPECT_SHOWN(stage, "H", 1);
	stage_at(stage, 2);
	EVENT(stage, A, "b rdma=mlx5_1 port=1:ib:active cm");
	stage_look(stage, "a b", "ok");
	stage_at(stage, 4);
	EXPECT_SHOWN(stage, "H", 1);
	EVENT(stage, A, B);
	EXPECT_SHOWN(stage, "H", 1);
	stage_look(stage, "a b", "ok");
	EXPECT_SHOWN(stage, "HH", 2);
	/* one whose files do not come is told after the delay */
	stage_at(stage, 100);
	EVENT(stage, A, B, "c rdma=mlx5_2 port=1:ib:active cm");
	stage_at(stage, 109);
	EXPECT_SHOWN(stage, "HH", 2);
	stage_at(stage, 110);
	EXPECT_SHOWN(stage, "HHU", 3);
	/* and one that goes before is never heard of */
	EVENT(stage, A, B, "d rdma=mlx5_3 cm", "c rdma=mlx5_2 port=1:ib:active cm");
	EVENT(stage, A, B, "c rdma=mlx5_2 port=1:ib:active cm");
	stage_at(stage, 300);
	EXPECT_SHOWN(stage, "HHU", 3);
}

/* F06: a VF goes into a pod's namespace and comes back under other names. */
static void a_function_in_a_pods_namespace(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=3");
	SCAN(stage, A, B, C);
	stage_look(stage, "a b c", "ok");
	stage_at(stage, 5);
	EVENT(stage, A, "b elsewhere rdma=mlx5_1 port=1:ib:unknown uverbs=1 cm", C);
	stage_look(stage, "a b c", "ok mlx5_1 is in another network namespace");
	stage_at(stage, 100);
	EXPECT_SHOWN(stage, "HHH", 1);
	EVENT(stage, A, "b rdma=mlx5_9 port=1:ib:active uverbs=7 cm", C);
	stage_look(stage, "a b c", "ok");
	stage_at(stage, 200);
	EXPECT_SHOWN(stage, "HHH", 1);
	assert_true(renumber_is_open(offer_renumber(stage->offer)));
	stage_held(stage, "rdma/r-1");
	EXPECT_SHOWN(stage, "HUH", 2);
	stage_at(stage, 250);
	stage_held(stage, "");
	EXPECT_SHOWN(stage, "HHH", 3);
}

static void no_policy_no_health(G_GNUC_UNUSED void **state)
{
	stage = stage_new("hcaMax=2 policy=off");
	SCAN(stage, A, B);
	EXPECT_SHOWN(stage, "HH", 1);
	stage_look(stage, "a b", DOWN);
	EVENT(stage, NULL);
	stage_at(stage, 1000);
	EXPECT_SHOWN(stage, "HH", 1);
}

#define STORY(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(a_port_that_never_was_up),
		STORY(one_that_hangs_is_unhealthy_after_the_limit),
		STORY(one_that_is_unhealthy_and_hangs),
		STORY(what_cannot_be_read_holds_the_last_state),
		STORY(a_device_that_vanishes_between_polls),
		STORY(a_device_that_an_event_takes_away),
		STORY(without_polls_scans_count),
		STORY(all_gone_at_once),
		STORY(every_unhealthy_state_is_left),
		STORY(idle_functions_are_healthy),
		STORY(files_that_vanish_make_unhealthy),
		STORY(an_adapter_without_a_link_layer),
		STORY(a_flapping_link),
		STORY(a_late_driver),
		STORY(an_hca_that_appears_in_steps),
		STORY(a_function_in_a_pods_namespace),
		STORY(no_policy_no_health),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
