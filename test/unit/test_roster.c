/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/roster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "edge/rehearsal.h"
#include "support/fixture.h"
#include "support/wait.h"

/* A PF and a VF of it, of which the VF is selected, and an adapter that nobody wants. */
#define DEVICE(id, n, rest)                                                                        \
	"device " id "\nnet eth" n " ethernet\nrdma mlx5_" n " mlx5_ib\nport 1 ethernet active\n"  \
	"uverbs infiniband/uverbs" n " 231:" n "\nrdma_cm infiniband/rdma_cm 10:121\n" rest
#define DEVICES                                                                                    \
	DEVICE("pf", "1", "") DEVICE("vf", "2", "parent pf\nflags vf\n") DEVICE("x", "3", "")
#define RESOURCES                                                                                  \
	"{\"periodicUpdateInterval\":0,\"faultDetectPeriod\":0,\"configList\":[{\"resourceName\":" \
	"\"hca\",\"selectors\":{\"buses\":[\"mock\"],\"ifNames\":[\"eth2\"]}}]}"
#define SETTINGS                                                                                   \
	"sysfs_root = \"%s/sys\"; dev_root = \"%s/no-dev\"; state_dir = \"%s/state\"; "            \
	"status_socket = "                                                                         \
	"\"\"; backend_dir = \"" BINARY_DIR "/lib/rdmadp/backends\"; kubelet = { "                 \
	"device_plugins_dir = \"%s/kubelet\"; };\n"

struct fixture {
	char *root;
	Options *options;
	Configuration *configuration;
	Rpc *rpc;
	struct roster_host host;
	Roster *roster;
	Bus *bus;
	guint changes; /* so often a pool may have had something new to tell */
	gboolean has_stopped;
};

static void on_changed(gpointer data)
{
	((struct fixture *)data)->changes++;
}

static void collect(SavedState *saved, gpointer data)
{
	(void)saved;
	(void)data;
}

static gboolean shows_a_list(gpointer data)
{
	const struct fixture *fixture = data;
	const Pool *pool = roster_find_pool(fixture->roster, "rdma/hca");

	return offer_shown(pool_offer(pool)) != NULL;
}

static void read_files(struct fixture *fixture)
{
	g_autofree char *path = g_build_filename(fixture->root, "rdmadp.conf", NULL);
	g_autofree char *resources = g_build_filename(fixture->root, "config.json", NULL);
	const char *const words[] = {"rdmadp", "--config", path, "--resources", resources, NULL};
	g_autofree char *settings = g_strdup_printf(SETTINGS, fixture->root, fixture->root,
						    fixture->root, fixture->root);

	fixture_write(fixture->root, "rdmadp.conf", settings);
	fixture_write(fixture->root, "config.json", RESOURCES);
	fixture_write(fixture->root, "sys/bus/mock/devices", DEVICES);
	fixture->options = options_parse(5, (char **)words, NULL);
	fixture->configuration = configuration_read(fixture->options);
	assert_non_null(fixture->configuration);
}

static void open_roster(struct fixture *fixture)
{
	const Settings *settings = configuration_settings(fixture->configuration);
	const struct kubelet_options kubelet = {settings->kubelet_dir, "", 0, FALSE};

	fixture->rpc = rpc_new();
	fixture->host = (struct roster_host){
		.configuration = fixture->configuration,
		.kubelet = kubelet_new(fixture->rpc, &kubelet),
		.node_check = node_check_new(settings->sysfs_root, ""),
		.state = state_new(settings->state_dir, STATE_BOOT_ID_FILE, collect, NULL),
		.holders = holders_new(fixture->rpc, settings->pod_resources_socket),
		.changed = on_changed,
		.data = fixture,
	};
	fixture->roster = roster_new(&fixture->host);
	roster_apply(fixture->roster);
	fixture->bus = g_ptr_array_index(roster_buses(fixture->roster), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->root = fixture_new("dir sys/bus/mock\ndir kubelet\ndir state\n");
	read_files(fixture);
	open_roster(fixture);
	test_wait(shows_a_list, fixture);
	*state = fixture;
	return 0;
}

static void on_stopped(gpointer data)
{
	((struct fixture *)data)->has_stopped = TRUE;
}

static gboolean has_stopped(gpointer data)
{
	return ((const struct fixture *)data)->has_stopped;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	state_stop(fixture->host.state);
	roster_stop(fixture->roster);
	kubelet_stop(fixture->host.kubelet, on_stopped, fixture);
	test_wait(has_stopped, fixture);
	roster_free(fixture->roster, TEST_WAIT_MS);
	state_free(fixture->host.state, TEST_WAIT_MS);
	holders_free(fixture->host.holders);
	node_check_free(fixture->host.node_check);
	rpc_free(fixture->rpc);
	configuration_free(fixture->configuration);
	options_free(fixture->options);
	fixture_remove(fixture->root);
	g_free(fixture->root);
	g_free(fixture);
	return 0;
}

static guint64 scans(const struct fixture *fixture)
{
	struct bus_status status;

	bus_get_status(fixture->bus, &status);
	return status.scans;
}

static gboolean has_changed(gpointer data)
{
	return ((const struct fixture *)data)->changes > 0;
}

/* Most messages of the kernel about links are of pods' interfaces. */
static void links_of_others_settle_nothing(void **state)
{
	static const char *const others[] = {"veth1a2b3c4d", "eth3", "lo", ""};
	struct fixture *fixture = *state;
	guint64 before = scans(fixture);

	fixture->changes = 0;
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
		assert_false(bus_link_changed(fixture->bus, others[i]));
	assert_int_equal(fixture->changes, 0);
	assert_int_equal(scans(fixture), before);
}

static void links_of_its_own_are_looked_at(void **state)
{
	static const char *const own[] = {"eth2", "eth1"};
	struct fixture *fixture = *state;

	for (gsize i = 0; i < G_N_ELEMENTS(own); i++) {
		fixture->changes = 0;
		assert_true(bus_link_changed(fixture->bus, own[i]));
		test_wait(has_changed, fixture);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(links_of_others_settle_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_of_its_own_are_looked_at, set_up, tear_down),
	};

	/* This program, started again, is that of the daemon. */
	if (argc > 1 && strcmp(argv[1], "rehearse") == 0)
		return rehearsal_main(argc - 1, argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
