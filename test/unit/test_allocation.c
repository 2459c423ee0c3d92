/* SPDX-License-Identifier: Apache-2.0 */
#include "model/allocation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void devices_are_sorted_and_there_once(G_GNUC_UNUSED void **state)
{
	static const char *const added[] = {"/dev/c", "/dev/a", "/dev/b", "/dev/a", "/dev/a"};
	static const char *const expected[] = {"/dev/a", "/dev/b", "/dev/c"};
	g_autoptr(Allocation) allocation = allocation_new();

	for (gsize i = 0; i < G_N_ELEMENTS(added); i++)
		allocation_add_device(allocation, added[i]);
	allocation_finish(allocation);
	assert_int_equal(allocation->devices->len, G_N_ELEMENTS(expected));
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		const struct allocation_device *device = allocation->devices->pdata[i];

		assert_string_equal(device->host_path, expected[i]);
		assert_string_equal(device->container_path, expected[i]);
		assert_string_equal(device->permissions, "rw");
	}
}

static void variables_are_sorted_and_mounts_stay_in_order(G_GNUC_UNUSED void **state)
{
	g_autoptr(Allocation) allocation = allocation_new();
	const struct allocation_mount *mount;
	const struct allocation_pair *pair;

	allocation_add_env(allocation, "B", "2");
	allocation_add_env(allocation, "A", "1");
	allocation_add_mount(allocation, "/z", "/in/z", TRUE);
	allocation_add_mount(allocation, "/a", "/in/a", FALSE);
	allocation_finish(allocation);
	pair = allocation->envs->pdata[0];
	assert_string_equal(pair->key, "A");
	assert_string_equal(pair->value, "1");
	mount = allocation->mounts->pdata[0];
	assert_string_equal(mount->host_path, "/z");
	assert_string_equal(mount->container_path, "/in/z");
	assert_true(mount->read_only);
	mount = allocation->mounts->pdata[1];
	assert_false(mount->read_only);
}

static void an_empty_answer_stays_empty(G_GNUC_UNUSED void **state)
{
	g_autoptr(Allocation) allocation = allocation_new();

	allocation_finish(allocation);
	assert_int_equal(allocation->devices->len, 0);
	assert_int_equal(allocation->annotations->len, 0);
	assert_int_equal(allocation->cdi_names->len, 0);
	allocation_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_sorted_and_there_once),
		cmocka_unit_test(variables_are_sorted_and_mounts_stay_in_order),
		cmocka_unit_test(an_empty_answer_stays_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
