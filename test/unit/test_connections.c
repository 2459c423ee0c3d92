/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/connections.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define FEW 3

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}

static void no_more_than_so_many_are_open(void **state)
{
	Connections *connections = connections_new(FEW);
	int fds[FEW + 1];

	(void)state;
	for (int i = 0; i <= FEW; i++)
		fds[i] = new_socket();
	for (int i = 0; i < FEW; i++)
		assert_true(connections_add(connections, fds[i]));
	assert_false(connections_add(connections, fds[FEW]));
	close(fds[1]);
	assert_true(connections_add(connections, fds[FEW]));
	assert_false(connections_add(connections, fds[0]));
	for (int i = 0; i <= FEW; i++)
		if (i != 1)
			close(fds[i]);
	connections_free(connections);
	connections_free(NULL);
}

/* The number of a closed one may be that of something else by now. */
static void a_number_that_is_used_again_is_no_connection(void **state)
{
	Connections *connections = connections_new(1);

	(void)state;
	for (int i = 0; i < 100; i++) {
		int fd = new_socket();

		assert_true(connections_add(connections, fd));
		close(fd);
		int other = i % 2 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : new_socket();

		assert_int_equal(other, fd);
		int next = new_socket();

		assert_true(connections_add(connections, next));
		close(next);
		close(other);
	}
	connections_free(connections);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_so_many_are_open),
		cmocka_unit_test(a_number_that_is_used_again_is_no_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
