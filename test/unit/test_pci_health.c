/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "edge/module.h"
#include "support/descriptors.h"
#include "support/fixture.h"
#include "support/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct rdmadp_backend *pci;

static void health_of_whole_machines(void **state)
{
	static const struct {
		const char *machine, *id, *health;
	} cases[] = {
		{"f01-roce-no-issm", "0000:3b:00.0", "ok mlx5_0 port 1 is '4: ACTIVE'"},
		{"f01-roce-no-issm", "0000:5e:00.0",
		 "files no RDMA device: driver ixgbe has a network interface only"},
		{"f05-vf-netdev-in-pod", "0000:12:00.1", "ok mlx5_1 port 1 is '4: ACTIVE'"},
		{"f05-vf-netdev-in-pod", "0000:12:00.3",
		 "ok mlx5_3 port 1 is '1: DOWN', which counts as idle: the uplink '0000:12:00.0' "
		 "has "
		 "mlx5_0 port 1 is '4: ACTIVE'"},
		{"f06-vf-in-pod-exclusive", "0000:12:00.2",
		 "ok mlx5_2 is in another network namespace, which counts as idle: the uplink "
		 "'0000:12:00.0' has mlx5_0 port 1 is '4: ACTIVE'"},
		{"f08-switchdev", "0000:81:00.1", "ok mlx5_1 port 1 is '4: ACTIVE'"},
		{"f10-b200-mixed", "0000:4f:00.0", "ok rdmap79s0 port 1 is '4: ACTIVE'"},
		{"vendors", "0000:26:00.0", "ok mlx4_0 port 1 is '4: ACTIVE'"},
		{"xdr-smi", "0000:9b:00.0", "ok mlx5_0 port 1 is '4: ACTIVE'"},
		{"subfunctions", "mlx5_core.sf.2", "ok mlx5_1 port 1 is '4: ACTIVE'"},
		{"f22-unreadable", "0000:5e:00.0", "ok mlx5_1 port 1 is '4: ACTIVE'"},
		{"f22-unreadable", "0000:86:00.0",
		 "unknown mlx5_2 port 1: 'state' cannot be read: Not a directory"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct machine *machine = machine_scanned(pci, cases[i].machine);

		ASSERT_HEALTH(machine, cases[i].id, cases[i].health);
		machine_free(machine);
	}
}

#define STATE "sys/class/infiniband/%s/ports/1/state"

static void set_state(struct machine *machine, const char *rdma, const char *text)
{
	g_autofree char *path = g_strdup_printf(STATE, rdma);

	fixture_write(machine->root, path, text);
}

static void health_follows_the_port(void **state)
{
	static const struct {
		const char *state, *health;
	} cases[] = {
		{"1: DOWN", "link mlx5_0 port 1 is '1: DOWN'"},
		{"2: INIT", "link mlx5_0 port 1 is '2: INIT': an iWARP port waits for an IPv4 "
			    "address of its interface"},
		{"3: ARMED", "link mlx5_0 port 1 is '3: ARMED'"},
		{"0: NOP", "link mlx5_0 port 1 is '0: NOP'"},
		{"5: ACTIVE_DEFER", "ok mlx5_0 port 1 is '5: ACTIVE_DEFER'"},
		{"9: UNKNOWN", "unknown mlx5_0 port 1: 'state' is '9: UNKNOWN'"},
		{"", "unknown mlx5_0 port 1: 'state' cannot be read: No data available"},
		{"4: ACTIVE", "ok mlx5_0 port 1 is '4: ACTIVE'"},
	};
	struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		set_state(machine, "mlx5_0", cases[i].state);
		ASSERT_HEALTH(machine, "0000:3b:00.0", cases[i].health);
	}
	machine_free(machine);
}

static void an_infiniband_port_waits_for_its_manager(void **state)
{
	struct machine *machine = machine_scanned(pci, "f04-issm-subset");

	(void)state;
	set_state(machine, "mlx5_0", "2: INIT");
	ASSERT_HEALTH(machine, "0000:17:00.0",
		      "link mlx5_0 port 1 is '2: INIT': it waits for a subnet manager");
	machine_free(machine);
}

static void an_interface_that_is_down_is_named(void **state)
{
	struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");

	(void)state;
	set_state(machine, "mlx5_0", "1: DOWN");
	fixture_write(machine->root, "sys/class/net/ens1f0np0/flags", "0x1002");
	ASSERT_HEALTH(machine, "0000:3b:00.0",
		      "link mlx5_0 port 1 is '1: DOWN': interface 'ens1f0np0' is administratively "
		      "down; 'ip link set ens1f0np0 up' changes that");
	machine_free(machine);
}

static void a_vf_follows_its_uplink(void **state)
{
	struct machine *machine = machine_scanned(pci, "f34-vf-down-policy");

	(void)state;
	ASSERT_HEALTH(machine, "0000:12:00.1",
		      "ok mlx5_1 port 1 is '1: DOWN', which counts as idle: the uplink "
		      "'0000:12:00.0' has mlx5_0 port 1 is '4: ACTIVE'");
	set_state(machine, "mlx5_1", "4: ACTIVE");
	set_state(machine, "mlx5_0", "1: DOWN");
	ASSERT_HEALTH(machine, "0000:12:00.1",
		      "link uplink '0000:12:00.0': mlx5_0 port 1 is '1: DOWN'");
	set_state(machine, "mlx5_0", "");
	ASSERT_HEALTH(machine, "0000:12:00.1",
		      "unknown uplink '0000:12:00.0': mlx5_0 port 1: 'state' cannot be read: No "
		      "data available");
	machine_free(machine);
}

/* Also one of the function whose port is in the RDMA device of another. */
static void vfs_of_bonded_functions_follow_the_bond(void **state)
{
	static const char *const vfs[] = {"0000:17:00.2", "0000:17:08.2"};
	static const char *const names[] = {"mlx5_2", "mlx5_3"};
	struct machine *machine = machine_scanned(pci, "vf-lag");

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(vfs); i++) {
		g_autofree char *idle = g_strdup_printf(
			"ok %s port 1 is '1: DOWN', which counts as idle: the uplink "
			"'0000:17:00.0' has mlx5_bond_0 port 1 is '4: ACTIVE'",
			names[i]);

		ASSERT_HEALTH(machine, vfs[i], idle);
	}
	set_state(machine, "mlx5_bond_0", "1: DOWN");
	for (gsize i = 0; i < G_N_ELEMENTS(vfs); i++)
		ASSERT_HEALTH(machine, vfs[i],
			      "link uplink '0000:17:00.0': mlx5_bond_0 port 1 is '1: DOWN'");
	machine_free(machine);
}

static void a_vf_without_uplink_in_view_is_judged_by_itself(void **state)
{
	struct machine *machine = machine_scanned(pci, "f34-vf-down-policy");

	(void)state;
	fixture_apply(machine->root, "net 0000:12:00.1 ib1 type=32 up=1");
	machine_scan(machine);
	fixture_delete(machine->root, "sys/devices/pci0000:00/0000:12:00.0/infiniband");
	ASSERT_HEALTH(machine, "0000:12:00.1", "link mlx5_1 port 1 is '1: DOWN'");
	fixture_write(machine->root, "sys/class/net/ib1/flags", "0x1002");
	ASSERT_HEALTH(machine, "0000:12:00.1",
		      "ok mlx5_1 port 1 is '1: DOWN' because its interface is not in use");
	set_state(machine, "mlx5_1", "4: ACTIVE");
	ASSERT_HEALTH(machine, "0000:12:00.1", "ok mlx5_1 port 1 is '4: ACTIVE'");
	machine_free(machine);
}

static void ports_of_representors_do_not_count(void **state)
{
	struct machine *machine = machine_scanned(pci, "f08-switchdev");

	(void)state;
	set_state(machine, "mlx5_0", "1: DOWN");
	fixture_write(machine->root, "sys/class/infiniband/mlx5_0/ports/3/state", "4: ACTIVE");
	ASSERT_HEALTH(machine, "0000:81:00.1",
		      "link uplink '0000:81:00.0': mlx5_0 port 1 is '1: DOWN'");
	ASSERT_HEALTH(machine, "0000:81:00.0",
		      "files switchdev representor device: mlx5_0 carries raw packets only, no "
		      "RoCE; select its virtual functions (pfNames)");
	machine_free(machine);
}

static void a_renamed_rdma_device_is_found_by_its_uverbs(void **state)
{
	struct machine *machine = machine_scanned(pci, "f14-ipoib-guid");

	(void)state;
	fixture_delete(machine->root, "sys/class/infiniband/mlx5_0");
	fixture_delete(machine->root,
		       "sys/devices/pci0000:d7/0000:d7:00.0/0000:d8:00.0/infiniband");
	fixture_apply(machine->root, "ib 0000:d8:00.0 ibp216s0\n"
				     "uverbs 0000:d8:00.0 0 ibp216s0\n");
	ASSERT_HEALTH(machine, "0000:d8:00.0", "ok ibp216s0 port 1 is '4: ACTIVE'");
	machine_free(machine);
}

static void a_lost_character_device_is_a_matter_of_files(void **state)
{
	struct machine *machine = machine_scanned(pci, "f14-ipoib-guid");

	(void)state;
	fixture_delete(machine->root,
		       "sys/devices/pci0000:d7/0000:d7:00.0/0000:d8:00.0/infiniband_verbs/uverbs0");
	ASSERT_HEALTH(machine, "0000:d8:00.0", "files /dev/infiniband/uverbs0 of mlx5_0 is gone");
	machine_free(machine);
}

struct reading {
	struct machine *machine;
	char *health;
	gint done;
};

static gpointer read_health(gpointer data)
{
	struct reading *reading = data;

	reading->health = machine_health(reading->machine, "0000:3b:00.0");
	g_atomic_int_set(&reading->done, 1);
	return NULL;
}

static int count(void *sink, const struct rdmadp_device *device)
{
	(void)device;
	++*(int *)sink;
	return 0;
}

/* One answer of the hardware: a line, taken by a reader, and its end. */
static void answer_once(const char *fifo, const gint *done)
{
	int fd = open(fifo, O_RDWR | O_CLOEXEC);
	int unread = 1;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1: DOWN\n", 8), 8);
	while (unread > 0 && !g_atomic_int_get(done)) {
		g_usleep(1000);
		assert_int_equal(ioctl(fd, FIONREAD, &unread), 0);
	}
	close(fd);
}

/* Lets the hardware answer, again if it was another one who read it. Never twice to
 * one reader: two lines are not an attribute. */
static void answer(const char *fifo, const gint *done)
{
	while (!g_atomic_int_get(done)) {
		answer_once(fifo, done);
		for (int i = 0; i < 1000 && !g_atomic_int_get(done); i++)
			g_usleep(1000);
	}
}

static void a_hung_port_holds_its_own_read_only(void **state)
{
	struct machine *machine = machine_scanned(pci, "f22-unreadable");
	g_autofree char *fifo =
		g_strdup_printf("%s/class/infiniband/mlx5_0/ports/1/state", machine->sysfs_root);
	struct reading reading = {machine, NULL, 0};
	GThread *thread = g_thread_new("health", read_health, &reading);
	int devices = 0;

	(void)state;
	ASSERT_HEALTH(machine, "0000:5e:00.0", "ok mlx5_1 port 1 is '4: ACTIVE'");
	assert_int_equal(pci->discover(machine->instance, count, &devices), 0);
	assert_int_equal(devices, 3);
	answer(fifo, &reading.done);
	g_thread_join(thread);
	assert_string_equal(reading.health, "link mlx5_0 port 1 is '1: DOWN'");
	g_free(reading.health);
	machine_free(machine);
}

static int load(void **state)
{
	g_autoptr(GError) error = NULL;

	(void)state;
	pci = module_load(BINARY_DIR "/lib/rdmadp/backends", "pci", &error);
	if (!pci)
		print_error("%s\n", error->message);
	return pci ? 0 : -1;
}

/* Nothing was seen, so that nothing is down or gone. */
static void without_a_descriptor_health_is_unknown(void **state)
{
	struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");
	struct rlimit before = descriptors_leave(0);

	(void)state;
	ASSERT_HEALTH(machine, "0000:3b:00.0",
		      "unknown infiniband/uverbs0: 'ibdev' cannot be read: Too many open files");
	descriptors_give_back(&before);
	ASSERT_HEALTH(machine, "0000:3b:00.0", "ok mlx5_0 port 1 is '4: ACTIVE'");
	machine_free(machine);
}

/* Only where the ports differ is there a choice. */
static void active_ports_of_two_layers_are_told_apart(void **state)
{
	static const struct {
		const char *change;
		guint32 active;
	} steps[] = {
		{"", 0},
		{"port mlx5_0 2 ll=InfiniBand state=\"1: DOWN\" gid=none\n",
		 1U << RDMADP_LINK_ETHERNET},
		{"file sys/class/infiniband/mlx5_0/ports/2/state = 4: ACTIVE\n",
		 1U << RDMADP_LINK_ETHERNET | 1U << RDMADP_LINK_INFINIBAND},
		{"file sys/class/infiniband/mlx5_0/ports/1/state = 1: DOWN\n",
		 1U << RDMADP_LINK_INFINIBAND},
		{"file sys/class/infiniband/mlx5_0/ports/1/link_layer = Unspecified\n", 0},
		{"file sys/class/infiniband/mlx5_0/ports/1/link_layer = Ethernet\n",
		 1U << RDMADP_LINK_INFINIBAND},
		{"remove sys/class/infiniband/mlx5_0/ports/1/state\n", 0},
	};
	struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
		struct rdmadp_health health = {.size = sizeof(health)};

		fixture_apply(machine->root, steps[i].change);
		machine_scan(machine);
		assert_int_equal(pci->health(machine->instance,
					     machine_device(machine, "0000:3b:00.0"), &health),
				 0);
		assert_int_equal(health.state, RDMADP_HEALTHY);
		assert_int_equal(health.active, steps[i].active);
	}
	machine_free(machine);
}

/* Read while the link is there, since the news of its end do not wait for a counter. */
static void lost_links_are_counted(void **state)
{
	static const struct {
		const char *change;
		guint64 downs;
	} steps[] = {
		{"", 0},
		{"file sys/class/infiniband/mlx5_0/ports/1/counters/link_downed = 7\n", 7},
		{"file sys/class/infiniband/mlx5_0/ports/1/counters/link_downed = 255\n", 255},
		{"file sys/class/infiniband/mlx5_0/ports/1/counters/link_downed = many\n", 0},
		{"file sys/class/infiniband/mlx5_0/ports/1/counters/link_downed = 8\n"
		 "file sys/class/infiniband/mlx5_0/ports/1/state = 1: DOWN\n",
		 0},
		{"file sys/class/infiniband/mlx5_0/ports/1/state = 4: ACTIVE\n", 8},
	};
	struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");
	const struct rdmadp_device *device = machine_device(machine, "0000:3b:00.0");
	struct rdmadp_health health;

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
		fixture_apply(machine->root, steps[i].change);
		health = (struct rdmadp_health){.size = sizeof(health)};
		assert_int_equal(pci->health(machine->instance, device, &health), 0);
		assert_int_equal(health.link_downs, steps[i].downs);
	}
	/* A core of version 1.0 has no place for it. */
	health = (struct rdmadp_health){.size = offsetof(struct rdmadp_health, link_downs)};
	assert_int_equal(pci->health(machine->instance, device, &health), 0);
	assert_int_equal(health.link_downs, 0);
	machine_free(machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(health_of_whole_machines),
		cmocka_unit_test(active_ports_of_two_layers_are_told_apart),
		cmocka_unit_test(lost_links_are_counted),
		cmocka_unit_test(without_a_descriptor_health_is_unknown),
		cmocka_unit_test(health_follows_the_port),
		cmocka_unit_test(an_infiniband_port_waits_for_its_manager),
		cmocka_unit_test(an_interface_that_is_down_is_named),
		cmocka_unit_test(a_vf_follows_its_uplink),
		cmocka_unit_test(vfs_of_bonded_functions_follow_the_bond),
		cmocka_unit_test(a_vf_without_uplink_in_view_is_judged_by_itself),
		cmocka_unit_test(ports_of_representors_do_not_count),
		cmocka_unit_test(a_renamed_rdma_device_is_found_by_its_uverbs),
		cmocka_unit_test(a_lost_character_device_is_a_matter_of_files),
		cmocka_unit_test(a_hung_port_holds_its_own_read_only),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
