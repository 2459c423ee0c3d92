/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC would start a thread for each CPU up to 32. This program pretends to run on a
 * machine with 64, so that the replacement of the library's CPU count in rpc.c is seen
 * to work in this way of linking.
 */
#include <dirent.h>
#include <glib.h>
#include <grpc/support/cpu.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc_service.h"

enum { PRETENDED_CPUS = 64 };

/* In the place of libc's, also for the shared libraries. The sanitizers call it before
 * they are ready to be called. */
#define REPLACEMENT __attribute__((visibility("default"), no_sanitize("thread", "address")))

REPLACEMENT long sysconf(int name)
{
	if (name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN)
		return PRETENDED_CPUS;
	return __sysconf(name);
}

REPLACEMENT int sched_getcpu(void)
{
	return PRETENDED_CPUS - 1;
}

static int count_threads(void)
{
	int n = -2; /* "." and ".." */
	DIR *dir = opendir("/proc/self/task");

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void many_cpus_do_not_make_many_threads(void **state)
{
	enum { CALLS = 64 };
	struct service *service = *state;
	struct answer answers[CALLS] = {{0}};
	g_autoptr(GBytes) bytes = g_bytes_new_static("x", 1);

	assert_int_equal(sysconf(_SC_NPROCESSORS_CONF), PRETENDED_CPUS);
	for (int i = 0; i < CALLS; i++)
		ask(service, "/test.Service/Echo", bytes, 0, &answers[i]);
	for (int i = 0; i < CALLS; i++) {
		WAIT_FOR(answers[i].is_over);
		assert_int_equal(answers[i].status, RPC_OK);
		answer_clear(&answers[i]);
	}
	assert_in_range(count_threads(), 2, 12);
}

/* The one indexes tables whose size is the other. */
static void the_current_cpu_is_one_of_those_counted(void **state)
{
	(void)state;
	assert_int_equal(gpr_cpu_num_cores(), 1);
	assert_int_equal(gpr_cpu_current_cpu(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many_cpus_do_not_make_many_threads, service_setup,
						service_teardown),
		cmocka_unit_test(the_current_cpu_is_one_of_those_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
