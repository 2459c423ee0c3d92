/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC sizes its thread pools by the number of CPUs, up to 32 threads for events and
 * twice the number for each of two executors, which grow when many connections come and
 * never shrink; and its tables of counters too. One is enough for a few calls a second.
 * These two replace the library's own: by the linker's --wrap when it is linked
 * statically, by being exported when it is shared (core/options.cmake). Both are needed,
 * since the one is an index into what the other has sized, and a wrapped count does not
 * reach the library's index.
 */
#ifdef RDMADP_STATIC_GRPC
#define REPLACE(function) __wrap_##function
#else
#define REPLACE(function) function
#endif

__attribute__((visibility("default"))) unsigned REPLACE(gpr_cpu_num_cores)(void);
__attribute__((visibility("default"))) unsigned REPLACE(gpr_cpu_current_cpu)(void);

unsigned REPLACE(gpr_cpu_num_cores)(void)
{
	return 1;
}

unsigned REPLACE(gpr_cpu_current_cpu)(void)
{
	return 0;
}
