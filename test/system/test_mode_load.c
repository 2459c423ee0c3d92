/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mode "auto" while pods come and go, kubelets restart, daemons are killed, HCAs vanish
 * for a moment and the resource file changes: no HCA is ever exclusive to one pod and in
 * the hands of another. RDMADP_TEST_FLIPS says how often the label changes,
 * RDMADP_TEST_SEED repeats or changes what happens between.
 */
#include "system/node.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "support/fixture.h"

#define TWO_SOCKETS SOURCE_DIR "/test/fixtures/machines/two-sockets.txt"

#define DEFAULT_FLIPS "12"
#define DEFAULT_SEED "1"
#define MAX_PODS 8

/* Two that follow the label, on two buses, and one that does not. */
#define CONFIG                                                                                     \
	"{\"configList\":["                                                                        \
	"{\"resourceName\":\"hca\",\"mode\":\"auto\",\"rdmaHcaMax\":3,%s"                          \
	"\"selectors\":{\"rdmaDevices\":[\"mlx5_bond_*\"]}},"                                      \
	"{\"resourceName\":\"ub\",\"mode\":\"auto\",\"rdmaHcaMax\":5,"                             \
	"\"selectors\":{\"buses\":[\"ub\"]}},"                                                     \
	"{\"resourceName\":\"vf\",\"mode\":\"exclusive\","                                         \
	"\"selectors\":{\"deviceIDs\":[\"101e\"]}}]}"

static const struct {
	const char *name;
	int n_shared, n_exclusive; /* what it has in either mode */
} resources[] = {{"rdma/hca", 3, 2}, {"rdma/ub", 5, 2}, {"rdma/vf", 8, 8}};

struct pod {
	char *name;
	gboolean exclusive; /* holds devices themselves, not slots */
	GPtrArray *files; /* its uverbs */
};

struct load {
	struct node *node;
	GRand *random;
	GPtrArray *pods; /* struct pod *: those that hold something */
	guint n_pods; /* that there ever were */
	guint given, switches;
	gboolean exclusive; /* what the label says */
};

static void free_pod(gpointer data)
{
	struct pod *pod = data;

	g_free(pod->name);
	g_ptr_array_unref(pod->files);
	g_free(pod);
}

static gboolean chance(struct load *load, int one_in)
{
	return g_rand_int_range(load->random, 0, one_in) == 0;
}

/* --- what pods hold --- */

static gboolean has_file(const struct pod *pod, const char *path)
{
	for (guint i = 0; i < pod->files->len; i++)
		if (strcmp(g_ptr_array_index(pod->files, i), path) == 0)
			return TRUE;
	return FALSE;
}

/* Two shared pods may have the same HCA, and no others. */
static void check_alone(const struct load *load, const struct pod *pod)
{
	for (guint i = 0; i < load->pods->len; i++) {
		const struct pod *other = g_ptr_array_index(load->pods, i);

		if (!pod->exclusive && !other->exclusive)
			continue;
		for (guint j = 0; j < pod->files->len; j++)
			if (has_file(other, g_ptr_array_index(pod->files, j)))
				fail_msg("'%s' is in the hands of %s (%s) and of %s (%s)",
					 (const char *)g_ptr_array_index(pod->files, j),
					 other->name, other->exclusive ? "exclusive" : "shared",
					 pod->name, pod->exclusive ? "exclusive" : "shared");
	}
}

static struct pod *pod_read(const char *name, const char *line)
{
	json_t *event = json_loads(line, 0, NULL);
	const json_t *devices = json_object_get(event, "devices");
	const char *id = json_string_value(json_array_get(json_object_get(event, "ids"), 0));
	const char *resource = json_string_value(json_object_get(event, "resource"));
	struct pod *pod = g_new0(struct pod, 1);
	size_t i;
	const json_t *device;

	pod->name = g_strdup(name);
	pod->exclusive = !g_str_has_prefix(id, resource);
	pod->files = g_ptr_array_new_with_free_func(g_free);
	json_array_foreach(devices, i, device)
	{
		const char *path = json_string_value(json_object_get(device, "host"));

		if (strstr(path, "uverbs") != NULL)
			g_ptr_array_add(pod->files, g_strdup(path));
	}
	json_decref(event);
	assert_true(pod->files->len > 0);
	return pod;
}

static gboolean allocate(struct load *load, const char *resource, int n)
{
	g_autofree char *name = g_strdup_printf("pod-%u", load->n_pods++);
	const char *line;
	struct pod *pod;

	line = node_allocate(load->node, resource, n, name);
	if (line == NULL)
		return FALSE;
	pod = pod_read(name, line);
	check_alone(load, pod);
	g_ptr_array_add(load->pods, pod);
	load->given++;
	return TRUE;
}

static void end_pod(struct load *load, guint i)
{
	const struct pod *pod = g_ptr_array_index(load->pods, i);
	g_autofree char *text = g_strdup_printf("{\"event\":\"freed\",\"pod\":\"%s\"}", pod->name);

	node_command(load->node, "free %s", pod->name);
	node_kubelet_says(load->node, text);
	g_ptr_array_remove_index(load->pods, i);
}

static void end_all_pods(struct load *load)
{
	while (load->pods->len > 0)
		end_pod(load, load->pods->len - 1);
}

/* --- what happens --- */

static void set_label(struct load *load, gboolean exclusive)
{
	node_label(load->node, exclusive);
	load->exclusive = exclusive;
}

static void await_mode(const struct load *load)
{
	for (gsize i = 0; i < G_N_ELEMENTS(resources); i++)
		node_await_allocatable(load->node, resources[i].name,
				       load->exclusive ? resources[i].n_exclusive
						       : resources[i].n_shared);
}

static void restart_daemon(struct load *load)
{
	if (chance(load, 2)) {
		node_stop_daemon(load->node);
	} else {
		process_signal(load->node->daemon, SIGKILL);
		assert_true(process_await_exit(load->node->daemon, NULL));
	}
	node_start_daemon(load->node);
}

static void come_and_go(struct load *load)
{
	gsize i = (gsize)g_rand_int_range(load->random, 0, G_N_ELEMENTS(resources));

	if (load->pods->len > 0 && (chance(load, 2) || load->pods->len == MAX_PODS))
		end_pod(load, (guint)g_rand_int_range(load->random, 0, (gint)load->pods->len));
	else
		allocate(load, resources[i].name, g_rand_int_range(load->random, 1, 3));
	if (chance(load, 3))
		node_command(load->node, "sleep %d", g_rand_int_range(load->random, 1, 400));
}

/* A change that makes a resource be configured anew, and another list of none. */
static void write_resources(const struct load *load, gboolean distributed)
{
	g_autofree char *text =
		g_strdup_printf(CONFIG, distributed ? "\"allocationPolicy\":\"distributed\"," : "");

	node_resources(load->node, text);
}

/* An HCA loses its RDMA device, is looked for, and has it again. */
static void blink(struct load *load)
{
	fixture_apply(load->node->root, "remove sys/class/infiniband/mlx5_bond_1\n"
					"remove sys/devices/pci0000:d7/0000:d7:00.0/0000:d8:00.0/"
					"infiniband/mlx5_bond_1\n");
	process_signal(load->node->daemon, SIGHUP);
	come_and_go(load);
	fixture_apply(load->node->root, "ib 0000:d8:00.0 mlx5_bond_1 ll=Ethernet ndev=bond1\n");
	process_signal(load->node->daemon, SIGHUP);
}

static void disturb(struct load *load)
{
	if (chance(load, 6))
		write_resources(load, chance(load, 2));
	if (chance(load, 8))
		blink(load);
	if (chance(load, 6))
		node_command(load->node, "restart %d", g_rand_int_range(load->random, 0, 300));
	if (chance(load, 10))
		restart_daemon(load);
}

static void flip(struct load *load)
{
	for (int i = g_rand_int_range(load->random, 0, 5); i > 0; i--)
		come_and_go(load);
	set_label(load, !load->exclusive);
	for (int i = g_rand_int_range(load->random, 0, 5); i > 0; i--)
		come_and_go(load);
	disturb(load);
	if (chance(load, 2))
		return; /* the next one may come before this is carried out */
	end_all_pods(load);
	await_mode(load);
	load->switches++;
}

/* --- the test --- */

static int number_of(const char *variable, const char *value)
{
	const char *text = g_getenv(variable);

	return (int)g_ascii_strtoll(text != NULL ? text : value, NULL, 10);
}

static void begin(struct load *load)
{
	g_autofree char *settings = NULL;
	g_autofree char *pods = NULL;

	load->node = node_new(TWO_SOCKETS);
	pods = node_pod_resources(load->node);
	const char *const options[] = {"--pod-resources", pods, "--pods-late", "700", NULL};

	/* ids of the other mode leave the list, too */
	settings = g_strdup_printf("mode_label_file = \"%s/labels\";\nretire_after = 1.0;\n",
				   load->node->root);
	node_settings(load->node, settings);
	node_kubelet_settings(load->node, "settle_time = 1.0;\n");
	write_resources(load, FALSE);
	load->pods = g_ptr_array_new_with_free_func(free_pod);
	set_label(load, FALSE);
	node_start_kubelet(load->node, options);
	node_start_daemon(load->node);
	await_mode(load);
}

/* Everything is there in the end, and can be given away. */
static void finish(struct load *load)
{
	end_all_pods(load);
	await_mode(load);
	for (gsize i = 0; i < G_N_ELEMENTS(resources); i++)
		assert_true(allocate(load, resources[i].name,
				     load->exclusive ? resources[i].n_exclusive
						     : resources[i].n_shared));
	node_stop_daemon(load->node);
	node_stop_kubelet(load->node, 0);
	node_free(load->node);
	g_ptr_array_unref(load->pods);
}

static void no_device_is_in_two_hands(void **state)
{
	int flips = number_of("RDMADP_TEST_FLIPS", DEFAULT_FLIPS);
	int seed = number_of("RDMADP_TEST_SEED", DEFAULT_SEED);
	struct load load = {.random = g_rand_new_with_seed((guint32)seed)};

	(void)state;
	begin(&load);
	for (int i = 0; i < flips; i++)
		flip(&load);
	finish(&load);
	print_message("seed %d: %d changes of the label, %u of them awaited, %u pods, %u given\n",
		      seed, flips, load.switches, load.n_pods, load.given);
	g_rand_free(load.random);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_device_is_in_two_hands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
