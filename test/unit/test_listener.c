/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char *dir;
	char *path;
	int accepted;
};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->dir = g_dir_make_tmp("rdmadp-listener-XXXXXX", NULL);
	fixture->path = g_build_filename(fixture->dir, "rdma_a.sock", NULL);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GDir) listing = g_dir_open(fixture->dir, 0, NULL);
	const char *name;

	while (listing && (name = g_dir_read_name(listing)) != NULL) {
		g_autofree char *path = g_build_filename(fixture->dir, name, NULL);

		g_remove(path);
	}
	g_rmdir(fixture->dir);
	g_free(fixture->dir);
	g_free(fixture->path);
	g_free(fixture);
	return 0;
}

static guint count_files(const char *dir)
{
	g_autoptr(GDir) listing = g_dir_open(dir, 0, NULL);
	guint count = 0;

	while (listing && g_dir_read_name(listing) != NULL)
		count++;
	return count;
}

static void on_accepted(int fd, gpointer data)
{
	struct fixture *fixture = data;

	fixture->accepted++;
	close(fd);
}

static Listener *listen_at(struct fixture *fixture, GError **error)
{
	return listener_new(fixture->dir, "rdma_a.sock", "rdma/a", on_accepted, fixture, error);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A socket of some other program: bound, and listening if 'live'. */
static int foreign_socket(const char *path, gboolean live)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (live)
		assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static void iterate_until(const int *counter, int wanted)
{
	while (*counter < wanted)
		g_main_context_iteration(NULL, TRUE);
}

static void it_listens_with_mode_0600_whatever_the_umask(void **state)
{
	struct fixture *fixture = *state;
	mode_t old = umask(0);
	g_autoptr(GError) error = NULL;
	Listener *listener = listen_at(fixture, &error);
	struct stat status;
	int client;

	umask(old);
	assert_non_null(listener);
	assert_int_equal(lstat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode, S_IFSOCK | 0600);
	assert_true(listener_is_intact(listener));
	client = connect_to(fixture->path);
	assert_true(client >= 0);
	iterate_until(&fixture->accepted, 1);
	close(client);
	listener_free(listener);
	assert_int_equal(count_files(fixture->dir), 0);
}

static void many_connections_are_all_taken(void **state)
{
	struct fixture *fixture = *state;
	Listener *listener = listen_at(fixture, NULL);
	int clients[40];

	for (gsize i = 0; i < G_N_ELEMENTS(clients); i++)
		clients[i] = connect_to(fixture->path);
	iterate_until(&fixture->accepted, G_N_ELEMENTS(clients));
	for (gsize i = 0; i < G_N_ELEMENTS(clients); i++)
		close(clients[i]);
	listener_free(listener);
}

static void a_stale_socket_is_replaced(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;
	Listener *listener;

	close(foreign_socket(fixture->path, TRUE));
	listener = listen_at(fixture, &error);
	assert_null(error);
	assert_non_null(listener);
	assert_true(listener_is_intact(listener));
	listener_free(listener);
}

static void a_live_socket_is_left_alone(void **state)
{
	struct fixture *fixture = *state;
	int foreign = foreign_socket(fixture->path, TRUE);
	struct stat before, after;

	lstat(fixture->path, &before);
	for (int i = 0; i < 20; i++) { /* its queue fills up on the way: still live */
		g_autoptr(GError) error = NULL;

		assert_null(listen_at(fixture, &error));
		assert_true(g_error_matches(error, LISTENER_ERROR, LISTENER_ERROR_BUSY));
		assert_non_null(strstr(error->message, fixture->path));
	}
	lstat(fixture->path, &after);
	assert_int_equal(before.st_ino, after.st_ino);
	close(foreign);
	listener_free(listen_at(fixture, NULL));
	assert_int_equal(count_files(fixture->dir), 0);
}

static void what_is_no_socket_is_left_alone(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *elsewhere = g_build_filename(fixture->dir, "elsewhere", NULL);
	g_autoptr(GError) for_file = NULL, for_link = NULL;

	assert_true(g_file_set_contents(fixture->path, "mine", -1, NULL));
	assert_null(listen_at(fixture, &for_file));
	assert_true(g_error_matches(for_file, LISTENER_ERROR, LISTENER_ERROR_FOREIGN));
	assert_non_null(strstr(for_file->message, "is a file of uid "));
	g_unlink(fixture->path);
	assert_int_equal(symlink(elsewhere, fixture->path), 0);
	assert_null(listen_at(fixture, &for_link));
	assert_true(g_error_matches(for_link, LISTENER_ERROR, LISTENER_ERROR_FOREIGN));
	assert_non_null(strstr(for_link->message, "is a symbolic link"));
	assert_false(g_file_test(elsewhere, G_FILE_TEST_EXISTS));
	assert_true(g_file_test(fixture->path, G_FILE_TEST_IS_SYMLINK));
}

static void a_socket_of_a_stranger_is_left_alone(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;

	if (geteuid() != 0)
		skip(); /* cannot give a file away */
	close(foreign_socket(fixture->path, TRUE));
	assert_int_equal(lchown(fixture->path, 12345, 12345), 0);
	assert_null(listen_at(fixture, &error));
	assert_true(g_error_matches(error, LISTENER_ERROR, LISTENER_ERROR_FOREIGN));
	assert_non_null(strstr(error->message, "12345"));
	assert_true(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
}

static void a_socket_of_another_kind_is_not_removed(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	g_autoptr(GError) error = NULL;

	g_strlcpy(address.sun_path, fixture->path, sizeof(address.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_null(listen_at(fixture, &error));
	assert_true(g_error_matches(error, LISTENER_ERROR, LISTENER_ERROR_FAILED));
	assert_true(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
	close(fd);
}

static void a_directory_that_cannot_be_used_is_named(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *missing = g_build_filename(fixture->dir, "nowhere", NULL);
	g_autofree char *link = g_build_filename(fixture->dir, "link", NULL);
	const struct {
		const char *dir, *reason;
	} cases[] = {{missing, "No such file or directory"},
		     {link, "is a symbolic link, which is not followed"},
		     {fixture->path, "Not a directory"}};

	assert_true(g_file_set_contents(fixture->path, "", -1, NULL));
	assert_int_equal(symlink(fixture->dir, link), 0);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		assert_null(
			listener_new(cases[i].dir, "a.sock", "a", on_accepted, fixture, &error));
		assert_true(g_error_matches(error, LISTENER_ERROR, LISTENER_ERROR_DIRECTORY));
		assert_non_null(strstr(error->message, cases[i].dir));
		assert_non_null(strstr(error->message, cases[i].reason));
	}
}

/* As it looks in a container when the host has removed and made its directory again. */
static void a_directory_that_was_removed_below_us_is_told(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *removed = g_build_filename(fixture->dir, "removed", NULL);
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	int fd;

	assert_int_equal(g_mkdir(removed, 0700), 0);
	fd = open(removed, O_PATH | O_CLOEXEC);
	assert_int_equal(g_rmdir(removed), 0);
	path = g_strdup_printf("/proc/self/fd/%d/.", fd);
	assert_null(listener_new(path, "a.sock", "a", on_accepted, fixture, &error));
	assert_true(g_error_matches(error, LISTENER_ERROR, LISTENER_ERROR_DIRECTORY));
	assert_non_null(strstr(error->message, "restart the pod"));
	close(fd);
}

static void a_directory_that_everybody_writes_is_refused(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;

	assert_int_equal(chmod(fixture->dir, 0777), 0);
	assert_null(listen_at(fixture, &error));
	assert_true(g_error_matches(error, LISTENER_ERROR, LISTENER_ERROR_DIRECTORY));
	assert_non_null(strstr(error->message, "0777"));
	assert_int_equal(chmod(fixture->dir, 0700), 0);
}

static void a_directory_of_a_stranger_is_refused(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;

	if (geteuid() != 0)
		skip(); /* cannot give a file away */
	assert_int_equal(chown(fixture->dir, 12345, 12345), 0);
	assert_null(listen_at(fixture, &error));
	assert_true(g_error_matches(error, LISTENER_ERROR, LISTENER_ERROR_DIRECTORY));
	assert_non_null(strstr(error->message, "uid 12345"));
	assert_int_equal(count_files(fixture->dir), 0);
}

static void a_denied_directory_explains_selinux(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;

	assert_string_equal(listener_access_hint(ENOENT), "");
	assert_non_null(strstr(listener_access_hint(EACCES), "container_device_plugin_t"));
	if (geteuid() == 0)
		skip(); /* nothing is denied to root */
	assert_int_equal(chmod(fixture->dir, 0500), 0);
	assert_null(listen_at(fixture, &error));
	assert_non_null(strstr(error->message, "container_device_plugin_t"));
	assert_int_equal(chmod(fixture->dir, 0700), 0);
}

static void a_removed_or_replaced_file_is_noticed_and_not_ours(void **state)
{
	struct fixture *fixture = *state;
	Listener *listener = listen_at(fixture, NULL);
	int foreign;

	assert_int_equal(g_unlink(fixture->path), 0);
	assert_false(listener_is_intact(listener));
	foreign = foreign_socket(fixture->path, TRUE);
	assert_false(listener_is_intact(listener));
	listener_free(listener);
	assert_true(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
	close(foreign);
}

static void a_directory_that_moved_away_is_noticed(void **state)
{
	struct fixture *fixture = *state;
	Listener *listener = listen_at(fixture, NULL);
	g_autofree char *moved = g_strconcat(fixture->dir, ".old", NULL);

	assert_int_equal(rename(fixture->dir, moved), 0);
	assert_false(listener_is_intact(listener));
	assert_int_equal(g_mkdir(fixture->dir, 0700), 0);
	assert_false(listener_is_intact(listener));
	listener_free(listener);
	assert_int_equal(g_rmdir(moved), 0); /* ours was removed where it was */
}

static void stale_sockets_of_other_instances_are_swept(void **state)
{
	struct fixture *fixture = *state;
	static const char *const stale[] = {"rdma_a-01234567.sock", "rdma_a-89abcdef.sock"};
	g_autofree char *live = g_build_filename(fixture->dir, "rdma_a-0000ffff.sock", NULL);
	g_autofree char *other = g_build_filename(fixture->dir, "rdma_b-0000ffff.sock", NULL);
	g_autofree char *file = g_build_filename(fixture->dir, "rdma_a-11111111.sock", NULL);
	int live_fd = foreign_socket(live, TRUE);

	for (gsize i = 0; i < G_N_ELEMENTS(stale); i++) {
		g_autofree char *path = g_build_filename(fixture->dir, stale[i], NULL);

		close(foreign_socket(path, TRUE));
	}
	close(foreign_socket(other, TRUE));
	assert_true(g_file_set_contents(file, "", -1, NULL));
	assert_int_equal(listener_sweep(fixture->dir, "rdma/a"), 2);
	assert_int_equal(listener_sweep(fixture->dir, "rdma/a"), 0);
	assert_int_equal(count_files(fixture->dir), 3);
	assert_int_equal(listener_sweep("/nonexistent", "rdma/a"), 0);
	close(live_fd);
}

static void touch(const char *path, gint64 seconds_ago)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    {.tv_sec = g_get_real_time() / G_USEC_PER_SEC - seconds_ago}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* One that is just being made belongs to an instance that lives. */
static void sockets_that_never_got_their_name_are_swept_when_they_are_old(void **state)
{
	struct fixture *fixture = *state;
	static const struct {
		const char *name;
		gint64 age_s;
	} hidden[] = {{".rdmadp-01234567", 0},
		      {".rdmadp-89abcdef", 50},
		      {".rdmadp-00000000", 3600},
		      {".rdmadp-11111111", -3600},
		      {".other", 3600}};

	for (gsize i = 0; i < G_N_ELEMENTS(hidden); i++) {
		g_autofree char *path = g_build_filename(fixture->dir, hidden[i].name, NULL);

		close(foreign_socket(path, FALSE));
		touch(path, hidden[i].age_s);
	}
	assert_int_equal(listener_sweep(fixture->dir, "rdma/a"), 2);
	assert_int_equal(count_files(fixture->dir), 3);
}

static gboolean raise_limit(gpointer data)
{
	setrlimit(RLIMIT_NOFILE, data);
	return G_SOURCE_REMOVE;
}

static void connections_wait_while_there_are_no_descriptors(void **state)
{
	struct fixture *fixture = *state;
	Listener *listener = listen_at(fixture, NULL);
	struct rlimit old, none;
	int client = connect_to(fixture->path);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 3;
	g_main_context_iteration(NULL, FALSE); /* the main loop has its own by now */
	close(client);
	iterate_until(&fixture->accepted, 1);
	client = connect_to(fixture->path);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	g_timeout_add(20, raise_limit, &old);
	iterate_until(&fixture->accepted, 2);
	close(client);
	listener_free(listener);
}

/* Runs as another user: can it connect? */
static int stranger(const char *path)
{
	int client;

	if (setgid(12345) != 0 || setuid(12345) != 0)
		return 2;
	client = connect_to(path);
	return client >= 0 && read(client, &(char){0}, 1) == 0 ? 0 : 1;
}

static void on_child(GPid pid, int status, gpointer data)
{
	(void)pid;
	*(int *)data = status;
}

static void a_stranger_is_turned_away(void **state)
{
	struct fixture *fixture = *state;
	Listener *listener;
	int status = -1;
	pid_t child;

	if (geteuid() != 0)
		skip(); /* needs a second user */
	listener = listen_at(fixture, NULL);
	/* The mode keeps strangers out already: open it to see the second barrier. */
	assert_int_equal(chmod(fixture->dir, 0755), 0);
	assert_int_equal(chmod(fixture->path, 0666), 0);
	child = fork();
	if (child == 0)
		_exit(stranger(fixture->path));
	g_child_watch_add(child, on_child, &status);
	while (status == -1)
		g_main_context_iteration(NULL, TRUE);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(fixture->accepted, 0);
	listener_free(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(it_listens_with_mode_0600_whatever_the_umask),
		TEST(many_connections_are_all_taken),
		TEST(a_stale_socket_is_replaced),
		TEST(a_live_socket_is_left_alone),
		TEST(what_is_no_socket_is_left_alone),
		TEST(a_socket_of_a_stranger_is_left_alone),
		TEST(a_socket_of_another_kind_is_not_removed),
		TEST(a_directory_that_cannot_be_used_is_named),
		TEST(a_directory_that_was_removed_below_us_is_told),
		TEST(a_directory_that_everybody_writes_is_refused),
		TEST(a_directory_of_a_stranger_is_refused),
		TEST(a_denied_directory_explains_selinux),
		TEST(a_removed_or_replaced_file_is_noticed_and_not_ours),
		TEST(a_directory_that_moved_away_is_noticed),
		TEST(stale_sockets_of_other_instances_are_swept),
		TEST(sockets_that_never_got_their_name_are_swept_when_they_are_old),
		TEST(connections_wait_while_there_are_no_descriptors),
		TEST(a_stranger_is_turned_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
