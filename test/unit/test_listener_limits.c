/* SPDX-License-Identifier: Apache-2.0 */
/* What a listener does when there is too much of something. */
#include "kubelet/listener.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/descriptors.h"

#define MANY 100

struct fixture {
	char *dir, *path;
	GArray *accepted; /* int: descriptors, open */
};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->dir = g_dir_make_tmp("rdmadp-limits-XXXXXX", NULL);
	fixture->path = g_build_filename(fixture->dir, "rdma_a.sock", NULL);
	fixture->accepted = g_array_new(FALSE, FALSE, sizeof(int));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(g_rmdir(fixture->dir), 0);
	g_array_unref(fixture->accepted);
	g_free(fixture->dir);
	g_free(fixture->path);
	g_free(fixture);
	return 0;
}

static void on_accepted(int fd, gpointer data)
{
	struct fixture *fixture = data;

	g_array_append_val(fixture->accepted, fd);
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
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void close_all(GArray *fds)
{
	for (guint i = 0; i < fds->len; i++)
		close(g_array_index(fds, int, i));
	g_array_set_size(fds, 0);
}

/* A tool that never closes what it opens must not use up the daemon's descriptors. */
static void a_client_may_not_have_any_number_of_connections(void **state)
{
	struct fixture *fixture = *state;
	Listener *listener = listen_at(fixture, NULL);
	g_autoptr(GArray) clients = g_array_new(FALSE, FALSE, sizeof(int));
	char byte;

	for (int i = 0; i < MANY; i++) {
		int client = connect_to(fixture->path);

		g_array_append_val(clients, client);
	}
	/* The last one is turned away, after those before it were seen. */
	while (recv(g_array_index(clients, int, MANY - 1), &byte, 1, MSG_DONTWAIT) != 0)
		g_main_context_iteration(NULL, FALSE);
	assert_in_range(fixture->accepted->len, 8, 64);
	/* They go, and others may come. */
	close_all(fixture->accepted);
	close_all(clients);
	int late = connect_to(fixture->path);

	while (fixture->accepted->len == 0)
		g_main_context_iteration(NULL, TRUE);
	close(late);
	close_all(fixture->accepted);
	listener_free(listener);
}

/* So few that a connection could not be taken: another resource may need it more. */
static void the_last_descriptors_are_not_for_listening(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;
	struct rlimit before = descriptors_leave(3);
	Listener *listener = listen_at(fixture, &error);

	descriptors_give_back(&before);
	assert_null(listener);
	assert_non_null(strstr(error->message, "descriptors"));
	listener = listen_at(fixture, NULL);
	assert_non_null(listener);
	listener_free(listener);
}

/* No room for one more file: it is said, and over when there is. */
static void a_full_disk_is_told_and_waited_for(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *file = g_build_filename(fixture->dir, "file", NULL);
	g_autoptr(GError) error = NULL;

	if (mount("tmpfs", fixture->dir, "tmpfs", 0, "nr_inodes=2,mode=0700") < 0)
		skip();
	assert_true(g_file_set_contents(file, "", 0, NULL));
	Listener *listener = listen_at(fixture, &error);

	assert_null(listener);
	assert_non_null(strstr(error->message, fixture->dir));
	assert_non_null(strstr(error->message, g_strerror(ENOSPC)));
	assert_int_equal(g_unlink(file), 0);
	listener = listen_at(fixture, NULL);
	assert_non_null(listener);
	listener_free(listener);
	assert_int_equal(umount2(fixture->dir, MNT_DETACH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_client_may_not_have_any_number_of_connections),
		TEST(the_last_descriptors_are_not_for_listening),
		TEST(a_full_disk_is_told_and_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
