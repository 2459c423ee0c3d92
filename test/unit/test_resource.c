/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/resource_builder.h"

#define F01                                                                                        \
	"0000:3b:00.0 driver=mlx5_core numa=0 @vendor=15b3 rdma=mlx5_0 port=1:eth:active "         \
	"net=ens1np0:eth "

static void without_rdma_ucm_nothing_is_offered_until_it_is_there(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("hcaMax=2");
	g_autoptr(Resource) lenient = resource_build("hcaMax=2 rdma_cm=optional");

	FOUND(resource, F01 "uverbs=0");
	EXPECT_SLOTS(resource, "");
	EXPECT_TROUBLE(resource, "its only HCA cannot be used: rdma_cm missing ('0000:3b:00.0'), "
				 "load the module rdma_ucm (modprobe rdma_ucm)");
	FOUND(resource, F01 "uverbs=0 cm");
	EXPECT_SLOTS(resource, "HH");
	EXPECT_TROUBLE(resource, "none");
	FOUND(lenient, F01 "uverbs=0");
	EXPECT_SLOTS(lenient, "HH");
	EXPECT_FILES(lenient, "uverbs0");
}

static void a_partial_boot_is_pending(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("hcaMax=2");

	FOUND(resource, F01 "cm");
	EXPECT_SLOTS(resource, "");
	EXPECT_FILES(resource, "");
	FOUND(resource, F01 "uverbs=0 cm");
	EXPECT_SLOTS(resource, "HH");
	EXPECT_FILES(resource, "rdma_cm uverbs0");
}

#define F04_A "0000:3b:00.0 rdma=mlx5_0 port=1:ib:active net=ib0:ib uverbs=0 umad=0 issm=0 cm"
#define F04_B "0000:5e:00.0 rdma=mlx5_1 port=1:ib:active net=ib1:ib uverbs=1 umad=1 cm"

static void a_missing_issm_is_bad_only_where_it_is_asked_for(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) plain = resource_build("hcaMax=2");
	g_autoptr(Resource) strict = resource_build("hcaMax=2 umad=required issm=required");
	g_autoptr(Snapshot) snapshot = NULL;

	FOUND(plain, F04_A, F04_B);
	EXPECT_SLOTS(plain, "HH");
	EXPECT_FILES(plain, "rdma_cm uverbs0 uverbs1");
	FOUND(strict, F04_A, F04_B);
	/* it may still come: for how long that is waited is not the resource's business */
	EXPECT_SLOTS(strict, "HH");
	resource_set_health(strict, "0000:5e:00.0", FALSE, "files: issm is missing");
	EXPECT_SLOTS(strict, "HU");
	EXPECT_FILES(strict, "issm0 rdma_cm umad0 uverbs0");
	snapshot = resource_snapshot(strict);
	assert_int_equal(snapshot->notes->len, 1);
	assert_string_equal(snapshot->notes->pdata[0],
			    "'0000:5e:00.0' is left out: issm for mlx5_1 port 1 missing");
}

static void a_late_driver_is_waited_for(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("hcaMax=2");

	FOUND(resource, "0000:3b:00.0 note=no_driver_is_bound;_load_hns3");
	EXPECT_SLOTS(resource, "");
	EXPECT_TROUBLE(resource, "its only HCA cannot be used: no driver is bound; load hns3 "
				 "('0000:3b:00.0')");
	FOUND(resource, "0000:3b:00.0 net=ens1np0:eth");
	EXPECT_SLOTS(resource, "");
	FOUND(resource, F01);
	EXPECT_SLOTS(resource, "");
	FOUND(resource, F01 "uverbs=0");
	EXPECT_SLOTS(resource, "");
	FOUND(resource, F01 "uverbs=0 cm");
	EXPECT_SLOTS(resource, "HH");
}

static void an_hca_comes_back_with_other_numbers(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("hcaMax=2");

	FOUND(resource, "a rdma=mlx5_0 uverbs=0 cm", "b rdma=mlx5_1 uverbs=1 cm");
	EXPECT_FILES(resource, "rdma_cm uverbs0 uverbs1");
	FOUND(resource, "a rdma=mlx5_0 uverbs=0 cm");
	EXPECT_FILES(resource, "rdma_cm uverbs0");
	EXPECT_SLOTS(resource, "HH");
	assert_true(resource_set_health(resource, "b", FALSE, "gone: not on the bus"));
	EXPECT_SLOTS(resource, "HU");
	FOUND(resource, "a rdma=mlx5_0 uverbs=0 cm", "b rdma=mlx5_9 uverbs=7 cm");
	EXPECT_FILES(resource, "rdma_cm uverbs0 uverbs7");
	assert_true(resource_set_health(resource, "b", TRUE, "ignored"));
	assert_null(resource_find(resource, "b")->reason);
	EXPECT_SLOTS(resource, "HH");
	assert_int_equal(resource_hcas(resource)->len, 2);
}

static void ordinals_follow_the_first_discovery(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("");
	g_autoptr(GPtrArray) shuffled =
		g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);

	g_ptr_array_add(shuffled, device_build("0000:5e:00.0 identity=x"));
	g_ptr_array_add(shuffled, device_build("0000:3b:00.0 identity=y"));
	resource_set_devices(resource, shuffled);
	assert_int_equal(resource_find(resource, "y")->ordinal, 0);
	assert_int_equal(resource_find(resource, "x")->ordinal, 1);
	FOUND(resource, "0000:01:00.0 identity=z", "0000:99:00.0 identity=y");
	assert_int_equal(resource_find(resource, "z")->ordinal, 2);
	assert_int_equal(resource_find(resource, "y")->ordinal, 0);
	assert_string_equal(device_id(resource_find(resource, "y")->device), "0000:99:00.0");
	assert_true(resource_find(resource, "y")->present);
	assert_false(resource_find(resource, "x")->present);
	assert_null(resource_find(resource, "0000:99:00.0"));
	assert_false(resource_set_health(resource, "nobody", TRUE, NULL));
}

static void a_saved_state_keeps_ordinals_and_slots(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) before = resource_build("");
	g_autoptr(Resource) after = resource_build("");
	g_autoptr(GPtrArray) saved = NULL;

	FOUND(before, "b rdma=mlx5_1 uverbs=1 cm");
	FOUND(before, "a rdma=mlx5_0 uverbs=0 cm", "b rdma=mlx5_1 cm");
	resource_set_health(before, "a", FALSE, "link: port 1 is DOWN");
	saved = resource_save(before);
	resource_restore(after, saved);
	assert_int_equal(resource_find(after, "b")->ordinal, 0);
	assert_int_equal(resource_find(after, "a")->ordinal, 1);
	assert_string_equal(hca_problem(resource_find(after, "a")), "link: port 1 is DOWN");
	EXPECT_SLOTS(after, "HU");
	EXPECT_FILES(after, "rdma_cm uverbs0");
	FOUND(after, "a rdma=mlx5_0 uverbs=0 cm", "b rdma=mlx5_1 uverbs=1 cm");
	assert_int_equal(resource_find(after, "b")->ordinal, 0);
	EXPECT_FILES(after, "rdma_cm uverbs0 uverbs1");
	saved_hca_free(NULL);
}

static void ids_must_be_known(G_GNUC_UNUSED void **state)
{
	static const char *const ids[] = {"rdma/r-0", "rdma/r-1"};
	g_autoptr(Resource) resource = resource_build("");
	g_autoptr(Snapshot) snapshot = NULL;
	g_autoptr(GError) unknown = NULL;
	g_autoptr(GError) empty = NULL;

	resource_found_n(resource, 1);
	snapshot = resource_snapshot(resource);
	assert_null(resource_compose(resource_config(resource), snapshot, ids, 2, NULL, &unknown));
	assert_string_equal(unknown->message, "'rdma/r' has no device 'rdma/r-1'");
	assert_null(resource_compose(resource_config(resource), snapshot, ids, 0, NULL, &empty));
	assert_string_equal(empty->message, "'rdma/r': no device was asked for");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_rdma_ucm_nothing_is_offered_until_it_is_there),
		cmocka_unit_test(a_partial_boot_is_pending),
		cmocka_unit_test(a_missing_issm_is_bad_only_where_it_is_asked_for),
		cmocka_unit_test(a_late_driver_is_waited_for),
		cmocka_unit_test(an_hca_comes_back_with_other_numbers),
		cmocka_unit_test(ordinals_follow_the_first_discovery),
		cmocka_unit_test(a_saved_state_keeps_ordinals_and_slots),
		cmocka_unit_test(ids_must_be_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
