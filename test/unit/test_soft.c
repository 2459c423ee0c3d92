/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib.h>

#include "edge/module.h"
#include "support/dump.h"
#include "support/fixture.h"
#include "support/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct rdmadp_backend *soft;

static void machines_are_described_as_expected(void **state)
{
	struct machine *machine = machine_scanned(soft, "soft");
	g_autofree char *dump = machine_dump(machine);
	g_autoptr(GError) error = NULL;

	(void)state;
	if (!dump_expect(dump, MACHINES "soft.soft.expected", &error))
		fail_msg("%s", error->message);
	machine_free(machine);
}

static void real_adapters_are_not_its_business(void **state)
{
	static const char *const names[] = {"f01-roce-no-issm", "connectx3-scif", "bond"};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		struct machine *machine = machine_scanned(soft, names[i]);

		assert_int_equal(machine->devices->len, 0);
		machine_free(machine);
	}
}

static void a_bond_above_the_interface_counts(void **state)
{
	struct machine *machine = machine_scanned(soft, "soft");
	const struct rdmadp_device *device;

	(void)state;
	fixture_apply(machine->root, "bond bond0 eth1");
	machine_scan(machine);
	device = machine_device(machine, "rxe1");
	assert_int_equal(device->n_netdevs, 2);
	assert_string_equal(device->netdevs[1]->name, "bond0");
	assert_int_equal(device->netdevs[1]->flags, RDMADP_NET_UPPER);
	machine_free(machine);
}

static void health_follows_the_port(void **state)
{
	struct machine *machine = machine_scanned(soft, "soft");

	(void)state;
	ASSERT_HEALTH(machine, "rxe0", "ok rxe0 port 1 is '4: ACTIVE'");
	ASSERT_HEALTH(machine, "rxe1", "link rxe1 port 1 is '1: DOWN'");
	fixture_write(machine->root, "sys/class/net/eth1/flags", "0x1002");
	ASSERT_HEALTH(machine, "rxe1",
		      "link rxe1 port 1 is '1: DOWN': interface 'eth1' is administratively down; "
		      "'ip link set eth1 up' changes that");
	machine_free(machine);
}

static void a_device_that_is_gone_is_not_its_successor(void **state)
{
	struct machine *machine = machine_scanned(soft, "soft");

	(void)state;
	fixture_delete(machine->root, "sys/class/infiniband/rxe0");
	fixture_write(machine->root, "sys/class/infiniband_verbs/uverbs0/ibdev", "siw0");
	ASSERT_HEALTH(machine, "rxe0", "gone 'rxe0' does not exist");
	fixture_write(machine->root, "sys/class/infiniband_verbs/uverbs2/ibdev", "rxe9");
	ASSERT_HEALTH(machine, "siw0", "files its uverbs device belongs to 'rxe9' by now");
	machine_free(machine);
}

static const char *identity_of(struct machine *machine, const char *id)
{
	machine_scan(machine);
	return machine_device(machine, id)->identity;
}

static void a_guid_that_is_none_identifies_nothing(void **state)
{
	static const char *const contents[] = {"", "rubbish", "5054:00ff", "5054 00ff fe00 0001",
					       "0000:0000:0000:0000"};
	struct machine *machine = machine_scanned(soft, "soft");

	(void)state;
	assert_string_equal(identity_of(machine, "rxe0"), "5054:00ff:fe00:0001");
	for (gsize i = 0; i < G_N_ELEMENTS(contents); i++) {
		fixture_write(machine->root, "sys/class/infiniband/rxe0/node_guid", contents[i]);
		assert_string_equal(identity_of(machine, "rxe0"), "rxe0");
	}
	machine_free(machine);
}

static void match_knows_the_drivers(void **state)
{
	struct machine *machine = machine_scanned(soft, "soft");
	const struct rdmadp_device *rxe = machine_device(machine, "rxe0");
	const struct rdmadp_device *siw = machine_device(machine, "siw0");

	(void)state;
	assert_int_equal(soft->match(rxe, "driver", "rdma_rxe"), 1);
	assert_int_equal(soft->match(rxe, "driver", "rxe"), 1);
	assert_int_equal(soft->match(siw, "driver", "rxe"), 0);
	assert_int_equal(soft->match(siw, "driver", "siw"), 1);
	assert_int_equal(soft->match(siw, "node_guid", "5054:00ff:fe00:0007"), 1);
	assert_int_equal(soft->match(siw, "node_guid", "5054:00FF:FE00:0007"), 1);
	assert_int_equal(soft->match(siw, "vendor", "15b3"), -EINVAL);
	machine_free(machine);
}

static int load(void **state)
{
	g_autoptr(GError) error = NULL;

	(void)state;
	soft = module_load(BINARY_DIR "/lib/rdmadp/backends", "soft", &error);
	if (!soft)
		print_error("%s\n", error->message);
	return soft ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_are_described_as_expected),
		cmocka_unit_test(real_adapters_are_not_its_business),
		cmocka_unit_test(a_bond_above_the_interface_counts),
		cmocka_unit_test(health_follows_the_port),
		cmocka_unit_test(a_device_that_is_gone_is_not_its_successor),
		cmocka_unit_test(a_guid_that_is_none_identifies_nothing),
		cmocka_unit_test(match_knows_the_drivers),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
