/* SPDX-License-Identifier: Apache-2.0 */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"

static const char daemon_program[] = BINARY_DIR "/bin/rdmadp";
static const char kubelet_program[] = BINARY_DIR "/bin/rdmadp-kubelet";
static const char backend_dir[] = BINARY_DIR "/lib/rdmadp/backends";

/* The daemon is asked to end within this. */
#define STOP_LIMIT_MS 2000

#define SETTINGS                                                                                   \
	"sysfs_root = \"%s/sys\";\n"                                                               \
	"dev_root = \"%s\";\n"                                                                     \
	"state_dir = \"%s/state\";\n"                                                              \
	"status_socket = \"%s/status.sock\";\n"                                                    \
	"kubelet = {\n"                                                                            \
	"	device_plugins_dir = \"%s\";\n"                                                          \
	"	plugins_registry_dir = \"%s/registry\";\n"                                               \
	"	pod_resources_socket = \"%s/pod-resources/kubelet.sock\";\n%s"                           \
	"};\n"                                                                                     \
	"health = { poll = 0.1; down_delay = 0.0; up_delay = 0.0; };\n"

static char *path_of(const struct node *node, const char *name)
{
	return g_build_filename(node->root, name, NULL);
}

static void write_settings(const struct node *node)
{
	/* Without root there are no device nodes: then the daemon is not shown any. */
	g_autofree char *dev = path_of(node, node->has_nodes ? "dev" : "no-dev");
	g_autofree char *text =
		g_strdup_printf(SETTINGS, node->root, dev, node->root, node->root,
				node->kubelet_dir, node->root, node->root, node->kubelet_settings);
	g_autofree char *whole = g_strconcat(text, node->settings, NULL);
	fixture_write(node->root, "etc/rdmadp.conf", whole);
}

struct node *node_new(const char *machine)
{
	struct node *node = g_new0(struct node, 1);
	node->root = fixture_new(*machine ? machine : "dir sys\ndir dev\n");
	node->kubelet_dir = path_of(node, "kubelet");
	node->has_nodes = fixture_can_mknod();
	const char *const dirs[] = {"kubelet", "etc", "state"};
	for (gsize i = 0; i < G_N_ELEMENTS(dirs); i++) {
		g_autofree char *dir = path_of(node, dirs[i]);
		assert_int_equal(g_mkdir_with_parents(dir, 0700), 0);
	}
	node->settings = g_strdup("");
	node->kubelet_settings = g_strdup("settle_time = 0.0;\n");
	write_settings(node);
	return node;
}

void node_free(struct node *node)
{
	process_free(node->daemon);
	process_free(node->kubelet);
	fixture_remove(node->root);
	g_free(node->root);
	g_free(node->kubelet_dir);
	g_free(node->settings);
	g_free(node->kubelet_settings);
	g_free(node);
}

void node_resources(const struct node *node, const char *json)
{
	fixture_write(node->root, "etc/config.json", json);
}

static void replace(char **text, const char *value)
{
	g_free(*text);
	*text = g_strdup(value);
}

void node_settings(struct node *node, const char *lines)
{
	replace(&node->settings, lines);
	write_settings(node);
}

void node_kubelet_settings(struct node *node, const char *lines)
{
	replace(&node->kubelet_settings, lines);
	write_settings(node);
}

void node_mock(const struct node *node, const char *text)
{
	g_autofree char *bus = path_of(node, "sys/bus/mock");
	g_autofree char *temporary = path_of(node, "sys/bus/mock/devices.new");
	g_autofree char *path = path_of(node, "sys/bus/mock/devices");
	assert_int_equal(g_mkdir_with_parents(bus, 0755), 0);
	assert_true(g_file_set_contents(temporary, text, -1, NULL));
	assert_int_equal(rename(temporary, path), 0);
}

/* --- processes --- */

/* Appends both lists; either may be NULL. */
static Process *start(const char *name, const char *const *always, const char *const *options)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	const char *const *const lists[] = {always, options};
	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
		for (gsize j = 0; lists[i] && lists[i][j]; j++)
			g_ptr_array_add(argv, (char *)lists[i][j]);
	}
	g_ptr_array_add(argv, NULL);
	return process_start(name, (const char *const *)argv->pdata);
}

char *node_pod_resources(const struct node *node)
{
	g_autofree char *dir = g_build_filename(node->root, "pod-resources", NULL);
	assert_int_equal(g_mkdir_with_parents(dir, 0755), 0);
	return g_build_filename(dir, "kubelet.sock", NULL);
}

void node_start_kubelet(struct node *node, const char *const *options)
{
	g_autofree char *dev = path_of(node, "dev");
	const char *const always[] = {kubelet_program,
				      "--no-fsync",
				      "--dir",
				      node->kubelet_dir,
				      node->has_nodes ? "--dev-root" : NULL,
				      dev,
				      NULL};
	process_free(node->kubelet);
	node->kubelet = start("kubelet", always, options);
	node_kubelet_says(node, "{\"event\":\"serving\"}");
}

static Process *run_daemon(const struct node *node, const char *const *before,
			   const char *const *options)
{
	g_autofree char *config = path_of(node, "etc/rdmadp.conf");
	g_autofree char *resources = path_of(node, "etc/config.json");
	const char *const always[] = {daemon_program, "--config",      config,	    "--resources",
				      resources,      "--backend-dir", backend_dir, NULL};
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	if (before)
		g_strv_builder_addv(builder, (const char **)before);
	g_strv_builder_addv(builder, (const char **)always);
	g_auto(GStrv) whole = g_strv_builder_end(builder);
	return start("rdmadp", (const char *const *)whole, options);
}

Process *node_run_daemon(const struct node *node, const char *const *options)
{
	return run_daemon(node, NULL, options);
}

Process *node_run_daemon_in(const struct node *node, const char *script)
{
	const char *const shell[] = {"/bin/sh", "-c", script, "sh", NULL};
	return run_daemon(node, shell, NULL);
}

void node_start_daemon(struct node *node)
{
	process_free(node->daemon);
	node->daemon = node_run_daemon(node, NULL);
	node_daemon_says(node, "rdmadp: version ");
}

void node_kubelet_says(const struct node *node, const char *pattern)
{
	if (!process_await(node->kubelet, pattern))
		fail_msg("the kubelet does not say %s", pattern);
}

void node_daemon_says(const struct node *node, const char *pattern)
{
	if (!process_await(node->daemon, pattern))
		fail_msg("the daemon does not say %s", pattern);
}

/* --- pods --- */

const char *node_allocate(const struct node *node, const char *resource, int n, const char *pod)
{
	g_autofree char *text = g_strdup_printf("\"pod\":\"%s\"", pod);
	node_command(node, "allocate %s %d %s", resource, n, pod);
	for (;;) {
		const char *line = process_await(node->kubelet, text);
		assert_non_null(line);
		if (strstr(line, "\"event\":\"allocated\""))
			return line;
		if (strstr(line, "\"event\":\"rejected\"") || strstr(line, "\"event\":\"skipped\""))
			return NULL;
	}
}

void node_free_pod(const struct node *node, const char *pod)
{
	g_autofree char *text = g_strdup_printf("{\"event\":\"freed\",\"pod\":\"%s\"}", pod);
	node_command(node, "free %s", pod);
	node_kubelet_says(node, text);
}

void node_await_allocatable(const struct node *node, const char *resource, int n)
{
	node_command(node, "wait allocatable %s %d 60", resource, n);
	node_kubelet_says(node, "{\"event\":\"waited\"}");
}

void node_label(const struct node *node, gboolean exclusive)
{
	g_autofree char *path = path_of(node, "labels");
	g_autofree char *text =
		g_strdup_printf("a=\"b\"\n" NODE_LABEL "=\"%s\"\n", exclusive ? "true" : "false");
	assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* --- the end --- */

void node_stop_daemon(struct node *node)
{
	int status;
	process_signal(node->daemon, SIGTERM);
	assert_true(process_await_exit_within(node->daemon, STOP_LIMIT_MS, &status));
	assert_int_equal(status, 0);
	process_free(node->daemon);
	node->daemon = NULL;
}

/* Of all that it has written, what it complains of. */
static void print_verdicts(Process *kubelet)
{
	g_autofree char *output = process_output(kubelet);
	g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
	for (gsize i = 0; lines[i]; i++)
		if (strstr(lines[i], "\"verdict\""))
			print_error("%s\n", lines[i]);
}

void node_stop_kubelet(struct node *node, int expected)
{
	int status;
	node_command(node, "quit");
	assert_true(process_await_exit(node->kubelet, &status));
	if (status != expected) {
		print_verdicts(node->kubelet);
		fail_msg("the kubelet ended with status %d", status);
	}
	process_free(node->kubelet);
	node->kubelet = NULL;
}

gboolean node_has_file(const struct node *node, const char *path)
{
	g_autofree char *whole = path_of(node, path);
	return g_file_test(whole, G_FILE_TEST_EXISTS);
}
