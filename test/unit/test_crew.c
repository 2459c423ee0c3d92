/* SPDX-License-Identifier: Apache-2.0 */
#include "common/crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/sysfs.h"

#define MOST 10007

struct board {
	pthread_t caller;
	_Atomic uint32_t looks[MOST];
	char *kept[MOST];
	_Atomic uint32_t by_others; /* looks of threads that are not the caller */
	bool waits; /* the caller does nothing before another thread has */
	bool lacks; /* those other threads meet a lack of descriptors */
};

static int set_up(void **state)
{
	struct board *board = calloc(1, sizeof(*board));

	assert_non_null(board);
	board->caller = pthread_self();
	*state = board;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void look(void *data, uint32_t i, struct arena *arena)
{
	struct board *board = data;

	atomic_fetch_add(&board->looks[i], 1);
	board->kept[i] = arena_printf(arena, "%u", i);
	if (!pthread_equal(pthread_self(), board->caller)) {
		atomic_fetch_add(&board->by_others, 1);
		if (board->lacks)
			sysfs_note_lack(-EMFILE);
		return;
	}
	while (board->waits && atomic_load(&board->by_others) == 0)
		sched_yield();
}

static void everything_is_looked_at_once(void **state)
{
	static const uint32_t sizes[] = {0, 1, 15, 16, 17, 127, 128, 129, 1000, MOST};
	struct board *board = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct arena arena = {0};
		char *before = arena_strdup(&arena, "before");

		memset(board->looks, 0, sizeof(board->looks));
		crew_look(sizes[i], look, board, &arena);
		for (uint32_t j = 0; j < MOST; j++)
			assert_int_equal(board->looks[j], j < sizes[i]);
		for (uint32_t j = 0; j < sizes[i]; j++)
			assert_int_equal(strtoul(board->kept[j], NULL, 10), j);
		assert_string_equal(before, "before");
		assert_string_equal(arena_strdup(&arena, "after"), "after");
		arena_free(&arena);
	}
}

static bool has_one_cpu(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) < 2;
}

static void a_few_things_need_no_thread(void **state)
{
	struct board *board = *state;
	struct arena arena = {0};

	crew_look(100, look, board, &arena);
	assert_int_equal(board->by_others, 0);
	arena_free(&arena);
}

/* A scan that has missed something must not look whole, whoever has missed it. */
static void what_another_thread_lacked_is_known(void **state)
{
	struct board *board = *state;
	struct arena arena = {0};

	if (has_one_cpu())
		skip();
	board->waits = true;
	sysfs_begin_reads();
	crew_look(MOST, look, board, &arena);
	assert_int_not_equal(board->by_others, 0);
	assert_int_equal(sysfs_end_reads(), 0);
	board->lacks = true;
	board->by_others = 0;
	crew_look(MOST, look, board, &arena);
	assert_int_equal(sysfs_end_reads(), -EMFILE);
	arena_free(&arena);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(everything_is_looked_at_once),
		TEST(a_few_things_need_no_thread),
		TEST(what_another_thread_lacked_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
