/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon where the kernel has too little of something for it. */
#include "system/node.h"

#include <glib/gstdio.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define RESOURCES                                                                                  \
	"{\"configList\":[{\"resourceName\":\"hca\",\"rdmaHcaMax\":4,"                             \
	"\"selectors\":{\"buses\":[\"mock\"]}}]}"

#define DEVICE                                                                                     \
	"device 0000:3b:00.0\nattribute vendor 15b3\nrdma mlx5_1 mlx5_ib\n"                        \
	"port 1 infiniband active\nuverbs infiniband/uverbs1 231:1\n"                              \
	"rdma_cm infiniband/rdma_cm 10:121\n"

#define NODES "dir sys\nchr dev/infiniband/uverbs1 231:1\nchr dev/infiniband/rdma_cm 10:121\n"

#define LISTED "{\"event\":\"list\",\"resource\":\"rdma/hca\",\"first\":true}"

static int set_up(void **state)
{
	struct node *node = node_new(NODES);
	node_resources(node, RESOURCES);
	node_mock(node, DEVICE);
	*state = node;
	return 0;
}

static int tear_down(void **state)
{
	node_free(*state);
	return 0;
}

/* --- inotify --- */

/* In a user namespace of its own, whose limit it is. */
#define WITHOUT(limit)                                                                             \
	"exec unshare -U -r sh -c 'echo 0 >/proc/sys/user/" limit " && exec \"$@\"' sh \"$@\""

static const char *const inotify_limits[] = {WITHOUT("max_inotify_instances"),
					     WITHOUT("max_inotify_watches")};

static gboolean can_unshare(void)
{
	static const char line[] = "unshare -U -r sh -c 'echo 0 >/proc/sys/user/"
				   "max_inotify_instances'";
	int status;
	return g_spawn_command_line_sync(line, NULL, NULL, &status, NULL) && status == 0;
}

/* Kubelets to 1.34 go on with a Register that was given up: a second one for the same
 * start would leak a connection. */
static const char *const patient[] = {"--profile=1.34", NULL};

static char *path_of(const struct node *node, const char *name)
{
	return g_build_filename(node->kubelet_dir, name, NULL);
}

static void restart_kubelet(struct node *node)
{
	guint registers = process_count(node->kubelet, "{\"event\":\"register\"}");
	node_command(node, "restart");
	node_kubelet_says(node, "{\"event\":\"stopped\"}");
	node_kubelet_says(node, LISTED);
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"register\"}"), registers + 1);
}

/* The daemon has nothing but its own looks: at a kubelet that comes, at the removal of its
 * socket, by somebody or by a kubelet that restarts. */
static void live_without_inotify(struct node *node, const char *script)
{
	g_autofree char *own = path_of(node, "rdma_hca.sock");
	g_autofree char *kubelet = path_of(node, "kubelet.sock");
	node->daemon = node_run_daemon_in(node, script);
	node_daemon_says(node, "cannot watch '");
	node_daemon_says(node, "waiting for '");
	node_start_kubelet(node, patient);
	node_kubelet_says(node, LISTED);
	assert_int_equal(g_unlink(own), 0);
	while (!g_file_test(own, G_FILE_TEST_EXISTS))
		g_usleep(1000);
	for (int i = 0; i < 3; i++)
		restart_kubelet(node);
	/* Some looks later there is no more to see. */
	node_command(node, "sleep 2500\nresources");
	node_kubelet_says(node, "{\"event\":\"resources\",\"count\":1,\"connections\":1}");
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"register\"}"), 4);
	assert_int_equal(process_count(node->daemon, "cannot watch '"), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	assert_int_equal(g_unlink(kubelet), 0);
}

static void without_inotify_a_kubelet_is_found_by_looking(void **state)
{
	if (!can_unshare())
		skip();
	for (gsize i = 0; i < G_N_ELEMENTS(inotify_limits); i++)
		live_without_inotify(*state, inotify_limits[i]);
}

/* --- descriptors --- */

#define CLIENTS 3
#define RESTARTS 3
/* All of them, and those that the daemon lets stay. */
#define IDLE_CLIENTS 20
#define IDLE_LIMIT 8
/* How often it is looked whether a descriptor has become free. */
#define ROUNDS 10

static void set_limit(const struct node *node, rlim_t n)
{
	struct rlimit limit;
	assert_int_equal(prlimit(process_pid(node->daemon), RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur = MIN(n, limit.rlim_max);
	assert_int_equal(prlimit(process_pid(node->daemon), RLIMIT_NOFILE, &limit, NULL), 0);
}

static gboolean has_descriptor(const struct node *node, int fd)
{
	g_autofree char *path =
		g_strdup_printf("/proc/%d/fd/%d", (int)process_pid(node->daemon), fd);
	return g_file_test(path, G_FILE_TEST_IS_SYMLINK);
}

static void connect_clients(const struct node *node, GArray *clients, int n)
{
	g_autofree char *own = path_of(node, "rdma_hca.sock");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	g_strlcpy(address.sun_path, own, sizeof(address.sun_path));
	for (int i = 0; i < n; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		g_array_append_val(clients, fd);
	}
}

/* From now on the daemon cannot open one more file, and somebody wants it to. */
static void exhaust(const struct node *node, GArray *clients)
{
	for (int i = 0; i < ROUNDS; i++) {
		int lowest = 0;
		while (has_descriptor(node, lowest))
			lowest++;
		set_limit(node, (rlim_t)lowest);
		g_usleep(10000);
	}
	connect_clients(node, clients, CLIENTS);
}

static void give_back(const struct node *node, GArray *clients)
{
	for (guint i = 0; i < clients->len; i++)
		close(g_array_index(clients, int, i));
	g_array_set_size(clients, 0);
	set_limit(node, RLIM_INFINITY);
}

/* Of processor time, in ticks of which sysconf tells how many a second has. */
static guint64 time_used(const struct node *node)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)process_pid(node->daemon));
	g_autofree char *text = NULL;
	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_auto(GStrv) fields = g_strsplit(strrchr(text, ')'), " ", 15);
	return g_ascii_strtoull(fields[12], NULL, 10) + g_ascii_strtoull(fields[13], NULL, 10);
}

/* Who tries again without a pause takes all the time that there is. */
static void assert_is_at_rest(const struct node *node)
{
	guint64 before = time_used(node);
	g_usleep(G_USEC_PER_SEC);
	assert_true(time_used(node) - before < (guint64)sysconf(_SC_CLK_TCK) / 2);
}

static void without_descriptors_the_stream_lives(void **state)
{
	struct node *node = *state;
	g_autoptr(GArray) clients = g_array_new(FALSE, FALSE, sizeof(int));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LISTED);
	exhaust(node, clients);
	node_daemon_says(node, "cannot take a connection to '");
	assert_is_at_rest(node);
	give_back(node, clients);
	node_mock(node, DEVICE "health down\n");
	node_kubelet_says(node, "{\"event\":\"list\",\"healthy\":0,\"first\":false}");
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"register\"}"), 1);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_restart_without_descriptors_is_made_up_for(void **state)
{
	struct node *node = *state;
	g_autoptr(GArray) clients = g_array_new(FALSE, FALSE, sizeof(int));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LISTED);
	for (int i = 0; i < RESTARTS; i++) {
		exhaust(node, clients);
		node_command(node, "restart");
		node_kubelet_says(node, "{\"event\":\"stopped\"}");
		assert_is_at_rest(node);
		give_back(node, clients);
		node_kubelet_says(node, LISTED);
	}
	/* Once for each socket that was made. */
	assert_in_range(process_count(node->daemon, "cannot take a connection to '"), 1,
			2 * RESTARTS);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* TRUE if it is, or as soon as it is. */
static gboolean is_closed(int fd, int flags)
{
	guint8 greeting[256];
	ssize_t n;
	do {
		n = recv(fd, greeting, sizeof(greeting), flags);
	} while (n > 0);
	return n == 0;
}

/* Whoever connects and asks for nothing: they are no reason to turn a kubelet away. */
static void idle_clients_make_room(void **state)
{
	struct node *node = *state;
	g_autoptr(GArray) clients = g_array_new(FALSE, FALSE, sizeof(int));
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_kubelet_says(node, LISTED);
	connect_clients(node, clients, IDLE_CLIENTS);
	for (guint i = 0; i < IDLE_CLIENTS - IDLE_LIMIT; i++)
		assert_true(is_closed(g_array_index(clients, int, i), 0));
	for (guint i = IDLE_CLIENTS - IDLE_LIMIT; i < IDLE_CLIENTS; i++)
		assert_false(is_closed(g_array_index(clients, int, i), MSG_DONTWAIT));
	node_mock(node, DEVICE "health down\n");
	node_kubelet_says(node, "{\"event\":\"list\",\"healthy\":0,\"first\":false}");
	assert_int_equal(process_count(node->kubelet, "{\"event\":\"register\"}"), 1);
	give_back(node, clients);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_inotify_a_kubelet_is_found_by_looking),
		TEST(without_descriptors_the_stream_lives),
		TEST(a_restart_without_descriptors_is_made_up_for),
		TEST(idle_clients_make_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
