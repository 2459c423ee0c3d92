/* SPDX-License-Identifier: Apache-2.0 */
/* What a scan asks the kernel for, as strace sees it: of a function that is no candidate,
 * its class and nothing else; of a plain network adapter, little; and stat of nothing. */
#include "system/node.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/big_tree.h"
#include "support/fixture.h"

#define FUNCTIONS 200
#define HCAS 8
#define NICS 40
/* Its class, link on the bus, driver and PF; its ids, NUMA node and number of VFs; its
 * interface's link, type, port name and master. */
#define CALLS_OF_A_NIC 14

/* FALSE where no process may be traced. */
static gboolean can_trace(void)
{
	int status;
	return g_spawn_command_line_sync("strace -o /dev/null true", NULL, NULL, &status, NULL) &&
	       g_spawn_check_wait_status(status, NULL);
}

/* Lines of strace about files below the tree. */
static char **trace_scan(const struct node *node)
{
	g_autofree char *log = g_build_filename(node->root, "strace", NULL);
	g_autofree char *command =
		g_strdup_printf("strace -f -qq -s 512 -e trace=%%file -o %s " BINARY_DIR
				"/bin/rdmadp devices --sysfs %s/sys --backend-dir " BINARY_DIR
				"/lib/rdmadp/backends --resources %s/etc/config.json",
				log, node->root, node->root);
	g_auto(GStrv) argv = NULL;
	/* What looks for leaks traces the process itself. */
	g_auto(GStrv) env =
		g_environ_setenv(g_get_environ(), "ASAN_OPTIONS", "detect_leaks=0", TRUE);
	g_autofree char *output = NULL;
	g_autofree char *errors = NULL;
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	int status;
	assert_true(g_shell_parse_argv(command, NULL, &argv, NULL));
	assert_true(g_spawn_sync(NULL, argv, env, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, &errors,
				 &status, &error));
	if (!g_spawn_check_wait_status(status, &error))
		fail_msg("%s: %s\n%s%s", command, error->message, output, errors);
	assert_non_null(strstr(output, "0000:"));
	assert_true(g_file_get_contents(log, &text, NULL, NULL));
	return g_strsplit(text, "\n", -1);
}

/* With a single CPU nothing is done side by side. */
static char **trace_scan_of_one_thread(const struct node *node)
{
	cpu_set_t before;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	char **lines = trace_scan(node);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	return lines;
}

/* The most that one thread, which is one scan where it has a single CPU, has called about the address; fails if
 * one of the calls is a stat. */
static guint count_of_a_scan(char *const *lines, const char *address)
{
	g_autoptr(GHashTable) by_process =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	guint most = 0;
	for (guint i = 0; lines[i]; i++) {
		if (!strstr(lines[i], address) || strstr(lines[i], " resumed>"))
			continue;
		if (strstr(lines[i], "stat(") || strstr(lines[i], "fstatat(") ||
		    strstr(lines[i], "statx(") || strstr(lines[i], "access("))
			fail_msg("%s", lines[i]);
		char *process = g_strndup(lines[i], strcspn(lines[i], " "));
		guint n = GPOINTER_TO_UINT(g_hash_table_lookup(by_process, process)) + 1;
		g_hash_table_replace(by_process, process, GUINT_TO_POINTER(n));
		most = MAX(most, n);
	}
	return most;
}

static guint count_lines(char *const *lines, const char *text)
{
	guint n = 0;
	for (guint i = 0; lines[i]; i++)
		n += strstr(lines[i], text) && !strstr(lines[i], " resumed>");
	return n;
}

/* Of the network class. */
static gboolean is_candidate(const struct node *node, const char *address)
{
	g_autofree char *path =
		g_strdup_printf("%s/sys/bus/pci/devices/%s/class", node->root, address);
	g_autofree char *class = NULL;
	assert_true(g_file_get_contents(path, &class, NULL, NULL));
	return g_str_has_prefix(class, "0x02");
}

static void check_function(const struct node *node, char *const *lines, const char *address)
{
	g_autofree char *class = g_strconcat("bus/pci/devices/", address, "/class", NULL);
	g_autofree char *within = g_strconcat("/", address, NULL);
	guint n = count_of_a_scan(lines, within);
	if (is_candidate(node, address)) {
		assert_in_range(n, 2, G_MAXUINT);
		return;
	}
	/* Whichever thread does it: once for each scan, of which a rehearsal is one. */
	assert_int_equal(count_lines(lines, within), count_lines(lines, "\"bus/pci/devices\""));
	assert_int_equal(count_lines(lines, class), count_lines(lines, within));
}

static void of_most_functions_only_the_class_is_read(void **state)
{
	const struct big_tree tree = {.functions = FUNCTIONS, .hcas = HCAS, .nics = NICS};
	(void)state;
	if (!can_trace())
		skip();
	struct node *node = node_new("dir sys\n");
	assert_true(big_tree_build(&tree, node->root, NULL));
	node_resources(node, "{\"configList\":[{\"resourceName\":\"r\",\"selectors\":"
			     "{\"vendors\":[\"15b3\"]}}]}");
	g_auto(GStrv) lines = trace_scan(node);
	g_autofree char *devices = g_build_filename(node->root, "sys/bus/pci/devices", NULL);
	g_autoptr(GDir) dir = g_dir_open(devices, 0, NULL);
	guint n = 0;
	for (const char *name; (name = g_dir_read_name(dir)); n++)
		check_function(node, lines, name);
	assert_int_equal(n, FUNCTIONS);
	node_free(node);
}

/* Adapters that nobody could offer are as many as there are interfaces. */
static void a_plain_adapter_costs_little(void **state)
{
	(void)state;
	if (!can_trace())
		skip();
	struct node *node = node_new("pci 0000:3b:00.0 class=0x020000 vendor=0x8086 driver=ixgbe\n"
				     "net 0000:3b:00.0 eth0\n");
	node_resources(node, "{\"configList\":[{\"resourceName\":\"r\",\"selectors\":"
			     "{\"vendors\":[\"15b3\"]}}]}");
	g_auto(GStrv) lines = trace_scan_of_one_thread(node);
	g_autofree char *all = g_strjoinv("\n", lines);
	guint n = count_of_a_scan(lines, "0000:3b:00.0");
	if (n > CALLS_OF_A_NIC)
		fail_msg("%u calls:\n%s", n, all);
	node_free(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_most_functions_only_the_class_is_read),
		cmocka_unit_test(a_plain_adapter_costs_little),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
