/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random events, and a model that predicts the lists which the kubelet has in the end.
 * RDMADP_TORTURE_EVENTS and RDMADP_TORTURE_SEED in the environment say how many and which;
 * the same seed makes the same events, though not at the same moments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "torture/torture.h"

#define USUAL_EVENTS 200
#define USUAL_SEED 1

/* Events that come without waiting for what follows from the one before. */
#define MOST_IN_A_BURST 5
/* Now and then it has to stay so. */
#define BURSTS_BETWEEN_QUIET 12
#define QUIET_MS 250
#define EVENTS_BETWEEN_SAMPLES 500

/* What the daemon uses; sampled when it is quiet. */
struct usage {
	guint descriptors, threads, memory_kib;
};

static guint number_of(const char *name, guint usual)
{
	const char *text = g_getenv(name);

	return text == NULL ? usual : (guint)strtoul(text, NULL, 10);
}

static guint count_descriptors(const struct torture *torture)
{
	g_autofree char *path =
		g_strdup_printf("/proc/%d/fd", (int)process_pid(torture->node->daemon));
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	guint n = 0;

	assert_non_null(dir);
	while (g_dir_read_name(dir) != NULL)
		n++;
	return n;
}

static guint status_number(const struct torture *torture, const char *key)
{
	g_autofree char *path =
		g_strdup_printf("/proc/%d/status", (int)process_pid(torture->node->daemon));
	g_autofree char *text = NULL;
	const char *line;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	line = strstr(text, key);
	assert_non_null(line);
	return (guint)strtoul(line + strlen(key), NULL, 10);
}

static struct usage usage_of(const struct torture *torture)
{
	return (struct usage){
		.descriptors = count_descriptors(torture),
		.threads = status_number(torture, "Threads:"),
		.memory_kib = status_number(torture, "VmRSS:"),
	};
}

static void take_most(struct usage *most, const struct usage *usage)
{
	most->descriptors = MAX(most->descriptors, usage->descriptors);
	most->threads = MAX(most->threads, usage->threads);
	most->memory_kib = MAX(most->memory_kib, usage->memory_kib);
}

static void take_least(struct usage *least, const struct usage *usage)
{
	least->descriptors = MIN(least->descriptors, usage->descriptors);
	least->threads = MIN(least->threads, usage->threads);
	least->memory_kib = MIN(least->memory_kib, usage->memory_kib);
}

static void print_usage(guint events, const struct usage *usage)
{
	print_message("%u events: %u descriptors, %u threads, %u KiB\n", events, usage->descriptors,
		      usage->threads, usage->memory_kib);
}

static void run_burst(struct torture *torture)
{
	guint n = 1 + (guint)g_rand_int_range(torture->random, 0, MOST_IN_A_BURST);

	torture->touched = 0;
	torture->has_appeared = FALSE;
	torture_note(torture, "--");
	for (guint i = 0; i < n; i++) {
		if (!torture_step(torture))
			break;
		torture_pause((guint)g_rand_int_range(torture->random, 0, 4));
	}
	torture_await(torture, torture_is_settled, NULL, "the lists that were predicted");
}

/* Nothing that comes late may make it different again. */
static void expect_quiet(struct torture *torture)
{
	torture_pause(QUIET_MS);
	torture_await(torture, torture_is_settled, NULL, "the lists that were predicted");
	if (sim_events_bad_verdicts(torture->events) > 0)
		torture_fail(torture, "a kubelet that is content");
}

/* gRPC's threads come and go by themselves. */
#define SLACK_THREADS 2
#define SLACK_KIB 1024

static void expect_no_growth(const struct usage *first, const struct usage *last)
{
	print_message("descriptors %u at first, %u in the end; threads %u, %u; memory %u, %u KiB\n",
		      first->descriptors, last->descriptors, first->threads, last->threads,
		      first->memory_kib, last->memory_kib);
	assert_in_range(last->descriptors, 1, first->descriptors);
	assert_in_range(last->threads, 1, first->threads + SLACK_THREADS);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep what was freed */
	assert_in_range(last->memory_kib, 1, first->memory_kib + SLACK_KIB);
#endif
}

/* The most of the first third against the least of the last. */
static void lists_are_as_predicted_and_nothing_grows(void **state)
{
	struct torture *torture = *state;
	guint events = number_of("RDMADP_TORTURE_EVENTS", USUAL_EVENTS);
	struct usage first = {0, 0, 0};
	struct usage last = {G_MAXUINT, G_MAXUINT, G_MAXUINT};
	guint n_samples = 0;

	print_message("seed %u, %u events\n", torture->seed, events);
	torture_await(torture, torture_is_settled, NULL, "the first lists");
	for (guint i = 1; torture->n_events < events; i++) {
		struct usage usage;

		run_burst(torture);
		if (i % BURSTS_BETWEEN_QUIET == 0)
			expect_quiet(torture);
		usage = usage_of(torture);
		if (torture->n_events / EVENTS_BETWEEN_SAMPLES > n_samples) {
			n_samples++;
			print_usage(torture->n_events, &usage);
		}
		if (torture->n_events < events / 3)
			take_most(&first, &usage);
		else if (torture->n_events > events / 3 * 2)
			take_least(&last, &usage);
	}
	expect_quiet(torture);
	expect_no_growth(&first, &last);
}

static int set_up(void **state)
{
	*state = torture_new(number_of("RDMADP_TORTURE_SEED", USUAL_SEED));
	return 0;
}

static int tear_down(void **state)
{
	torture_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lists_are_as_predicted_and_nothing_grows, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
