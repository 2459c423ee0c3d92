/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "edge/module.h"
#include "support/dump.h"
#include "support/fixture.h"
#include "support/machine.h"
#include "support/opens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct rdmadp_backend *ub;

static void machines_are_described_as_expected(void **state)
{
	static const char *const names[] = {"in-pods", "two-sockets", "ub-a11", "ub-bond",
					    "ub-odd"};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_strconcat(MACHINES, names[i], ".ub.expected", NULL);
		struct machine *machine = machine_scanned(ub, names[i]);
		g_autofree char *dump = machine_dump(machine);
		g_autoptr(GError) error = NULL;

		if (!dump_expect(dump, file, &error))
			fail_msg("%s", error->message);
		machine_free(machine);
	}
}

static void odd_entities_are_said_once(void **state)
{
	struct machine *machine = machine_scanned(ub, "ub-odd");
	g_autofree char *log = machine_take_log(machine);
	g_autofree char *again = NULL;

	(void)state;
	machine_scan(machine);
	again = machine_take_log(machine);
	assert_string_equal(again, "");
	assert_non_null(strstr(log, "'cluster' in bus/ub/devices is no entity: skipped"));
	assert_non_null(strstr(log, "'00027': attribute 'class_code' is 'network', not "
				    "hexadecimal: taken as 0"));
	assert_non_null(strstr(log, "'00028': attribute 'class_code' cannot be read (Is a "
				    "directory): taken as 0"));
	machine_free(machine);
}

static void a_machine_without_the_bus_has_no_devices(void **state)
{
	struct machine *machine = machine_scanned(ub, "f01-roce-no-issm");
	g_autofree char *log = machine_take_log(machine);

	(void)state;
	assert_int_equal(machine->devices->len, 0);
	assert_string_equal(log, "");
	machine_free(machine);
}

static void what_has_effects_is_not_read(void **state)
{
	static const char *const never[] = {"config", "resource", "instance", "numa", "ubc"};
	struct machine *machine = machine_scanned(ub, "ub-a11");
	int entity = opens_watch(machine->sysfs_root, "bus/ub/devices/0000f");
	int bus = opens_watch(machine->sysfs_root, "bus/ub");
	g_autoptr(GHashTable) of_entity = NULL;
	g_autoptr(GHashTable) of_bus = NULL;

	(void)state;
	machine_scan(machine);
	of_entity = opens_end(entity);
	of_bus = opens_end(bus);
	assert_true(g_hash_table_contains(of_entity, "guid"));
	for (gsize i = 0; i < G_N_ELEMENTS(never); i++) {
		assert_false(g_hash_table_contains(of_entity, never[i]));
		assert_false(g_hash_table_contains(of_bus, never[i]));
	}
	machine_free(machine);
}

static void health_follows_ports_and_the_guid(void **state)
{
	struct machine *machine = machine_scanned(ub, "ub-a11");

	(void)state;
	ASSERT_HEALTH(machine, "0000f", "ok hrn5_0 port 1 is '4: ACTIVE'");
	fixture_write(machine->root, "sys/class/infiniband/hrn5_0/ports/1/state", "1: DOWN");
	ASSERT_HEALTH(machine, "0000f", "link hrn5_0 port 1 is '1: DOWN'");
	fixture_write(machine->root, "sys/devices/ub0/0000f/guid", "rubbish");
	ASSERT_HEALTH(machine, "0000f", "link hrn5_0 port 1 is '1: DOWN'");
	fixture_write(machine->root, "sys/devices/ub0/0000f/guid",
		      "cc08-8200-0-1-000000-00000000000000ff");
	ASSERT_HEALTH(machine, "0000f", "gone '0000f' is another entity by now");
	fixture_delete(machine->root, "sys/bus/ub/devices/0000f");
	ASSERT_HEALTH(machine, "0000f", "gone '0000f' is not on the bus");
	ASSERT_HEALTH(machine, "00012", "files no driver is bound; load hisdk5");
	machine_free(machine);
}

static void one_active_port_of_several_is_enough(void **state)
{
	struct machine *machine = machine_scanned(ub, "ub-odd");

	(void)state;
	ASSERT_HEALTH(machine, "00020", "ok hrn5_0 port 1 is '4: ACTIVE'");
	ASSERT_HEALTH(machine, "00026", "ok hrn5_2 is in another network namespace");
	fixture_write(machine->root, "sys/class/infiniband/hrn5_0/ports/1/state", "1: DOWN");
	ASSERT_HEALTH(machine, "00020", "link hrn5_0 port 1 is '1: DOWN'");
	fixture_write(machine->root, "sys/class/infiniband/hrn5_1/ports/1/state", "4: ACTIVE");
	ASSERT_HEALTH(machine, "00020", "ok hrn5_1 port 1 is '4: ACTIVE'");
	machine_free(machine);
}

static void match_compares_numbers_by_value(void **state)
{
	static const struct {
		const char *key, *value;
		int expected;
	} cases[] = {
		{"vendor", "cc08", 1},
		{"vendor", "0xCC08", 1},
		{"vendor", "19e5", 0},
		{"device", "8200", 1},
		{"device", "0x8200", 1},
		{"type", "0x1", 1},
		{"type", "1", 1},
		{"type", "0x2", 0},
		{"type", "one", -EINVAL},
		{"class_code", "0x0102", 1},
		{"class_code", "0002", 0},
		{"guid", "cc08-8200-0-1-000000-000000000000000f", 1},
		{"eid", "15", 1},
		{"eid", "0x0f", -EINVAL},
		{"entity_idx", "0", 1},
		{"driver", "hisdk5", 1},
		{"driver", "hns", 0},
		{"vendor_assumed", "true", 0},
		{"driver", "hiroce5", 1},
		{"guid", "CC08-8200-0-1-000000-000000000000000F", 1},
		{"guid", "cc08-8200-0-1-000000-0000000000000010", 0},
		{"config", "0", -EINVAL},
	};
	struct machine *machine = machine_scanned(ub, "ub-a11");

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		assert_int_equal(
			ub->match(machine_device(machine, "0000f"), cases[i].key, cases[i].value),
			cases[i].expected);
	machine_free(machine);
}

static void a_missing_vendor_counts_as_the_only_one(void **state)
{
	struct machine *machine = machine_scanned(ub, "ub-odd");
	const struct rdmadp_device *device = machine_device(machine, "00020");

	(void)state;
	assert_int_equal(ub->match(device, "vendor", "19e5"), 1);
	assert_int_equal(ub->match(device, "vendor", "cc08"), 0);
	assert_int_equal(ub->match(device, "vendor_assumed", "true"), 1);
	assert_int_equal(device->numa_node, 1);
	machine_free(machine);
}

static int load(void **state)
{
	g_autoptr(GError) error = NULL;

	(void)state;
	ub = module_load(BINARY_DIR "/lib/rdmadp/backends", "ub", &error);
	if (!ub)
		print_error("%s\n", error->message);
	return ub ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_are_described_as_expected),
		cmocka_unit_test(odd_entities_are_said_once),
		cmocka_unit_test(a_machine_without_the_bus_has_no_devices),
		cmocka_unit_test(what_has_effects_is_not_read),
		cmocka_unit_test(health_follows_ports_and_the_guid),
		cmocka_unit_test(one_active_port_of_several_is_enough),
		cmocka_unit_test(match_compares_numbers_by_value),
		cmocka_unit_test(a_missing_vendor_counts_as_the_only_one),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
