/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char *dir;
	int dir_fd;
};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->dir = g_dir_make_tmp("rdmadp-file-XXXXXX", NULL);
	fixture->dir_fd = open(fixture->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(g_rmdir(fixture->dir), 0);
	close(fixture->dir_fd);
	g_free(fixture->dir);
	g_free(fixture);
	return 0;
}

/* Renames "a" to "b" where nothing, and where something has that name. FALSE as soon as
 * something is not as it should be. */
static gboolean rename_works(int dir_fd)
{
	struct stat before, after;

	return mknodat(dir_fd, "a", S_IFREG | 0600, 0) == 0 &&
	       fstatat(dir_fd, "a", &before, 0) == 0 && socket_file_rename(dir_fd, "a", "b") == 0 &&
	       fstatat(dir_fd, "b", &after, 0) == 0 && socket_file_is_same(&before, &after) &&
	       after.st_nlink == 1 && fstatat(dir_fd, "a", &after, 0) < 0 &&
	       mknodat(dir_fd, "a", S_IFREG | 0600, 0) == 0 &&
	       socket_file_rename(dir_fd, "a", "b") == EEXIST &&
	       fstatat(dir_fd, "b", &after, 0) == 0 && socket_file_is_same(&before, &after) &&
	       unlinkat(dir_fd, "a", 0) == 0 && unlinkat(dir_fd, "b", 0) == 0 &&
	       socket_file_rename(dir_fd, "a", "b") == ENOENT;
}

static void what_is_in_the_way_is_called_by_its_name(void **state)
{
	static const struct {
		mode_t mode;
		const char *kind;
	} rows[] = {
		{S_IFSOCK, "a socket"},	  {S_IFLNK, "a symbolic link (which is not followed)"},
		{S_IFDIR, "a directory"}, {S_IFREG, "a file"},
		{S_IFCHR, "a file"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct stat status = {.st_mode = rows[i].mode | 0644};

		assert_string_equal(socket_file_kind(&status), rows[i].kind);
	}
}

static void a_user_of_another_namespace_is_explained(void **state)
{
	(void)state;
	assert_string_equal(socket_file_uid_hint(0), "");
	assert_string_equal(socket_file_uid_hint(1000), "");
	assert_non_null(strstr(socket_file_uid_hint(65534), "hostUsers"));
}

static void a_rename_replaces_nothing(void **state)
{
	const struct fixture *fixture = *state;

	assert_true(rename_works(fixture->dir_fd));
}

/* From now on the kernel answers a rename with flags as it does where the file system knows
 * none. FALSE where that cannot be had. */
static gboolean forget_flags(unsigned int error_number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {G_N_ELEMENTS(filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { WORKS, FAILS, CANNOT_TELL };

/* What a child without flags makes of the work; the filter ends with it. */
static int without_flags(const struct fixture *fixture, unsigned int error_number,
			 gboolean (*work)(const struct fixture *fixture))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (!forget_flags(error_number))
			_exit(CANNOT_TELL);
		_exit(work(fixture) ? WORKS : FAILS);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static gboolean can_rename(const struct fixture *fixture)
{
	return rename_works(fixture->dir_fd);
}

static void ignore(int fd, gpointer data)
{
	(void)data;
	close(fd);
}

static gboolean can_listen(const struct fixture *fixture)
{
	Listener *listener = listener_new(fixture->dir, "a.sock", "test", ignore, NULL, NULL);
	g_autoptr(GError) error = NULL;
	Listener *second = listener_new(fixture->dir, "a.sock", "test", ignore, NULL, &error);
	gboolean works = listener != NULL && listener_is_intact(listener) && second == NULL &&
			 g_error_matches(error, LISTENER_ERROR, LISTENER_ERROR_BUSY);

	listener_free(listener);
	return works;
}

/* NFS, ZFS to 2.1; a kernel or a sandbox that does not know the call. */
static void a_file_system_without_flags_will_do(void **state)
{
	static const unsigned int errors[] = {EINVAL, ENOSYS};
	const struct fixture *fixture = *state;

	for (gsize i = 0; i < G_N_ELEMENTS(errors); i++) {
		if (without_flags(fixture, errors[i], can_rename) == CANNOT_TELL)
			skip();
		assert_int_equal(without_flags(fixture, errors[i], can_rename), WORKS);
		assert_int_equal(without_flags(fixture, errors[i], can_listen), WORKS);
	}
}

static void another_error_is_told(void **state)
{
	const struct fixture *fixture = *state;
	int result = without_flags(fixture, EROFS, can_listen);

	if (result == CANNOT_TELL)
		skip();
	assert_int_equal(result, FAILS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		cmocka_unit_test(what_is_in_the_way_is_called_by_its_name),
		cmocka_unit_test(a_user_of_another_namespace_is_explained),
		TEST(a_rename_replaces_nothing),
		TEST(a_file_system_without_flags_will_do),
		TEST(another_error_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
