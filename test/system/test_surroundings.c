/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon in surroundings that are not as they should be. */
#include "system/node.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define RESOURCES                                                                                  \
	"{\"configList\":[{\"resourceName\":\"hca\",\"rdmaHcaMax\":4,"                             \
	"\"selectors\":{\"buses\":[\"mock\"]}}]}"

#define DEVICE                                                                                     \
	"device 0000:3b:00.0\nattribute vendor 15b3\nattribute device 101d\n"                      \
	"rdma mlx5_1 mlx5_ib\nport 1 infiniband active\n"                                          \
	"uverbs infiniband/uverbs1 231:1\nrdma_cm infiniband/rdma_cm 10:121\nhealth ok\n"

#define NODES "dir sys\nchr dev/infiniband/uverbs1 231:1\nchr dev/infiniband/rdma_cm 10:121\n"

#define REGISTERED "{\"event\":\"list\",\"resource\":\"rdma/hca\",\"first\":true}"

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

static char *link_of(const struct node *node, int fd)
{
	g_autofree char *path =
		g_strdup_printf("/proc/%d/fd/%d", (int)process_pid(node->daemon), fd);
	return g_file_read_link(path, NULL);
}

static void descriptors_that_are_closed_are_not_taken_for_files(void **state)
{
	struct node *node = *state;
	node_start_kubelet(node, NULL);
	node->daemon = node_run_daemon_in(node, "exec \"$@\" <&- >&- 2>&-");
	node_kubelet_says(node, REGISTERED);
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		g_autofree char *link = link_of(node, fd);
		assert_string_equal(link, "/dev/null");
	}
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void a_log_that_nobody_reads_stops_nothing(void **state)
{
	struct node *node = *state;
	g_autofree char *fifo = g_build_filename(node->root, "log", NULL);
	g_autofree char *script = g_strdup_printf("exec \"$@\" --log-level debug 2>%s", fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	int reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fcntl(reader, F_SETPIPE_SZ, 4096) > 0);
	node_start_kubelet(node, NULL);
	node->daemon = node_run_daemon_in(node, script);
	node_kubelet_says(node, REGISTERED);
	/* Every one of them is told on more than one line. */
	for (int i = 0; i < 40; i++) {
		node_command(node, "restart");
		node_kubelet_says(node, "{\"event\":\"wiped\"}");
		node_kubelet_says(node, REGISTERED);
	}
	node_stop_daemon(node);
	close(reader);
	node_stop_kubelet(node, 0);
}

static void a_reader_of_the_log_who_is_gone_stops_nothing(void **state)
{
	struct node *node = *state;
	g_autofree char *fifo = g_build_filename(node->root, "log", NULL);
	g_autofree char *script = g_strdup_printf("exec 2>%s; echo open; read go; "
						  "exec env --default-signal=PIPE \"$@\"",
						  fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	int reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	node_start_kubelet(node, NULL);
	node->daemon = node_run_daemon_in(node, script);
	node_daemon_says(node, "open");
	close(reader);
	process_write(node->daemon, "go");
	node_kubelet_says(node, REGISTERED);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* The group of the status socket has to get as far as the socket. */
static void directories_are_for_others_whatever_the_umask(void **state)
{
	static const char *const umasks[] = {"077", "0"};
	struct node *node = *state;
	g_autofree char *dir = g_build_filename(node->root, "run", NULL);
	struct stat status;
	node_start_kubelet(node, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(umasks); i++) {
		g_autofree char *script =
			g_strdup_printf("umask %s; sed -i 's|%s/status.sock|%s/status.sock|' "
					"%s/etc/rdmadp.conf; exec \"$@\"",
					umasks[i], node->root, dir, node->root);
		node->daemon = node_run_daemon_in(node, script);
		node_kubelet_says(node, REGISTERED);
		while (!node_has_file(node, "run/status.sock"))
			g_usleep(1000);
		assert_int_equal(stat(dir, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0755);
		node_stop_daemon(node);
		assert_int_equal(g_rmdir(dir), 0);
	}
	node_stop_kubelet(node, 0);
}

static void too_few_descriptors_are_told(void **state)
{
	struct node *node = *state;
	int status;
	node->daemon = node_run_daemon_in(node, "ulimit -n 20; exec \"$@\"");
	node_daemon_says(node, "only 20 files may be open, 1 resource may need 296: raise");
	assert_true(process_await_exit(node->daemon, &status));
	assert_int_equal(status, 1);
}

static void as_many_descriptors_as_are_needed_are_taken(void **state)
{
	struct node *node = *state;
	node_start_kubelet(node, NULL);
	node->daemon = node_run_daemon_in(node, "ulimit -Sn 24; exec \"$@\"");
	node_kubelet_says(node, REGISTERED);
	assert_false(process_has_said(node->daemon, "files may be open"));
	g_autofree char *path = g_strdup_printf("/proc/%d/limits", (int)process_pid(node->daemon));
	g_autofree char *limits = NULL;
	assert_true(g_file_get_contents(path, &limits, NULL, NULL));
	assert_true(g_regex_match_simple("Max open files +296 ", limits, 0, 0));
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HIDE_PROC "true" /* a sanitizer needs it */
#else
#define HIDE_PROC "mount -t tmpfs none /proc"
#endif

static void a_system_without_dev_and_proc_is_served(void **state)
{
	struct node *node = *state;
	g_autofree char *script = g_strdup_printf(
		"exec unshare -m sh -c 'mount --bind %s/kubelet.sock /dev/null && " HIDE_PROC
		" && exec \"$@\"' sh \"$@\"",
		node->kubelet_dir);
	int status;
	if (geteuid() != 0 ||
	    !g_spawn_command_line_sync("unshare -m true", NULL, NULL, &status, NULL) || status != 0)
		skip();
	node_start_kubelet(node, NULL);
	node->daemon = node_run_daemon_in(node, script);
	node_kubelet_says(node, REGISTERED);
	node_command(node, "allocate rdma/hca 1 pod-a");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"pod\":\"pod-a\"}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

static void move(const struct node *node, const char *from, const char *to)
{
	g_autofree char *old = g_build_filename(node->root, from, NULL);
	g_autofree char *new = g_build_filename(node->root, to, NULL);
	assert_int_equal(rename(old, new), 0);
}

static void a_sysfs_that_comes_late_is_found(void **state)
{
	struct node *node = node_new(SOURCE_DIR "/test/fixtures/machines/f01-roce-no-issm.txt");
	node_resources(node, "{\"periodicUpdateInterval\":1,\"configList\":[{\"resourceName\":"
			     "\"hca\",\"rdmaHcaMax\":4,\"selectors\":{\"vendors\":[\"15b3\"]}}]}");
	move(node, "sys", "away");
	node_start_kubelet(node, NULL);
	node_start_daemon(node);
	node_daemon_says(node, "/sys' is no directory");
	node_kubelet_says(node, "{\"event\":\"list\",\"devices\":0,\"first\":true}");
	move(node, "away", "sys");
	node_kubelet_says(node, "{\"event\":\"list\",\"healthy\":4}");
	node_command(node, "allocate rdma/hca 1 pod-a");
	node_kubelet_says(node, "{\"event\":\"allocated\",\"pod\":\"pod-a\"}");
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
	node_free(node);
	(void)state;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* 'inode' as it is in the link of a descriptor. */
static void assert_is_local(const struct node *node, const char *inode)
{
	static const char *const protocols[] = {"tcp", "tcp6", "udp", "udp6", "raw", "raw6"};
	g_autofree char *word = g_strdup_printf(" %s ", inode);
	for (gsize i = 0; i < G_N_ELEMENTS(protocols); i++) {
		g_autofree char *path = g_strdup_printf(
			"/proc/%d/net/%s", (int)process_pid(node->daemon), protocols[i]);
		g_autofree char *table = NULL;
		if (g_file_get_contents(path, &table, NULL, NULL))
			assert_null(strstr(table, word));
	}
}

/* None of the sockets that the daemon has open is one of a network. */
static void assert_has_no_network(const struct node *node)
{
	guint sockets = 0;
	for (int fd = 0; fd < 1024; fd++) {
		g_autofree char *link = link_of(node, fd);
		g_auto(GStrv) parts = g_strsplit_set(link == NULL ? "" : link, "[]", 3);
		if (g_strv_length(parts) != 3 || strcmp(parts[0], "socket:") != 0)
			continue;
		sockets++;
		assert_is_local(node, parts[1]);
	}
	assert_true(sockets > 0);
}

/* As in the container that it is made for. */
static void root_without_capabilities_is_enough(void **state)
{
	struct node *node = *state;
	g_autofree char *setpriv = g_find_program_in_path("setpriv");
	g_autofree char *path = NULL;
	g_autofree char *text = NULL;
	if (geteuid() != 0 || setpriv == NULL)
		skip();
	node_start_kubelet(node, NULL);
	node->daemon = node_run_daemon_in(node, "exec setpriv --no-new-privs --bounding-set=-all "
						"--inh-caps=-all -- \"$@\"");
	node_kubelet_says(node, REGISTERED);
	path = g_strdup_printf("/proc/%d/status", (int)process_pid(node->daemon));
	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	assert_non_null(strstr(text, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
	assert_non_null(node_allocate(node, "rdma/hca", 1, "pod"));
	assert_has_no_network(node);
	node_stop_daemon(node);
	node_stop_kubelet(node, 0);
}

/* A user of its own, since root may have as many threads as it likes, and nobody else's,
 * whose threads would count. */
#define AS_USER "setpriv --reuid %u --inh-caps +dac_override --ambient-caps +dac_override "
#define MOST_THREADS 24

static guint user(void)
{
	return 100000 + (guint)getpid();
}

static gboolean can_be_user(void)
{
	g_autofree char *line = g_strdup_printf(AS_USER "true", user());
	int status;
	return geteuid() == 0 && g_spawn_command_line_sync(line, NULL, NULL, &status, NULL) &&
	       status == 0;
}

/* With as many threads as it cannot do without, and none for another process. */
static void start_with_few_threads(struct node *node)
{
	gboolean is_enough = FALSE;
	if (!can_be_user())
		skip();
	for (guint n = 3; !is_enough && n < MOST_THREADS; n++) {
		g_autofree char *script = g_strdup_printf(
			"exec prlimit --nproc=%u:64 " AS_USER "-- \"$@\"", n, user());
		process_free(node->daemon);
		node->daemon = node_run_daemon_in(node, script);
		is_enough = process_await(node->daemon, "cannot be rehearsed") != NULL;
	}
	assert_true(is_enough);
}

static void a_rehearsal_that_could_not_start_is_tried_again(void **state)
{
	struct node *node = *state;
	g_autofree char *raise = NULL;
	int status;
	start_with_few_threads(node);
	/* As the same user, who needs no capability for it. */
	raise = g_strdup_printf("setpriv --reuid %u prlimit --pid %d --nproc=64:64", user(),
				(int)process_pid(node->daemon));
	assert_true(g_spawn_command_line_sync(raise, NULL, NULL, &status, NULL));
	assert_int_equal(status, 0);
	node_daemon_says(node, "1 device found, with RDMA: 1");
}

#define TOO_FEW                                                                                    \
	"can be started, 7 are needed from the beginning: Resource temporarily unavailable: "      \
	"raise "                                                                                   \
	"the limit of processes"

static void too_few_threads_are_told(void **state)
{
	struct node *node = *state;
	int status;
	if (!can_be_user())
		skip();
	for (guint n = 1; n < 7; n++) {
		g_autofree char *script =
			g_strdup_printf("exec prlimit --nproc=%u " AS_USER "-- \"$@\"", n, user());
		process_free(node->daemon);
		node->daemon = node_run_daemon_in(node, script);
		assert_true(process_await_exit(node->daemon, &status));
		assert_int_equal(status, 1);
		assert_true(process_has_said(node->daemon, TOO_FEW));
	}
}

/* From too little to load the program on. */
static void too_little_address_space_is_told(void **state)
{
	struct node *node = *state;
	int status = 127;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they reserve terabytes */
#endif
	for (guint kib = 16000; status == 127; kib += 4000) {
		g_autofree char *script = g_strdup_printf("ulimit -v %u; exec \"$@\"", kib);
		process_free(node->daemon);
		node->daemon = node_run_daemon_in(node, script);
		assert_true(process_await_exit(node->daemon, &status));
	}
	assert_int_equal(status, 1);
	assert_true(process_has_said(node->daemon, TOO_FEW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(descriptors_that_are_closed_are_not_taken_for_files),
		TEST(a_log_that_nobody_reads_stops_nothing),
		TEST(a_reader_of_the_log_who_is_gone_stops_nothing),
		TEST(directories_are_for_others_whatever_the_umask),
		TEST(too_few_descriptors_are_told),
		TEST(as_many_descriptors_as_are_needed_are_taken),
		TEST(a_system_without_dev_and_proc_is_served),
		cmocka_unit_test(a_sysfs_that_comes_late_is_found),
		TEST(root_without_capabilities_is_enough),
		TEST(a_rehearsal_that_could_not_start_is_tried_again),
		TEST(too_few_threads_are_told),
		TEST(too_little_address_space_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
