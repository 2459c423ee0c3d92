/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The first two as kubelets have written them. */
static const struct {
	const char *data;
	guint32 checksum;
} cases[] = {
	{"{\"PodDeviceEntries\":null,\"RegisteredDevices\":{\"nvidia.com/gpu\":"
	 "[\"GPU-0650a168-e770-3ea8-8ac3-8a1d419763e0\"]}}",
	 3952659280U},
	{"{\"PodDeviceEntries\":[{\"PodUID\":\"bf52b2cd-b611-4e79-86b1-280b283185c3\","
	 "\"ContainerName\":\"check\",\"ResourceName\":\"nvidia.com/gpu\","
	 "\"DeviceIDs\":{\"-1\":[\"tegra\"]},"
	 "\"AllocResp\":\"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh\"}],"
	 "\"RegisteredDevices\":{\"nvidia.com/gpu\":[\"tegra\"]}}",
	 3660592824U},
};

static guint32 checksum_of(const char *text)
{
	json_t *data = json_loads(text, 0, NULL);
	assert_non_null(data);
	guint32 checksum = sim_checksum(data);
	json_decref(data);
	return checksum;
}

static void the_checksum_is_the_kubelets(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		assert_int_equal(checksum_of(cases[i].data), cases[i].checksum);
}

/* As numbers and texts are sorted, whatever their order in the file. */
static void the_order_of_keys_does_not_matter(void **state)
{
	static const char *const same[] = {
		"{\"PodDeviceEntries\":[{\"PodUID\":\"p\",\"ContainerName\":\"c\","
		"\"ResourceName\":\"r/a\",\"DeviceIDs\":{\"2\":[\"x\"],\"10\":[\"y\"],\"-1\":[]},"
		"\"AllocResp\":\"\"}],\"RegisteredDevices\":{\"r/a\":[],\"r/b\":[\"z\",\"w\"]}}",
		"{\"RegisteredDevices\":{\"r/b\":[\"z\",\"w\"],\"r/a\":[]},"
		"\"PodDeviceEntries\":[{\"AllocResp\":\"\",\"DeviceIDs\":{\"-1\":[],\"10\":[\"y\"],"
		"\"2\":[\"x\"]},\"ResourceName\":\"r/"
		"a\",\"ContainerName\":\"c\",\"PodUID\":\"p\"}]}",
	};
	(void)state;
	assert_int_equal(checksum_of(same[0]), checksum_of(same[1]));
}

static void what_is_empty_is_not_null(void **state)
{
	static const char empty[] = "{\"PodDeviceEntries\":[],\"RegisteredDevices\":{}}";
	static const char null[] = "{\"PodDeviceEntries\":null,\"RegisteredDevices\":{}}";
	(void)state;
	assert_int_not_equal(checksum_of(empty), checksum_of(null));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_checksum_is_the_kubelets),
		cmocka_unit_test(the_order_of_keys_does_not_matter),
		cmocka_unit_test(what_is_empty_is_not_null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
