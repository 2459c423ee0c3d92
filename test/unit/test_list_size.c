/* SPDX-License-Identifier: Apache-2.0 */
#include "model/list_size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Most devices that fit into 4 MiB, as counted with a real kubelet. */
static const struct {
	gsize id_length;
	gsize no_topology, numa_0, numa_1, unhealthy_numa_1;
} table[] = {
	{8, 199728, 167772, 155344, 144631},  {12, 167772, 144631, 135300, 127100},
	{20, 127100, 113359, 107546, 102300}, {36, 85598, 79137, 76260, 73584},
	{63, 55188, 52428, 51150, 49932},
};

static void a_device_takes_the_bytes_that_the_kubelet_counts(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		gsize length = table[i].id_length;

		assert_int_equal(LIST_SIZE_LIMIT / list_size_device(length, TRUE, -1),
				 table[i].no_topology);
		assert_int_equal(LIST_SIZE_LIMIT / list_size_device(length, TRUE, 0),
				 table[i].numa_0);
		assert_int_equal(LIST_SIZE_LIMIT / list_size_device(length, TRUE, 1),
				 table[i].numa_1);
		assert_int_equal(LIST_SIZE_LIMIT / list_size_device(length, TRUE, 127),
				 table[i].numa_1);
		assert_int_equal(LIST_SIZE_LIMIT / list_size_device(length, FALSE, 1),
				 table[i].unhealthy_numa_1);
	}
}

static void long_ids_take_a_longer_length(G_GNUC_UNUSED void **state)
{
	/* 122 bytes of device need one byte of length, 128 need two. */
	assert_int_equal(list_size_device(116, TRUE, -1), 1 + 1 + (2 + 116) + (2 + 7));
	assert_int_equal(list_size_device(117, TRUE, -1), 1 + 2 + (2 + 117) + (2 + 7));
	assert_int_equal(list_size_device(128, TRUE, -1), 1 + 2 + (3 + 128) + (2 + 7));
	assert_int_equal(list_size_device(20, TRUE, 128), list_size_device(20, TRUE, 127) + 1);
}

static gsize sum_one_by_one(const char *full_name, guint n_slots, gboolean topology)
{
	gsize total = 0;

	for (guint i = 0; i < n_slots; i++) {
		g_autofree char *id = g_strdup_printf("%s-%u", full_name, i);

		total += list_size_device(strlen(id), FALSE, topology ? 1 : -1);
	}
	return total;
}

static void a_list_is_the_sum_of_its_slots(G_GNUC_UNUSED void **state)
{
	static const guint counts[] = {0, 1, 9, 10, 11, 99, 100, 101, 1000, 1001, 12345};

	for (gsize i = 0; i < G_N_ELEMENTS(counts); i++) {
		assert_int_equal(list_size_bytes("rdma/hca", counts[i], FALSE),
				 sum_one_by_one("rdma/hca", counts[i], FALSE));
		assert_int_equal(list_size_bytes("rdma/hca", counts[i], TRUE),
				 sum_one_by_one("rdma/hca", counts[i], TRUE));
	}
}

static void the_largest_number_of_slots_is_a_boundary(G_GNUC_UNUSED void **state)
{
	static const char *const names[] = {"a/b", "rdma/hca_shared_devices_a",
					    "huawei.com/rdma_shared"};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		for (gboolean topology = FALSE; topology <= TRUE; topology++) {
			guint most = list_size_max_slots(names[i], topology);

			assert_true(list_size_bytes(names[i], most, topology) <= LIST_SIZE_LIMIT);
			assert_true(list_size_bytes(names[i], most + 1, topology) >
				    LIST_SIZE_LIMIT);
		}
	}
	assert_true(list_size_max_slots("rdma/hca", TRUE) < list_size_max_slots("rdma/hca", FALSE));
}

static void a_huge_number_of_slots_does_not_overflow(G_GNUC_UNUSED void **state)
{
	assert_true(list_size_bytes("rdma/hca", G_MAXUINT, TRUE) > (gsize)30 * G_MAXUINT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_takes_the_bytes_that_the_kubelet_counts),
		cmocka_unit_test(long_ids_take_a_longer_length),
		cmocka_unit_test(a_list_is_the_sum_of_its_slots),
		cmocka_unit_test(the_largest_number_of_slots_is_a_boundary),
		cmocka_unit_test(a_huge_number_of_slots_does_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
