/* SPDX-License-Identifier: Apache-2.0 */
#include "model/misplaced.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/config_builder.h"
#include "support/device_builder.h"

static GPtrArray *machine_new(void)
{
	static const char *const words[] = {
		"0000:12:00.0 pf rdma=mlx5_0 net=ibs1:ib",
		("0000:12:00.1 vf parent=0000:12:00.0 @pf_name=ibs1 @vf_index=0 rdma=mlx5_1 "
		 "net=ibs1v0:ib"),
		"0000:3b:00.0 rdma=mlx5_2 net=ens1:eth",
	};
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		g_ptr_array_add(devices, device_build(words[i]));
	return devices;
}

static void names_are_known_to_another_key(void **state)
{
	static const struct {
		const char *selector, *remark;
	} rows[] = {
		{"ifNames=mlx5_1", "; 'mlx5_1' is a value for rdmaDevices"},
		{"rdmaDevices=ens1", "; 'ens1' is a value for ifNames"},
		{"rdmaDevices=ibs1v0", "; 'ibs1v0' is a value for ifNames"},
		{"pfNames=ibs1v0#0", "; 'ibs1v0' is a value for ifNames"},
		{"rootDevices=0000:12:00.1", "; '0000:12:00.1' is a value for addresses"},
		{"ifNames=mlx5_1,mlx5_2,no",
		 "; 'mlx5_1' is a value for rdmaDevices; 'mlx5_2' is a value for rdmaDevices"},
		/* its own key knows it, or none */
		{"pfNames=ibs1#8-15", NULL},
		{"ifNames=ibs1", NULL},
		{"ifNames=ibs", NULL},
		{"vendors=ibs1", NULL},
	};
	g_autoptr(GPtrArray) devices = machine_new();

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(ResourceConfig) config = config_build(rows[i].selector);
		g_autoptr(GArray) lists = selector_lists(config->selectors->pdata[0]);
		g_autofree char *remark =
			misplaced_remark(devices, &g_array_index(lists, struct selector_list, 0));

		if (rows[i].remark == NULL)
			assert_null(remark);
		else
			assert_string_equal(remark, rows[i].remark);
	}
}

/* ifNames of physical functions, and ids of their virtual ones. */
static void those_that_pass_other_lists_may_know_it_otherwise(void **state)
{
	static const char *const values[] = {"ibs1", NULL};
	const struct selector_list list = {SELECTOR_IF_NAMES, NULL, values};
	g_autoptr(GPtrArray) devices = machine_new();
	g_autofree char *remark = NULL;

	(void)state;
	g_ptr_array_remove_index(devices, 0);
	remark = misplaced_remark(devices, &list);
	assert_string_equal(remark, "; 'ibs1' is a value for pfNames");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_known_to_another_key),
		cmocka_unit_test(those_that_pass_other_lists_may_know_it_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
