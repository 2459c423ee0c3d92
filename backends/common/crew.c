/* SPDX-License-Identifier: Apache-2.0 */
#include "common/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/sysfs.h"
#include "common/thread.h"

#define MEMBERS 4 /* the caller is one */
#define SHARE 16 /* so many at a time */
#define LEAST 64 /* for each member, or a thread costs more than it brings */

struct crew {
	uint32_t n;
	crew_look_fn look;
	void *data;
	_Atomic uint32_t next;
};

struct member {
	struct crew *crew;
	pthread_t thread;
	struct arena arena;
	int lacked;
};

static void look_at_shares(struct crew *crew, struct arena *arena)
{
	uint32_t first;

	while ((first = atomic_fetch_add(&crew->next, SHARE)) < crew->n) {
		uint32_t end = crew->n - first < SHARE ? crew->n : first + SHARE;

		for (uint32_t i = first; i < end; i++)
			crew->look(crew->data, i, arena);
	}
}

static void *run_member(void *data)
{
	struct member *member = data;

	sysfs_begin_reads();
	look_at_shares(member->crew, &member->arena);
	member->lacked = sysfs_end_reads();
	return NULL;
}

/* Those besides the caller. */
static uint32_t count_helpers(uint32_t n)
{
	uint32_t members = n / LEAST < MEMBERS ? n / LEAST : MEMBERS;
	cpu_set_t cpus;
	uint32_t n_cpus;

	if (members < 2 || sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 0;
	n_cpus = (uint32_t)CPU_COUNT(&cpus);
	return (members < n_cpus ? members : n_cpus) - 1;
}

void crew_look(uint32_t n, crew_look_fn look, void *data, struct arena *arena)
{
	struct crew crew = {.n = n, .look = look, .data = data};
	struct member helpers[MEMBERS - 1] = {0};
	uint32_t wanted = count_helpers(n);
	uint32_t started = 0;

	for (; started < wanted; started++) {
		helpers[started].crew = &crew;
		if (thread_start(&helpers[started].thread, run_member, &helpers[started]) < 0)
			break;
	}
	look_at_shares(&crew, arena);
	for (uint32_t i = 0; i < started; i++) {
		pthread_join(helpers[i].thread, NULL);
		arena_join(arena, &helpers[i].arena);
		sysfs_note_lack(helpers[i].lacked);
	}
}
