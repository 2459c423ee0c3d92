/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC sizes its thread pool by the number of CPUs, up to 32 threads, and its tables of
 * counters too; two are enough for a few calls a second. These two replace the
 * library's own: by the linker's --wrap when it is linked statically, by being exported
 * when it is shared (core/options.cmake). Both are needed, since the one is an index
 * into what the other has sized, and a wrapped count does not reach the library's index.
 */
#include <sched.h>

enum { GRPC_CPUS = 2 };

#ifdef RDMADP_STATIC_GRPC
#define REPLACE(function) __wrap_##function
#else
#define REPLACE(function) function
#endif

__attribute__((visibility("default"))) unsigned REPLACE(gpr_cpu_num_cores)(void);
__attribute__((visibility("default"))) unsigned REPLACE(gpr_cpu_current_cpu)(void);

unsigned REPLACE(gpr_cpu_num_cores)(void)
{
	return GRPC_CPUS;
}

unsigned REPLACE(gpr_cpu_current_cpu)(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (unsigned)cpu % GRPC_CPUS;
}
