/* SPDX-License-Identifier: Apache-2.0 */
#include "model/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/resource_builder.h"

static void slots_come_with_the_first_complete_hca(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *config;
		guint n;
		const char *slots;
	} table[] = {
		{"", 0, ""},	       {"", 1, "H"},
		{"", 3, "HHH"},	       {"hcaMax=2", 0, ""},
		{"hcaMax=2", 1, "HH"}, {"hcaMax=2", 3, "HH"},
		{"hcaMax=0", 3, ""},   {"hcaMax=5", 1, "HHHHH"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(Resource) resource = resource_build(table[i].config);

		resource_found_n(resource, table[i].n);
		EXPECT_SLOTS(resource, table[i].slots);
	}
}

static void slots_are_numbered_and_found_by_id(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("hcaMax=12");
	g_autoptr(Snapshot) snapshot = NULL;

	resource_found_n(resource, 1);
	snapshot = resource_snapshot(resource);
	assert_string_equal(snapshot->resource, "rdma/r");
	for (guint i = 0; i < 12; i++) {
		g_autofree char *id = g_strdup_printf("rdma/r-%u", i);

		assert_ptr_equal(snapshot_find(snapshot, id), snapshot->slots->pdata[i]);
	}
}

static void slots_never_shrink(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("");

	resource_found_n(resource, 2);
	EXPECT_SLOTS(resource, "HH");
	resource_found_n(resource, 1);
	EXPECT_SLOTS(resource, "HH");
	resource_set_health(resource, "h1", FALSE, "gone");
	EXPECT_SLOTS(resource, "HU");
	resource_found_n(resource, 0);
	resource_set_health(resource, "h0", FALSE, "gone");
	EXPECT_SLOTS(resource, "UU");
	resource_found_n(resource, 3);
	EXPECT_SLOTS(resource, "UUH");
}

static const struct {
	const char *config;
	guint n;
	const char *bad; /* ordinals */
	const char *slots;
} policies[] = {
	{"hcaMax=4", 1, "", "HHHH"},
	{"hcaMax=4", 1, "0", "UUUU"},
	{"hcaMax=4", 2, "0", "UHHH"},
	{"hcaMax=4", 2, "1", "HUHH"},
	{"hcaMax=4", 2, "01", "UUUU"},
	{"hcaMax=4", 4, "3", "HHHU"},
	{"hcaMax=4", 8, "5", "HUHH"},
	{"hcaMax=4", 8, "15", "HUUH"},
	{"hcaMax=4", 8, "37", "UHHU"},
	{"hcaMax=4", 8, "26", "HHUU"},
	{"hcaMax=4", 8, "0145", "UUUU"},
	{"hcaMax=4", 8, "012345", "UUUU"},
	{"hcaMax=4", 8, "01234567", "UUUU"},
	{"hcaMax=1", 8, "7", "U"},
	{"hcaMax=1", 8, "", "H"},
	{"hcaMax=0", 2, "0", ""},
	{"", 8, "17", "HUHHHHHU"},
	{"hcaMax=4 policy=anyDevice", 8, "", "HHHH"},
	{"hcaMax=4 policy=anyDevice", 8, "6", "UUUU"},
	{"hcaMax=4 policy=anyDevice", 8, "01234567", "UUUU"},
	{"hcaMax=4 policy=allDevices", 8, "", "HHHH"},
	{"hcaMax=4 policy=allDevices", 8, "0123456", "HHHH"},
	{"hcaMax=4 policy=allDevices", 8, "01234567", "UUUU"},
	{"hcaMax=4 policy=off", 8, "0", "HHHH"},
	{"hcaMax=4 policy=off", 8, "01234567", "HHHH"},
};

static void set_bad(Resource *resource, const char *ordinals)
{
	for (const char *p = ordinals; *p != '\0'; p++) {
		char identity[] = {'h', *p, '\0'};

		assert_true(resource_set_health(resource, identity, FALSE, "link"));
	}
}

static void bad_hcas_take_slots_by_policy(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(policies); i++) {
		g_autoptr(Resource) resource = resource_build(policies[i].config);

		resource_found_n(resource, policies[i].n);
		set_bad(resource, policies[i].bad);
		EXPECT_SLOTS(resource, policies[i].slots);
	}
}

#define GOOD "a rdma=mlx5_0 port=1:ib:active uverbs=0 cm"
#define VFIO "b note=bound_to_vfio-pci"
#define BARE "c"

/* A selector such as "vendors" takes the virtual machines' functions as well. */
static void devices_that_never_were_hcas_cost_no_slots(G_GNUC_UNUSED void **state)
{
	static const char *const configs[] = {"hcaMax=2", "hcaMax=2 policy=anyDevice"};
	g_autoptr(Resource) counted = resource_build("");
	g_autoptr(Snapshot) snapshot = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(configs); i++) {
		g_autoptr(Resource) resource = resource_build(configs[i]);

		resource_found(resource, (const char *const[]){VFIO, BARE, GOOD, NULL});
		EXPECT_SLOTS(resource, "HH");
	}
	resource_found(counted, (const char *const[]){VFIO, BARE, GOOD, NULL});
	EXPECT_SLOTS(counted, "H");
	snapshot = resource_snapshot(counted);
	assert_int_equal(snapshot->notes->len, 0);
	/* One of them becomes one, another ceases to be one. */
	resource_found(counted, (const char *const[]){"b rdma=mlx5_1 port=1:ib:active uverbs=1 cm",
						      BARE, GOOD, NULL});
	EXPECT_SLOTS(counted, "HH");
	resource_set_health(counted, "b", FALSE, "bound to vfio-pci");
	EXPECT_SLOTS(counted, "HU");
}

static guint n_unhealthy(const Resource *resource)
{
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource);

	return (guint)(snapshot->slots->len - snapshot_n_healthy(snapshot));
}

static void check_subset(Resource *resource, guint n, guint slots, guint subset)
{
	guint n_bad = 0;

	for (guint i = 0; i < n; i++) {
		char identity[] = {'h', (char)('0' + i), '\0'};
		gboolean bad = (subset & 1U << i) != 0;

		n_bad += bad ? 1 : 0;
		resource_set_health(resource, identity, !bad, "link");
	}
	assert_int_equal(n_unhealthy(resource), n_bad == n ? slots : MIN(n_bad, slots));
}

static void as_many_slots_are_bad_as_hcas(G_GNUC_UNUSED void **state)
{
	for (guint n = 1; n <= 8; n++) {
		for (guint slots = 1; slots <= 10; slots += 3) {
			g_autofree char *config = g_strdup_printf("hcaMax=%u", slots);
			g_autoptr(Resource) resource = resource_build(config);

			resource_found_n(resource, n);
			for (guint subset = 0; subset < 1U << n; subset++)
				check_subset(resource, n, slots, subset);
		}
	}
}

static void slots_carry_numa_nodes_if_asked_and_all_are_known(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *config;
		const char *third; /* the third device */
		int nodes[4];
	} table[] = {
		{"hcaMax=4", "c numa=1 rdma=r uverbs=2 cm", {-1, -1, -1, -1}},
		{"hcaMax=4 topology=0", "c numa=1 rdma=r uverbs=2 cm", {-1, -1, -1, -1}},
		{"hcaMax=4 topology=1", "c numa=1 rdma=r uverbs=2 cm", {0, 3, 1, 0}},
		{"hcaMax=4 topology=1", "c rdma=r uverbs=2 cm", {-1, -1, -1, -1}},
		/* what never was an HCA here has no say */
		{"hcaMax=4 topology=1", "c driver=vfio-pci", {0, 3, 0, 3}},
		{"hcaMax=4 topology=1", "c numa=1 driver=vfio-pci", {0, 3, 0, 3}},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(Resource) resource = resource_build(table[i].config);
		g_autoptr(Snapshot) snapshot = NULL;

		FOUND(resource, "a numa=0 rdma=p uverbs=0 cm", "b numa=3 rdma=q uverbs=1 cm",
		      table[i].third);
		snapshot = resource_snapshot(resource);
		assert_int_equal(snapshot->slots->len, 4);
		for (guint j = 0; j < 4; j++) {
			const struct slot *slot = snapshot->slots->pdata[j];

			assert_int_equal(slot->numa_node, table[i].nodes[j]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_come_with_the_first_complete_hca),
		cmocka_unit_test(slots_are_numbered_and_found_by_id),
		cmocka_unit_test(slots_never_shrink),
		cmocka_unit_test(bad_hcas_take_slots_by_policy),
		cmocka_unit_test(devices_that_never_were_hcas_cost_no_slots),
		cmocka_unit_test(as_many_slots_are_bad_as_hcas),
		cmocka_unit_test(slots_carry_numa_nodes_if_asked_and_all_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
