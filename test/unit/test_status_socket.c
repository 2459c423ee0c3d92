/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/status_socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/wait.h"

struct fixture {
	char *dir, *path;
	StatusSocket *socket;
	guint connected;
	guint64 last;
	GString *asked; /* lines, each with a '|' behind it */
	int fds[3];
};

static void on_connected(guint64 client, gpointer data)
{
	struct fixture *fixture = data;

	fixture->connected++;
	fixture->last = client;
	status_socket_send(fixture->socket, client, "hello");
}

static void on_asked(guint64 client, const char *line, gpointer data)
{
	struct fixture *fixture = data;

	g_string_append_printf(fixture->asked, "%s|", line);
	status_socket_send(fixture->socket, client, line);
}

static const struct status_socket_ops ops = {on_connected, on_asked};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->dir = g_dir_make_tmp("rdmadp-status-XXXXXX", NULL);
	fixture->path = g_build_filename(fixture->dir, "run", "status.sock", NULL);
	fixture->asked = g_string_new(NULL);
	memset(fixture->fds, -1, sizeof(fixture->fds));
	fixture->socket = status_socket_new(fixture->path, "", &ops, fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *run = g_path_get_dirname(fixture->path);

	status_socket_free(fixture->socket);
	for (gsize i = 0; i < G_N_ELEMENTS(fixture->fds); i++)
		if (fixture->fds[i] >= 0)
			close(fixture->fds[i]);
	assert_int_not_equal(g_access(fixture->path, F_OK), 0);
	g_rmdir(run);
	g_rmdir(fixture->dir);
	g_string_free(fixture->asked, TRUE);
	g_free(fixture->path);
	g_free(fixture->dir);
	g_free(fixture);
	return 0;
}

static gboolean is_connected(gpointer data)
{
	const struct fixture *fixture = data;

	return status_socket_clients(fixture->socket) > 0;
}

static gboolean is_alone(gpointer data)
{
	return !is_connected(data);
}

static void connect_one(struct fixture *fixture, gsize i)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	guint before = fixture->connected;

	g_strlcpy(address.sun_path, fixture->path, sizeof(address.sun_path));
	fixture->fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fixture->fds[i], (struct sockaddr *)&address, sizeof(address)), 0);
	while (fixture->connected == before)
		g_main_context_iteration(NULL, TRUE);
}

static void expect_received(struct fixture *fixture, gsize i, const char *expected)
{
	char buffer[256];
	gsize length = 0;

	while (length < strlen(expected)) {
		ssize_t got = recv(fixture->fds[i], buffer + length, sizeof(buffer) - length,
				   MSG_DONTWAIT);

		if (got > 0)
			length += (gsize)got;
		else
			g_main_context_iteration(NULL, TRUE);
	}
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(buffer, expected, length);
}

static void lines_go_both_ways(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0660);
	connect_one(fixture, 0);
	connect_one(fixture, 1);
	expect_received(fixture, 0, "hello\n");
	expect_received(fixture, 1, "hello\n");
	assert_int_equal(send(fixture->fds[0], "one\ntw", 6, 0), 6);
	expect_received(fixture, 0, "one\n");
	assert_int_equal(send(fixture->fds[0], "o\nthree\n", 8, 0), 8);
	expect_received(fixture, 0, "two\nthree\n");
	assert_string_equal(fixture->asked->str, "one|two|three|");
	status_socket_send_all(fixture->socket, "all");
	expect_received(fixture, 0, "all\n");
	expect_received(fixture, 1, "all\n");
	status_socket_send(fixture->socket, 12345, "nobody");
}

static void a_client_that_goes_is_forgotten(void **state)
{
	struct fixture *fixture = *state;

	connect_one(fixture, 0);
	close(fixture->fds[0]);
	fixture->fds[0] = -1;
	test_wait(is_alone, fixture);
	status_socket_send(fixture->socket, fixture->last, "too late");
}

static void a_client_that_babbles_is_dropped(void **state)
{
	struct fixture *fixture = *state;
	char babble[200];

	memset(babble, 'x', sizeof(babble));
	connect_one(fixture, 0);
	assert_int_equal(send(fixture->fds[0], babble, sizeof(babble), 0), sizeof(babble));
	test_wait(is_alone, fixture);
	assert_string_equal(fixture->asked->str, "");
}

/* Nothing waits for it, and what is kept for it has a limit. */
static void a_client_that_does_not_read_is_dropped(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *line = g_strnfill((gsize)1000 * 1000, 'x');
	guint sent = 0;

	connect_one(fixture, 0);
	while (status_socket_clients(fixture->socket) > 0) {
		status_socket_send_all(fixture->socket, line);
		assert_true(++sent < 20);
	}
	assert_true(sent > 3);
}

/* One that reads slowly gets everything. */
static void a_client_that_is_slow_loses_nothing(void **state)
{
	struct fixture *fixture = *state;
	g_autofree char *line = g_strnfill((gsize)1000 * 1000, 'x');
	g_autofree char *buffer = g_malloc((gsize)1000 * 1000);
	gsize wanted = strlen("hello\n") + 3 * ((gsize)1000 * 1000 + 1);

	connect_one(fixture, 0);
	for (guint i = 0; i < 3; i++)
		status_socket_send_all(fixture->socket, line);
	while (wanted > 0) {
		ssize_t got = recv(fixture->fds[0], buffer, (gsize)1000 * 1000, MSG_DONTWAIT);

		if (got > 0)
			wanted -= (gsize)got;
		else
			g_main_context_iteration(NULL, TRUE);
	}
	assert_true(is_connected(fixture));
}

static gboolean has_socket(gpointer data)
{
	return g_access(((struct fixture *)data)->path, F_OK) == 0;
}

static void a_socket_that_is_removed_is_made_again(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(g_unlink(fixture->path), 0);
	test_wait(has_socket, fixture);
	connect_one(fixture, 0);
	expect_received(fixture, 0, "hello\n");
}

static void another_one_takes_over_when_this_one_ends(void **state)
{
	struct fixture *fixture = *state;
	StatusSocket *second = status_socket_new(fixture->path, "0", &ops, fixture);

	status_socket_free(fixture->socket);
	fixture->socket = second;
	test_wait(has_socket, fixture);
	connect_one(fixture, 0);
	expect_received(fixture, 0, "hello\n");
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static gboolean can_connect(gpointer data)
{
	struct fixture *fixture = data;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result;

	g_strlcpy(address.sun_path, fixture->path, sizeof(address.sun_path));
	result = connect(fd, (struct sockaddr *)&address, sizeof(address));
	close(fd);
	return result == 0;
}

/* Its file stays and nothing tells that it is gone. */
static void another_one_that_is_killed_is_followed(void **state)
{
	struct fixture *fixture = *state;
	int other;

	status_socket_free(fixture->socket);
	other = listen_at(fixture->path);
	fixture->socket = status_socket_new(fixture->path, "", &ops, fixture);
	close(other);
	test_wait(can_connect, fixture);
	connect_one(fixture, 0);
	expect_received(fixture, 0, "hello\n");
}

static void a_group_that_is_not_there_is_no_reason_to_fail(void **state)
{
	struct fixture *fixture = *state;

	status_socket_free(fixture->socket);
	fixture->socket = status_socket_new(fixture->path, "no-such-group", &ops, fixture);
	connect_one(fixture, 0);
	expect_received(fixture, 0, "hello\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_go_both_ways),
		TEST(a_client_that_goes_is_forgotten),
		TEST(a_client_that_babbles_is_dropped),
		TEST(a_client_that_does_not_read_is_dropped),
		TEST(a_client_that_is_slow_loses_nothing),
		TEST(a_socket_that_is_removed_is_made_again),
		TEST(another_one_takes_over_when_this_one_ends),
		TEST(another_one_that_is_killed_is_followed),
		TEST(a_group_that_is_not_there_is_no_reason_to_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
