/* SPDX-License-Identifier: Apache-2.0 */
/* Which connection has to go when there are too many without a call. */
#include "edge/rpc_links.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define N 4
#define FEW 2

struct fixture {
	RpcLinks *links;
	int near[N], far[N];
};

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->links = rpc_links_new();
	for (int i = 0; i < N; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		fixture->near[i] = pair[0];
		fixture->far[i] = pair[1];
	}
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < N; i++) {
		close(fixture->near[i]);
		close(fixture->far[i]);
	}
	rpc_links_free(fixture->links);
	g_free(fixture);
	return 0;
}

static void add(struct fixture *fixture, int first, int n)
{
	for (int i = first; i < first + n; i++)
		rpc_links_add(fixture->links, fixture->near[i]);
}

static struct rpc_link *enter(struct fixture *fixture, int fd)
{
	g_autofree char *peer = g_strdup_printf("fd:%d", fd);

	return rpc_links_enter(fixture->links, peer);
}

/* "..x." if only the third was shut down. */
static void expect_shut(const struct fixture *fixture, const char *expected)
{
	char actual[N + 1] = "";
	char byte;

	for (int i = 0; i < N; i++)
		actual[i] = recv(fixture->far[i], &byte, 1, MSG_DONTWAIT) == 0 ? 'x' : '.';
	assert_string_equal(actual, expected);
}

static void the_ones_that_came_first_go_first(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0, FEW);
	rpc_links_trim(fixture->links, FEW);
	expect_shut(fixture, "....");
	add(fixture, FEW, N - FEW);
	rpc_links_trim(fixture->links, FEW);
	expect_shut(fixture, "xx..");
}

static void one_with_a_call_does_not_count(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0, N);
	struct rpc_link *first = enter(fixture, fixture->near[0]);
	struct rpc_link *again = enter(fixture, fixture->near[0]);

	assert_non_null(first);
	rpc_links_trim(fixture->links, FEW);
	expect_shut(fixture, ".x..");
	rpc_link_leave(first);
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, ".xxx");
	rpc_link_leave(again);
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, "xxxx");
}

static void a_call_makes_it_the_last_to_go(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0, N);
	rpc_link_leave(enter(fixture, fixture->near[0]));
	rpc_links_trim(fixture->links, 1);
	expect_shut(fixture, ".xxx");
}

/* What is closed counts for nothing; who has its number now is left alone. */
static void a_number_may_be_used_again(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0, 1);
	struct rpc_link *call = enter(fixture, fixture->near[0]);

	rpc_link_leave(call);
	assert_int_equal(dup3(fixture->near[1], fixture->near[0], O_CLOEXEC), fixture->near[0]);
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, "x...");
	rpc_links_add(fixture->links, fixture->near[0]);
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, "xx..");
}

/* A call of the closed one that ends late is none of the new one's. */
static void a_late_end_belongs_to_its_own_connection(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0, 1);
	struct rpc_link *late = enter(fixture, fixture->near[0]);

	add(fixture, 0, 1);
	struct rpc_link *call = enter(fixture, fixture->near[0]);

	rpc_link_leave(late);
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, "....");
	rpc_link_leave(call);
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, "x...");
}

/* It was closed, by the client or by us, between the call and our word of it. */
static void a_call_of_one_that_is_gone_changes_nothing(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0, N);
	rpc_links_trim(fixture->links, FEW);
	expect_shut(fixture, "xx..");
	rpc_link_leave(enter(fixture, fixture->near[0]));
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, "xxxx");
}

/* Each trim needs a descriptor for a moment. */
static void without_descriptors_it_is_done_later(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit before, none;

	add(fixture, 0, N);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rpc_links_trim(fixture->links, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	expect_shut(fixture, "....");
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, "xxxx");
}

/* If gRPC names its peers in another way some day, nobody is closed by mistake. */
static void without_names_nobody_is_closed(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0, N);
	assert_null(rpc_links_enter(fixture->links, "unix:somebody"));
	rpc_link_leave(NULL);
	rpc_links_trim(fixture->links, 0);
	expect_shut(fixture, "....");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_ones_that_came_first_go_first),
		TEST(one_with_a_call_does_not_count),
		TEST(a_call_makes_it_the_last_to_go),
		TEST(a_number_may_be_used_again),
		TEST(a_late_end_belongs_to_its_own_connection),
		TEST(a_call_of_one_that_is_gone_changes_nothing),
		TEST(without_descriptors_it_is_done_later),
		TEST(without_names_nobody_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
