/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/subject.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>

#include "bench/results.h"
#include "support/fixture.h"

enum { HCAS = 8 };

/* --- HCAs --- */

char *subject_device_id(guint i)
{
	return g_strdup_printf("0000:%02x:%02x.%u", 0x10 + i / 256, i / 8 % 32, i % 8);
}

/* 256 below each PCIe root, 8 below each of its ports; half on each of two NUMA nodes. */
static void add_hca(GString *text, guint i, guint n_hcas)
{
	g_autofree char *id = subject_device_id(i);

	g_string_append_printf(text,
			       "pci %s class=0x020000 vendor=0x15b3 device=0x101d "
			       "driver=mlx5_core numa=%u under=pci0000:%02x/0000:%02x:%02x.0\n",
			       id, 2 * i / n_hcas, 0x50 + i / 256, 0x50 + i / 256, i / 8 % 32);
	g_string_append_printf(text, "net %s ens%unp0 type=1 port_name=p0\n", id, i);
	g_string_append_printf(text, "ib %s mlx5_%u ll=Ethernet ndev=ens%unp0\n", id, i, i);
	g_string_append_printf(text, "uverbs %s %u mlx5_%u\n", id, i, i);
	g_string_append_printf(text, "umad %s %u mlx5_%u 1\n", id, i, i);
}

static char *pci_machine(guint n_hcas)
{
	GString *text = g_string_new("netns Y\nrdma_cm\n");

	for (guint i = 0; i < n_hcas; i++)
		add_hca(text, i, n_hcas);
	return g_string_free(text, FALSE);
}

static char *mock_devices(gboolean is_first_healthy)
{
	GString *text = g_string_new(NULL);

	for (int i = 0; i < HCAS; i++) {
		g_string_append_printf(text, "device 0000:%02x:00.0\n", 0x10 + 0x10 * i);
		g_string_append(text, "  attribute vendor 15b3\n  attribute device 101d\n"
				      "  driver mlx5_core\n");
		g_string_append_printf(text, "  rdma mlx5_%d mlx5_ib\n    port 1 ethernet active\n",
				       i);
		g_string_append_printf(text, "    uverbs infiniband/uverbs%d 231:%d\n", i, 192 + i);
		g_string_append(text, "  rdma_cm infiniband/rdma_cm 10:121\n");
		g_string_append_printf(text, "  health %s\n",
				       i > 0 || is_first_healthy ? "ok" : "down");
	}
	return g_string_free(text, FALSE);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	g_autofree char *folder = g_path_get_dirname(path);
	g_autoptr(GError) error = NULL;

	/* Written aside and renamed, so that a reader sees the one or the other. */
	if (g_mkdir_with_parents(folder, 0700) < 0 || !g_file_set_contents(path, text, -1, &error))
		g_error("cannot write '%s': %s", path, error ? error->message : g_strerror(errno));
}

static void write_mock(const char *node, gboolean is_healthy)
{
	g_autofree char *devices = mock_devices(is_healthy);

	write_file(node, "sys/bus/mock/devices", devices);
}

static void write_hcas(const struct subject *subject, const char *node)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *machine = pci_machine(subject->exclusive ? subject->slots : HCAS);

	if (subject->bus == SUBJECT_MOCK)
		write_mock(node, TRUE);
	else if (!fixture_build(machine, node, &error))
		g_error("cannot make a node: %s", error->message);
}

/* --- configuration --- */

static void write_settings(const char *node)
{
	g_autofree char *text = g_strdup_printf(
		"sysfs_root = \"%s/sys\";\n"
		/* Where device nodes cannot be made the daemon must not look at them. */
		"dev_root = \"%s/%s\";\n"
		"state_dir = \"%s/state\";\n"
		"status_socket = \"\";\n"
		"kubelet: { pod_resources_socket = \"%s/pod-resources.sock\"; };\n"
		"log: { level = \"warning\"; };\n"
		"health: { down_delay = 0.0; up_delay = 0.0; };\n",
		node, node, fixture_can_mknod() ? "dev" : "no-dev", node, node);

	write_file(node, "rdmadp.conf", text);
}

static void write_resources(const struct subject *subject, const char *node)
{
	GString *text = g_string_new("{\"periodicUpdateInterval\": 0, \"faultDetectPeriod\": 0,\n"
				     " \"configList\": [");

	g_autofree char *mode = subject->exclusive
					? g_strdup("\"mode\": \"exclusive\"")
					: g_strdup_printf("\"rdmaHcaMax\": %u", subject->slots);

	for (guint i = 0; i < subject->resources; i++)
		g_string_append_printf(
			text,
			"%s\n  {\"resourceName\": \"bench_%u\", %s, "
			"\"selectors\": {\"buses\": [\"%s\"], \"vendors\": [\"15b3\"]}}",
			i ? "," : "", i, mode, subject->bus == SUBJECT_MOCK ? "mock" : "pci");
	g_string_append(text, "]}\n");
	write_file(node, "config.json", text->str);
	g_string_free(text, TRUE);
}

/* --- the node --- */

char *subject_make_node(const struct subject *subject)
{
	g_autoptr(GError) error = NULL;
	char *node = g_dir_make_tmp("rdmadp-bench-XXXXXX", &error);

	if (!node)
		g_error("cannot make a directory: %s", error->message);
	g_autofree char *kubelet = subject_kubelet_dir(node);

	if (g_mkdir(kubelet, 0700) < 0)
		g_error("cannot make '%s': %s", kubelet, g_strerror(errno));
	if (subject->which == SUBJECT_DAEMON) {
		write_hcas(subject, node);
		write_settings(node);
		write_resources(subject, node);
	}
	return node;
}

char *subject_make_crowd(const struct big_tree *crowd)
{
	g_autoptr(GError) error = NULL;
	char *node = g_dir_make_tmp("rdmadp-bench-XXXXXX", &error);

	if (!node || !big_tree_build(crowd, node, &error))
		g_error("cannot make a node: %s", error->message);
	return node;
}

void subject_remove_node(const char *node)
{
	fixture_remove(node);
}

char *subject_kubelet_dir(const char *node)
{
	return g_build_filename(node, "kubelet", NULL);
}

static Process *start_floor(const struct subject *subject, const char *node, const char *log)
{
	g_autofree char *dir = subject_kubelet_dir(node);
	g_autofree char *kubelet = g_build_filename(dir, "kubelet.sock", NULL);
	g_autofree char *resources = g_strdup_printf("%u", subject->resources);
	g_autofree char *slots = g_strdup_printf("%u", subject->slots);
	const char *argv[] = {subject->program, "--dir",   dir,		"--kubelet", kubelet,
			      "--resources",	resources, "--devices", slots,	     NULL};

	return process_start(argv, log);
}

static Process *start_daemon(const struct subject *subject, const char *node, const char *log)
{
	g_autofree char *dir = subject_kubelet_dir(node);
	g_autofree char *settings = g_build_filename(node, "rdmadp.conf", NULL);
	g_autofree char *resources = g_build_filename(node, "config.json", NULL);
	const char *argv[] = {
		subject->program, "--config", settings,	       "--resources",	     resources,
		"--kubelet-dir",  dir,	      "--backend-dir", subject->backend_dir, NULL};

	return process_start(argv, log);
}

Process *subject_start(const struct subject *subject, const char *node)
{
	g_autofree char *log = g_build_filename(node, "log", NULL);

	if (subject->which == SUBJECT_FLOOR)
		return start_floor(subject, node, log);
	return start_daemon(subject, node, log);
}

void subject_change_one(const struct subject *subject, const char *node, const Process *process,
			gboolean is_healthy)
{
	if (subject->which == SUBJECT_FLOOR)
		kill(process_pid(process), SIGUSR1);
	else
		write_mock(node, is_healthy);
}

void subject_set_link(const char *node, gboolean is_active)
{
	write_file(node, "sys/class/infiniband/mlx5_0/ports/1/state",
		   is_active ? "4: ACTIVE\n" : "1: DOWN\n");
}
