/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the threads that are needed can be started. */
#include "edge/startup.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WANTED 3

static void as_many_as_are_wanted_are_started(void **state)
{
	int error = -1;

	(void)state;
	assert_int_equal(startup_probe_threads(WANTED, &error), WANTED);
	assert_int_equal(error, 0);
}

/* For the whole process and for ever: in a child only. */
static gboolean deny_clone3(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {G_N_ELEMENTS(filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { REFUSED, STARTED, CANNOT_TELL };

static int try_without_clone3(void)
{
	int error;

	if (!deny_clone3())
		return CANNOT_TELL;
	return startup_probe_threads(WANTED, &error) == 0 && error == EPERM ? REFUSED : STARTED;
}

/* As container runtimes do that are older than this system call. */
static void a_system_call_that_is_refused_is_named(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(try_without_clone3());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT_TELL)
		skip();
	assert_int_equal(WEXITSTATUS(status), REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_are_wanted_are_started),
		cmocka_unit_test(a_system_call_that_is_refused_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
