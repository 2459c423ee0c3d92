/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/kubelet_socket.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/descriptors.h"

struct fixture {
	char *dir;
	KubeletSocket *socket;
};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	/* On a disk: a file system in memory does not use the number of a file again. */
	fixture->dir = g_strdup("/var/tmp/rdmadp-kubelet-XXXXXX");
	assert_non_null(g_mkdtemp(fixture->dir));
	fixture->socket = kubelet_socket_new(fixture->dir);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	g_unlink(kubelet_socket_path(fixture->socket));
	g_rmdir(fixture->dir);
	kubelet_socket_free(fixture->socket);
	kubelet_socket_free(NULL);
	g_free(fixture->dir);
	g_free(fixture);
	return 0;
}

static void make_socket(const struct fixture *fixture)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, kubelet_socket_path(fixture->socket), sizeof(address.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static void remove_socket(const struct fixture *fixture)
{
	assert_int_equal(g_unlink(kubelet_socket_path(fixture->socket)), 0);
}

static void each_socket_is_new_once(void **state)
{
	struct fixture *fixture = *state;

	assert_false(kubelet_socket_look(fixture->socket));
	assert_int_equal(kubelet_socket_generation(fixture->socket), 0);
	for (guint i = 1; i <= 20; i++) { /* inode numbers would come again by now */
		make_socket(fixture);
		assert_true(kubelet_socket_look(fixture->socket));
		assert_false(kubelet_socket_look(fixture->socket));
		assert_int_equal(kubelet_socket_generation(fixture->socket), i);
		remove_socket(fixture);
	}
}

static void one_that_was_replaced_between_two_looks_is_new(void **state)
{
	struct fixture *fixture = *state;

	make_socket(fixture);
	assert_true(kubelet_socket_look(fixture->socket));
	for (guint i = 0; i < 20; i++) {
		remove_socket(fixture);
		make_socket(fixture);
		assert_true(kubelet_socket_look(fixture->socket));
	}
}

/* Who cannot look has seen nothing: else every stream would be ended for nothing. */
static void without_a_descriptor_nothing_changes(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit before;
	guint generation;

	make_socket(fixture);
	assert_true(kubelet_socket_look(fixture->socket));
	generation = kubelet_socket_generation(fixture->socket);
	before = descriptors_leave(0);
	gboolean is_new = kubelet_socket_look(fixture->socket);

	descriptors_give_back(&before);
	assert_false(is_new);
	assert_false(kubelet_socket_look(fixture->socket));
	assert_int_equal(kubelet_socket_generation(fixture->socket), generation);
	assert_true(kubelet_socket_check(fixture->socket, NULL));
}

static int listen_here(const struct fixture *fixture)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, kubelet_socket_path(fixture->socket), sizeof(address.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static gboolean answers(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	gboolean connected;

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	connected = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(fd);
	return connected;
}

/* Else the next kubelet gets a call that was meant for the one before it. */
static void a_pin_leads_to_one_socket_and_no_other(void **state)
{
	struct fixture *fixture = *state;
	int first = listen_here(fixture), second, fd, next_fd;

	assert_true(kubelet_socket_look(fixture->socket));
	g_autofree char *pin = kubelet_socket_pin(fixture->socket, &fd);

	if (fd < 0)
		skip(); /* no /proc */
	assert_true(answers(pin));
	close(first);
	assert_false(answers(pin));
	remove_socket(fixture);
	second = listen_here(fixture);
	assert_true(answers(kubelet_socket_path(fixture->socket)));
	assert_false(answers(pin));
	assert_true(kubelet_socket_look(fixture->socket));
	assert_false(answers(pin));
	g_autofree char *next = kubelet_socket_pin(fixture->socket, &next_fd);

	assert_true(answers(next));
	close(fd);
	close(next_fd);
	close(second);
}

/* Then the path has to do. */
static void without_a_descriptor_there_is_no_pin(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit before;
	int fd;

	make_socket(fixture);
	assert_true(kubelet_socket_look(fixture->socket));
	before = descriptors_leave(0);
	g_autofree char *pin = kubelet_socket_pin(fixture->socket, &fd);

	descriptors_give_back(&before);
	assert_int_equal(fd, -1);
	assert_string_equal(pin, kubelet_socket_path(fixture->socket));
}

static void one_that_is_gone_is_absent(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;

	make_socket(fixture);
	kubelet_socket_look(fixture->socket);
	assert_true(kubelet_socket_check(fixture->socket, NULL));
	remove_socket(fixture);
	assert_false(kubelet_socket_look(fixture->socket));
	assert_false(kubelet_socket_check(fixture->socket, &error));
	assert_true(g_error_matches(error, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_ABSENT));
	assert_non_null(strstr(error->message, "the host's"));
}

static void a_directory_that_is_not_there_is_said(G_GNUC_UNUSED void **state)
{
	KubeletSocket *socket = kubelet_socket_new("/nonexistent/device-plugins");
	g_autoptr(GError) error = NULL;

	assert_false(kubelet_socket_look(socket));
	assert_false(kubelet_socket_check(socket, &error));
	assert_true(g_error_matches(error, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_ABSENT));
	assert_non_null(strstr(error->message, "no directory '/nonexistent/device-plugins'"));
	kubelet_socket_free(socket);
}

static void what_is_not_the_kubelets_is_refused(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) file = NULL, link = NULL;

	assert_true(g_file_set_contents(kubelet_socket_path(fixture->socket), "x", -1, NULL));
	assert_true(kubelet_socket_look(fixture->socket));
	assert_false(kubelet_socket_check(fixture->socket, &file));
	assert_true(g_error_matches(file, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_UNUSABLE));
	remove_socket(fixture);
	assert_int_equal(symlink("/run/other.sock", kubelet_socket_path(fixture->socket)), 0);
	assert_true(kubelet_socket_look(fixture->socket));
	assert_false(kubelet_socket_check(fixture->socket, &link));
	assert_true(g_error_matches(link, KUBELET_SOCKET_ERROR, KUBELET_SOCKET_ERROR_UNUSABLE));
}

static void a_socket_of_a_stranger_is_refused(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;

	if (geteuid() != 0)
		skip(); /* cannot give a file away */
	make_socket(fixture);
	assert_int_equal(lchown(kubelet_socket_path(fixture->socket), 12345, 12345), 0);
	kubelet_socket_look(fixture->socket);
	assert_false(kubelet_socket_check(fixture->socket, &error));
	assert_non_null(strstr(error->message, "12345"));
}

static void a_socket_that_is_denied_is_explained(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(GError) error = NULL;

	if (geteuid() == 0)
		skip(); /* nothing is denied to root */
	make_socket(fixture);
	assert_int_equal(chmod(kubelet_socket_path(fixture->socket), 0400), 0);
	kubelet_socket_look(fixture->socket);
	assert_false(kubelet_socket_check(fixture->socket, &error));
	assert_non_null(strstr(error->message, "container_device_plugin_t"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(each_socket_is_new_once),
		TEST(one_that_was_replaced_between_two_looks_is_new),
		TEST(without_a_descriptor_nothing_changes),
		TEST(a_pin_leads_to_one_socket_and_no_other),
		TEST(without_a_descriptor_there_is_no_pin),
		TEST(one_that_is_gone_is_absent),
		TEST(a_directory_that_is_not_there_is_said),
		TEST(what_is_not_the_kubelets_is_refused),
		TEST(a_socket_of_a_stranger_is_refused),
		TEST(a_socket_that_is_denied_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
