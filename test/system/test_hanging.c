/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that block whoever reads them, as when an adapter's firmware does not answer,
 * or that cannot be read at all: on a machine of eight adapters. */
#include "system/node.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fixture.h"

#define HCA(n)                                                                                     \
	"pci 0000:1" n ":00.0 class=0x020700 vendor=0x15b3 device=0x101b driver=mlx5_core\n"       \
	"ib 0000:1" n ":00.0 mlx5_" n "\nuverbs 0000:1" n ":00.0 " n " mlx5_" n "\n"
#define MACHINE                                                                                    \
	"netns Y\nrdma_cm\n" HCA("0") HCA("1") HCA("2") HCA("3") HCA("4") HCA("5") HCA("6") HCA("7")
#define STATE "sys/class/infiniband/mlx5_5/ports/1/state"
#define FIFO "remove " STATE "\nfifo " STATE "\n"
#define DOWN "remove " STATE "\nfile " STATE " = 1: DOWN\n"
#define ACTIVE "remove " STATE "\nfile " STATE " = 4: ACTIVE\n"

#define OTHER_STATE "sys/class/infiniband/mlx5_1/ports/1/state"
#define LAYER "sys/class/infiniband/mlx5_5/ports/1/link_layer"

#define LIST(healthy) "{\"event\":\"list\",\"devices\":8,\"healthy\":" healthy "}"
#define LISTS "{\"event\":\"list\"}"

#define PATIENT                                                                                    \
	"health = { poll = 0.1; down_delay = 0.0; up_delay = 0.0; unknown_limit = 3600.0; };"
#define HASTY "health = { poll = 0.1; down_delay = 0.0; up_delay = 0.0; unknown_limit = 0.5; };"

#define CONFIG(selectors)                                                                          \
	"{\"configList\":[{\"resourceName\":\"hca\",\"rdmaHcaMax\":8,"                             \
	"\"selectors\":{" selectors "}}]}"

static int set_up(void **state)
{
	struct node *node = node_new(MACHINE);
	node_resources(node, CONFIG("\"vendors\":[\"15b3\"]"));
	*state = node;
	return 0;
}

static int tear_down(void **state)
{
	node_free(*state);
	return 0;
}

/* How long nothing may be read before an HCA counts as Unhealthy; also under a daemon. */
static void set_limit(const struct node *node, const char *health)
{
	g_autofree char *path = g_build_filename(node->root, "etc/rdmadp.conf", NULL);
	g_autofree char *text = NULL;
	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	char *old = strstr(text, "health =");
	assert_non_null(old);
	*old = '\0';
	g_autofree char *fresh = g_strconcat(text, health, "\n", NULL);
	fixture_write(node->root, "etc/rdmadp.conf", fresh);
}

static void start(struct node *node, const char *health)
{
	set_limit(node, health);
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
}

static void allocate(const struct node *node, const char *pod)
{
	node_command(node, "allocate rdma/hca 1 %s", pod);
	node_kubelet_says(node, "{\"event\":\"allocated\"}");
}

/* Asks until the answer has that in it. */
static void await_status(const struct node *node, const char *part)
{
	const char *const options[] = {"status", NULL};
	gboolean found = FALSE;
	while (!found) {
		Process *process = node_run_daemon(node, options);
		int status;
		assert_true(process_await_exit(process, &status));
		assert_int_equal(status, 0);
		found = process_has_said(process, part);
		process_free(process);
	}
}

/* The limit is an hour: nothing that comes has waited for it. */
static void all_are_listed_at_once_and_the_one_when_it_is_due(void **state)
{
	struct node *node = *state;
	fixture_apply(node->root, FIFO);
	start(node, PATIENT);
	node_kubelet_says(node, LIST("8"));
	allocate(node, "a");
	set_limit(node, HASTY);
	node_kubelet_says(node, LIST("7"));
	allocate(node, "b");
	await_status(node, "unknown: no answer for 0.5 s");
	node_daemon_says(node, "HCA '0000:15:00.0' is Unhealthy: unknown: no answer for 0.5 s");
	assert_int_equal(process_count(node->kubelet, LISTS), 2);
	/* a read that hangs does not hold up the end */
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* Whoever writes to a FIFO lets the one that reads it go on. */
static void one_that_hangs_and_answers_at_last(void **state)
{
	struct node *node = *state;
	static const char answer[] = "4: ACTIVE\n";
	g_autofree char *path = g_build_filename(node->root, STATE, NULL);
	int fd;
	start(node, HASTY);
	node_kubelet_says(node, LIST("8"));
	fixture_apply(node->root, FIFO);
	node_daemon_says(node, "backend pci: a health read of '0000:15:00.0' hangs");
	node_kubelet_says(node, LIST("7"));
	await_status(node, "1 health read hangs");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	fixture_apply(node->root, ACTIVE);
	assert_int_equal(write(fd, answer, strlen(answer)), strlen(answer));
	close(fd);
	node_kubelet_says(node, LIST("8"));
	assert_int_equal(process_count(node->kubelet, LISTS), 3);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* It is Unhealthy already: the reason is that of now. */
static void one_that_was_unhealthy_and_hangs(void **state)
{
	struct node *node = *state;
	fixture_apply(node->root, DOWN);
	start(node, HASTY);
	node_kubelet_says(node, LIST("7"));
	await_status(node, "link: ");
	fixture_apply(node->root, FIFO);
	await_status(node, "unknown: no answer for 0.5 s");
	assert_int_equal(process_count(node->kubelet, LISTS), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static gboolean has_reader(const struct node *node)
{
	g_autofree char *path = g_build_filename(node->root, STATE, NULL);
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The adapter that the node itself uses, say. */
static void one_that_no_resource_selects_is_not_looked_at(void **state)
{
	struct node *node = *state;
	node_resources(node, CONFIG("\"rdmaDevices\":[\"mlx5_1\"]"));
	start(node, HASTY);
	node_kubelet_says(node, LIST("8"));
	fixture_apply(node->root, FIFO);
	for (guint i = 0; i < 3; i++) {
		fixture_write(node->root, OTHER_STATE, "1: DOWN");
		node_kubelet_says(node, LIST("0"));
		fixture_write(node->root, OTHER_STATE, "4: ACTIVE");
		node_kubelet_says(node, LIST("8"));
	}
	assert_false(has_reader(node));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* It was InfiniBand when it could be read. */
static void a_link_layer_that_cannot_be_read_changes_nothing(void **state)
{
	struct node *node = *state;
	node_resources(node, CONFIG("\"linkTypes\":[\"infiniband\"]"));
	start(node, PATIENT);
	node_kubelet_says(node, LIST("8"));
	fixture_apply(node->root, "remove " LAYER "\ndir " LAYER "\n");
	for (guint i = 0; i < 3; i++) {
		process_signal(node->daemon, SIGHUP);
		node_daemon_says(node, "configuration read again");
	}
	fixture_write(node->root, OTHER_STATE, "1: DOWN");
	node_kubelet_says(node, LIST("7"));
	assert_int_equal(process_count(node->kubelet, LISTS), 2);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_are_listed_at_once_and_the_one_when_it_is_due),
		TEST(one_that_hangs_and_answers_at_last),
		TEST(one_that_was_unhealthy_and_hangs),
		TEST(one_that_no_resource_selects_is_not_looked_at),
		TEST(a_link_layer_that_cannot_be_read_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
