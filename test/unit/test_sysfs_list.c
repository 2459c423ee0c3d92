/* SPDX-License-Identifier: Apache-2.0 */
/* Listings that break off, as where memory is short. */
#include <errno.h>
#include <glib.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/sysfs.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void host_log(const struct rdmadp_host *host, int level, const char *message)
{
	(void)host;
	(void)level;
	(void)message;
}

/* For the whole process and for ever: in a child only. */
static gboolean deny_listings(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getdents64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {G_N_ELEMENTS(filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { WORKS, FAILS, CANNOT_TELL };

static int ignore(void *data, const char *name)
{
	(void)data;
	(void)name;
	return 0;
}

static int list_in_vain(const struct sysfs *sysfs)
{
	int result;

	if (!deny_listings())
		return CANNOT_TELL;
	sysfs_begin_reads();
	result = sysfs_list(sysfs, "d", ignore, NULL);
	return result == -ENOMEM && sysfs_end_reads() == -ENOMEM ? WORKS : FAILS;
}

static void a_listing_that_breaks_off_is_an_error(void **state)
{
	g_autofree char *root = fixture_new("file d/one = 1\n");
	struct rdmadp_host host = {sizeof(host), 0, root, "/dev", host_log};
	struct sysfs sysfs = {0};
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(sysfs_open(&sysfs, &host), 0);
	child = fork();
	if (child == 0)
		_exit(list_in_vain(&sysfs));
	assert_int_equal(waitpid(child, &status, 0), child);
	sysfs_close(&sysfs);
	fixture_remove(root);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT_TELL)
		skip();
	assert_int_equal(WEXITSTATUS(status), WORKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listing_that_breaks_off_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
