/* SPDX-License-Identifier: Apache-2.0 */
#include "model/inventory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/device_builder.h"

static void append_entries(GString *text, char sign, GPtrArray *entries)
{
	for (guint i = 0; i < entries->len; i++) {
		const struct inventory_entry *entry = entries->pdata[i];

		g_string_append_printf(text, "%s%c%s", text->len > 0 ? " " : "", sign,
				       device_id(entry->known));
	}
}

/* One scan of the bus; "+added -removed ~changed !double" by id. */
static char *scan(Inventory *inventory, const char *bus, const char *const *words)
{
	g_autoptr(GPtrArray) devices = device_build_all(words);
	g_autoptr(GString) text = g_string_new(NULL);
	struct inventory_change change;

	inventory_update(inventory, bus, devices, &change);
	append_entries(text, '+', change.added);
	append_entries(text, '-', change.removed);
	append_entries(text, '~', change.changed);
	for (guint i = 0; i < change.doubles->len; i++)
		g_string_append_printf(text, "%s!%s", text->len > 0 ? " " : "",
				       device_id(change.doubles->pdata[i]));
	inventory_change_clear(&change);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static void expect_scan(Inventory *inventory, const char *bus, const char *const *words,
			const char *expected)
{
	g_autofree char *text = scan(inventory, bus, words);

	assert_string_equal(text, expected);
}

#define SCAN(inventory, expected, ...)                                                             \
	expect_scan(inventory, "pci", (const char *const[]){__VA_ARGS__, NULL}, expected)

static void a_scan_tells_what_changed(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();

	SCAN(inventory, "", NULL);
	SCAN(inventory, "+a +b", "b", "a");
	SCAN(inventory, "", "a", "b");
	SCAN(inventory, "~b", "a", "b driver=d");
	SCAN(inventory, "+c -a -b", "c");
	SCAN(inventory, "+a -c", "a");
	SCAN(inventory, "+b +c", "a", "b driver=d", "c");
}

/* On the bus 'pci'; NULL if no present device has the id. */
static const struct inventory_entry *find_id(const Inventory *inventory, const char *id)
{
	g_autoptr(GPtrArray) entries = inventory_list(inventory, "pci");

	for (guint i = 0; i < entries->len; i++) {
		const struct inventory_entry *entry = g_ptr_array_index(entries, i);

		if (strcmp(device_id(entry->known), id) == 0)
			return entry;
	}
	return NULL;
}

static void buses_are_apart(G_GNUC_UNUSED void **state)
{
	static const char *const one[] = {"a", NULL};
	static const char *const none[] = {NULL};
	g_autoptr(Inventory) inventory = inventory_new();
	g_autoptr(GPtrArray) unknown = inventory_list(inventory, "soft");

	assert_int_equal(unknown->len, 0);
	expect_scan(inventory, "pci", one, "+a");
	expect_scan(inventory, "ub", one, "+a");
	expect_scan(inventory, "ub", none, "-a");
	assert_string_equal(inventory_find(inventory, "pci", "a")->bus, "pci");
	assert_true(inventory_find(inventory, "pci", "a")->present);
	assert_false(inventory_find(inventory, "ub", "a")->present);
	assert_null(inventory_find(inventory, "soft", "a"));
}

static void entries_are_listed_by_id_and_found_by_both_names(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();
	g_autoptr(GPtrArray) list = NULL;
	const struct inventory_entry *first, *second;

	SCAN(inventory, "+1 +2 +3", "2 identity=x", "3 identity=a", "1 identity=y");
	SCAN(inventory, "-3", "2 identity=x", "1 identity=y");
	list = inventory_list(inventory, "pci");
	assert_int_equal(list->len, 2);
	first = list->pdata[0];
	second = list->pdata[1];
	assert_string_equal(device_identity(first->known), "y");
	assert_string_equal(device_identity(second->known), "x");
	assert_ptr_equal(inventory_find(inventory, "pci", "x"), second);
	assert_ptr_equal(find_id(inventory, "1"), first);
	assert_null(find_id(inventory, "3"));
	assert_null(find_id(inventory, "y"));
	assert_non_null(inventory_find(inventory, "pci", "a"));
}

static void an_identity_may_get_another_id(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();

	SCAN(inventory, "+00001", "00001 identity=guid-1");
	SCAN(inventory, "~00007", "00007 identity=guid-1");
	SCAN(inventory, "+00001", "00007 identity=guid-1", "00001 identity=guid-2");
	assert_string_equal(device_id(inventory_find(inventory, "pci", "guid-1")->known), "00007");
}

static void the_second_of_an_identity_is_left_out(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();

	SCAN(inventory, "+1 +3 !2", "3", "2 identity=x", "1 identity=x");
	SCAN(inventory, "!2", "3", "2 identity=x", "1 identity=x");
	assert_null(find_id(inventory, "2"));
}

/* The identity under which the device with the id is known. */
static void assert_known_as(const Inventory *inventory, const char *id, const char *identity)
{
	const struct inventory_entry *entry = find_id(inventory, id);

	assert_non_null(entry);
	assert_string_equal(device_identity(entry->known), identity);
	assert_string_equal(device_identity(entry->reported), identity);
}

static void what_cannot_be_read_for_a_moment_makes_no_other_device(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();

	SCAN(inventory, "+1 +2", "1 identity=guid-1", "2 identity=guid-2");
	SCAN(inventory, "", "1", "2 identity=guid-2");
	assert_known_as(inventory, "1", "guid-1");
	SCAN(inventory, "-1", "2 identity=guid-2");
	SCAN(inventory, "+1", "1", "2");
	assert_known_as(inventory, "1", "guid-1");
	assert_known_as(inventory, "2", "guid-2");
	SCAN(inventory, "", "1 identity=guid-1", "2 identity=guid-2");
	assert_known_as(inventory, "2", "guid-2");
}

static void two_that_show_the_same_for_a_while_stay_what_they_are(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();

	SCAN(inventory, "+1", "1 identity=guid");
	SCAN(inventory, "+2", "1 identity=guid/0", "2 identity=guid/1");
	assert_known_as(inventory, "1", "guid");
	SCAN(inventory, "-1", "2 identity=guid/1");
	/* It is alone now, but not the one that was. */
	SCAN(inventory, "", "2 identity=guid");
	assert_known_as(inventory, "2", "guid/1");
}

static void one_that_shows_more_than_at_first_stays_what_it_is(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();

	SCAN(inventory, "+1", "1");
	SCAN(inventory, "", "1 identity=guid-1");
	assert_known_as(inventory, "1", "1");
	/* Unless it was away. */
	SCAN(inventory, "-1", NULL);
	SCAN(inventory, "+1", "1 identity=guid-2");
	assert_known_as(inventory, "1", "guid-2");
}

static void another_device_with_the_same_id_is_another_one(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();

	SCAN(inventory, "+1", "1 identity=guid-1");
	SCAN(inventory, "+1 -1", "1 identity=guid-2");
	/* The first one is back under another id, the second one cannot be read. */
	SCAN(inventory, "+3", "3 identity=guid-1", "1");
	assert_known_as(inventory, "1", "guid-2");
	assert_known_as(inventory, "3", "guid-1");
	/* The first one has its id again: then the other one is not it. */
	SCAN(inventory, "+2 -1 ~1", "1 identity=guid-1", "2");
	assert_known_as(inventory, "2", "2");
}

static void what_cannot_be_read_after_a_restart_is_known(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) before = inventory_new();
	g_autoptr(Inventory) after = inventory_new();
	g_autoptr(GPtrArray) saved = NULL;

	SCAN(before, "+1 +2", "1 identity=guid-1", "2");
	saved = inventory_save(before, "pci");
	inventory_restore(after, "pci", saved);
	SCAN(after, "+1 +2", "1", "2 identity=guid-2");
	assert_known_as(after, "1", "guid-1");
	assert_known_as(after, "2", "2");
}

#define SEEN "a driver=d net=n:ib rdma=r port=1:ib:active uverbs=0"

static void what_moved_to_a_pod_stays_known(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();
	const struct inventory_entry *entry;

	SCAN(inventory, "+a", SEEN);
	SCAN(inventory, "~a", "a driver=d elsewhere rdma=r port=1:ib:active uverbs=0");
	entry = inventory_find(inventory, "pci", "a");
	assert_int_equal(device_abi(entry->reported)->n_netdevs, 0);
	assert_int_equal(device_abi(entry->known)->n_netdevs, 1);
	SCAN(inventory, "", "a driver=d elsewhere rdma=r port=1:ib:active uverbs=0");
	assert_int_equal(device_abi(entry->known)->n_netdevs, 1);
	SCAN(inventory, "~a", "a driver=d net=n2:ib rdma=r port=1:ib:active uverbs=0");
	assert_string_equal(device_abi(entry->known)->netdevs[0]->name, "n2");
	assert_int_equal(device_abi(entry->known)->n_netdevs, 1);
}

static void scans_that_miss_it_do_not_make_it_forgotten(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();
	const struct inventory_entry *entry;

	SCAN(inventory, "+a", SEEN);
	SCAN(inventory, "-a", NULL);
	SCAN(inventory, "", NULL);
	entry = inventory_find(inventory, "pci", "a");
	assert_int_equal(entry->misses, 2);
	SCAN(inventory, "+a", "a driver=d rdma=r port=1:ib:active uverbs=0");
	assert_int_equal(entry->misses, 0);
	assert_int_equal(device_abi(entry->known)->n_netdevs, 1);
}

static void what_never_comes_back_is_forgotten(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) inventory = inventory_new();
	int scans = 0;

	SCAN(inventory, "+a", SEEN);
	SCAN(inventory, "-a", NULL);
	for (; scans < 1000 && inventory_find(inventory, "pci", "a") != NULL; scans++)
		SCAN(inventory, "", NULL);
	assert_in_range(scans, 20, 200);
	SCAN(inventory, "+a", "a driver=d");
}

static void a_restart_forgets_nothing(G_GNUC_UNUSED void **state)
{
	g_autoptr(Inventory) before = inventory_new();
	g_autoptr(Inventory) after = inventory_new();
	g_autoptr(GPtrArray) saved = NULL;
	g_autoptr(GPtrArray) restored = NULL;

	SCAN(before, "+a +b", SEEN, "b driver=d net=m");
	SCAN(before, "-b ~a", "a driver=d elsewhere");
	saved = inventory_save(before, "pci");
	assert_int_equal(saved->len, 2);
	inventory_restore(after, "pci", saved);
	restored = inventory_list(after, "pci");
	assert_int_equal(restored->len, 0);
	SCAN(after, "+a +b", "a driver=d elsewhere rdma=r uverbs=0", "b driver=d");
	assert_int_equal(device_abi(inventory_find(after, "pci", "a")->known)->n_netdevs, 1);
	assert_int_equal(device_abi(inventory_find(after, "pci", "b")->known)->n_netdevs, 1);
}

static void what_a_scan_has_found_is_not_overwritten(G_GNUC_UNUSED void **state)
{
	static const char *const words[] = {"a driver=d net=old", NULL};
	g_autoptr(Inventory) inventory = inventory_new();
	g_autoptr(GPtrArray) saved = device_build_all(words);

	SCAN(inventory, "+a", "a driver=d net=new");
	inventory_restore(inventory, "pci", saved);
	assert_string_equal(
		device_abi(inventory_find(inventory, "pci", "a")->known)->netdevs[0]->name, "new");
	inventory_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scan_tells_what_changed),
		cmocka_unit_test(buses_are_apart),
		cmocka_unit_test(entries_are_listed_by_id_and_found_by_both_names),
		cmocka_unit_test(an_identity_may_get_another_id),
		cmocka_unit_test(the_second_of_an_identity_is_left_out),
		cmocka_unit_test(what_cannot_be_read_for_a_moment_makes_no_other_device),
		cmocka_unit_test(two_that_show_the_same_for_a_while_stay_what_they_are),
		cmocka_unit_test(one_that_shows_more_than_at_first_stays_what_it_is),
		cmocka_unit_test(another_device_with_the_same_id_is_another_one),
		cmocka_unit_test(what_cannot_be_read_after_a_restart_is_known),
		cmocka_unit_test(what_moved_to_a_pod_stays_known),
		cmocka_unit_test(scans_that_miss_it_do_not_make_it_forgotten),
		cmocka_unit_test(what_never_comes_back_is_forgotten),
		cmocka_unit_test(a_restart_forgets_nothing),
		cmocka_unit_test(what_a_scan_has_found_is_not_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
