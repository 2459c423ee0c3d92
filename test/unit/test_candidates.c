/* SPDX-License-Identifier: Apache-2.0 */
#include "model/candidates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "support/config_builder.h"
#include "support/device_builder.h"

static const char *const intel[] = {
	"0000:0d:00.0 driver=ice @vendor=8086 @device=159b net=ens1 rdma=irdma0 port=1:eth:active",
	"0000:0d:00.1 driver=ice @vendor=8086 @device=159b net=ens2 rdma=irdma1 port=1:eth:active",
	"0000:3b:00.0 driver=mlx5_core @vendor=15b3 @device=101b net=ib0:ib rdma=mlx5_0 "
	"port=1:ib:active",
	"0000:81:00.0 driver=mlx5_core @vendor=15b3 @device=1015 net=pf0 "
	"net=eth3:eth:representor",
	NULL,
};

/* Texts are separated by '\n'. */
static const struct {
	const char *selectors;
	const char *texts;
} table[] = {
	{"vendors=8086", ""},
	{"vendors=8086 deviceIDs=0d00,b500 drivers=irdma linkTypes=ether",
	 "deviceIDs 0d00, b500 match no device; devices that pass the other lists have 159b\n"
	 "drivers irdma match no device; devices that pass the other lists have ice"},
	{"deviceIDs=0d00", "deviceIDs 0d00 match no device; the devices of this bus have 159b, "
			   "101b, 1015"},
	{"deviceIDs=0d00 ifNames=x",
	 "deviceIDs 0d00 match no device; the devices of this bus have 159b, 101b, 1015\n"
	 "ifNames x match no device; the devices of this bus have ens1, ens2, ib0, pf0"},
	{"vendors=15b3 linkTypes=infiniband numaNodes=1",
	 "numaNodes 1 match no device; devices that pass the other lists have none"},
	{"vendors=15b3 deviceIDs=159b",
	 "vendors 15b3 match none of the devices that pass the other lists; these have 8086\n"
	 "deviceIDs 159b match none of the devices that pass the other lists; these have 101b, "
	 "1015"},
	{"vendors=8086 deviceIDs=101b ifNames=pf0",
	 "each list matches a device, but every device fails at least two of them"},
	{"vendors=8086 drivers=mlx5_core numaNodes=7",
	 "numaNodes 7 match no device; the devices of this bus have none"},
	{"ifNames=eth3", "ifNames eth3 match no device; the devices of this bus have ens1, ens2, "
			 "ib0, pf0; eth3 is a switchdev representor of '0000:81:00.0', which never "
			 "counts: select its functions with \"pfNames\": [\"pf0\"]"},
	{"vendors=8086 !drivers=ice", "exclude removes every device that the lists take"},
	{"vendors=8086 !ifNames=ens1", ""},
	{"vendors=8086 | vendors=1d0f",
	 "selectors[1]: vendors 1d0f match no device; the devices of this bus have 8086, 15b3"},
	{"@type=0x1", "attributes.type 0x1 match no device; the devices of this bus have none"},
};

static char *join(GPtrArray *texts)
{
	g_ptr_array_add(texts, NULL);
	return g_strjoinv("\n", (char **)texts->pdata);
}

/* What is said about a resource with those selectors. */
static char *said(GPtrArray *devices, const char *selectors)
{
	g_autoptr(ResourceConfig) config = config_build(selectors);
	g_autoptr(GPtrArray) texts = selector_candidates(config, devices, NULL, NULL, NULL);

	return join(texts);
}

static void selectors_that_match_nothing_name_what_is_there(G_GNUC_UNUSED void **state)
{
	g_autoptr(GPtrArray) devices = device_build_all(intel);

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *joined = said(devices, table[i].selectors);

		assert_string_equal(joined, table[i].texts);
	}
}

/* The config builder writes the comma of a range as ';'. */
static void ranges_name_the_functions_that_there_are(G_GNUC_UNUSED void **state)
{
	static const char *const words[] = {
		"0000:12:00.0 pf net=ens1:eth",
		"0000:12:00.1 vf parent=0000:12:00.0 @pf_name=ens1 @vf_index=0 net=ens1v0:eth",
		"0000:12:00.2 vf parent=0000:12:00.0 @pf_name=ens1 @vf_index=1",
		"0000:24:00.0 net=ens2:eth",
		NULL,
	};
	static const struct {
		const char *selectors, *text;
	} cases[] = {
		{"pfNames=ens1#2-7", "pfNames ens1#2-7 match no device; the devices of this bus "
				     "have ens1#0, ens1#1, ens2"},
		{"pfNames=ens2#0-3", "pfNames ens2#0-3 match no device; the devices of this bus "
				     "have ens1#0, ens1#1, ens2; '0000:24:00.0' has no virtual "
				     "functions (sriov_numvfs)"},
		{"rootDevices=0000:24:00.0#0;1",
		 "rootDevices 0000:24:00.0#0,1 match no device; the devices of this bus have "
		 "0000:12:00.0#0, 0000:12:00.0#1, 0000:24:00.0; '0000:24:00.0' has no virtual "
		 "functions (sriov_numvfs)"},
	};
	g_autoptr(GPtrArray) devices = device_build_all(words);

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *joined = said(devices, cases[i].selectors);

		assert_string_equal(joined, cases[i].text);
	}
}

static void a_bus_without_interfaces_is_no_typing_error(G_GNUC_UNUSED void **state)
{
	static const char *const words[] = {"a rdma=mlx5_0 port=1:ib:active", NULL};
	g_autoptr(GPtrArray) devices = device_build_all(words);
	g_autofree char *joined = said(devices, "ifNames=ib0");

	assert_string_equal(joined,
			    "ifNames ib0 match no device; the devices of this bus have none; "
			    "InfiniBand without ib_ipoib has no interface, and without hostNetwork "
			    "a daemon sees none");
}

/* Where some devices are taken, a model that is not there may be that of other nodes; a
 * name that is not there is told. */
static void names_of_nobody_are_told_beside_others(G_GNUC_UNUSED void **state)
{
	static const char *const words[] = {
		"0000:12:00.0 @vendor=15b3 @device=101b rdma=mlx5_0 net=ib0:ib",
		"0000:24:00.0 @vendor=15b3 @device=101b rdma=mlx5_1 net=ib1:ib",
		NULL,
	};
	static const struct {
		const char *selectors, *text;
	} cases[] = {
		{"ifNames=ib0,ib99", "ifNames ib99 match no device; the devices of this bus have "
				     "ib0, ib1"},
		{"vendors=15b3 addresses=0000:12:00.0,0000:13:00.0",
		 "addresses 0000:13:00.0 match no device; devices that pass the other lists have "
		 "0000:12:00.0, 0000:24:00.0"},
		{"rdmaDevices=mlx5_*,irdma*", "rdmaDevices irdma* match no device; the devices of "
					      "this bus have mlx5_0, mlx5_1"},
		{"vendors=15b3,1d0f deviceIDs=101b,101c", ""},
		{"ifNames=ib0,ib1", ""},
	};
	g_autoptr(GPtrArray) devices = device_build_all(words);

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *joined = said(devices, cases[i].selectors);

		assert_string_equal(joined, cases[i].text);
	}
}

static void a_management_device_is_told_as_what_it_is(G_GNUC_UNUSED void **state)
{
	static const char *const words[] = {"a rdma=mlx5_0 rdma=smi1 management", NULL};
	g_autoptr(GPtrArray) devices = device_build_all(words);
	g_autofree char *joined = said(devices, "rdmaDevices=smi1");

	assert_string_equal(joined,
			    "rdmaDevices smi1 match no device; the devices of this bus have "
			    "mlx5_0; smi1 of 'a' is for management or raw packets only and "
			    "is never offered");
}

static void an_empty_bus_is_said(G_GNUC_UNUSED void **state)
{
	static const char *const none[] = {NULL};
	g_autoptr(GPtrArray) devices = device_build_all(none);
	g_autoptr(ResourceConfig) config = config_build("vendors=15b3");
	g_autoptr(GPtrArray) texts = selector_candidates(config, devices, NULL, NULL, NULL);

	assert_int_equal(texts->len, 1);
	assert_string_equal(texts->pdata[0], "the bus 'pci' has no device that could do RDMA; "
					     "'rdmadp devices' shows the other buses, of which "
					     "\"buses\" in the selectors names one");
}

static void long_lists_of_values_are_cut(G_GNUC_UNUSED void **state)
{
	g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	g_autoptr(ResourceConfig) config = config_build("ifNames=x");
	g_autoptr(GPtrArray) texts = NULL;

	for (guint i = 0; i < 11; i++) {
		g_autofree char *words = g_strdup_printf("d%u net=n%u", i, i);

		g_ptr_array_add(devices, device_build(words));
	}
	texts = selector_candidates(config, devices, NULL, NULL, NULL);
	assert_string_equal(texts->pdata[0],
			    "ifNames x match no device; the devices of this bus have n0, n1, n2, "
			    "n3, n4, n5, n6, n7 and 3 more");
}

/* Takes the vendor in any letter case, as a bus might. */
static int any_case(const Device *device, const char *key, const char *value,
		    G_GNUC_UNUSED gpointer data)
{
	const char *seen = device_attribute(device, key);

	return seen != NULL && g_ascii_strcasecmp(seen, value) == 0;
}

static void the_backend_is_asked(G_GNUC_UNUSED void **state)
{
	static const char *const words[] = {"a @vendor=15B3", NULL};
	g_autoptr(GPtrArray) devices = device_build_all(words);
	g_autoptr(ResourceConfig) config = config_build("vendors=15b3");
	g_autoptr(GPtrArray) without = selector_candidates(config, devices, NULL, NULL, NULL);
	g_autoptr(GPtrArray) with = selector_candidates(config, devices, any_case, NULL, NULL);

	assert_int_equal(without->len, 1);
	assert_int_equal(with->len, 0);
}

/* "Type" where the backend has "type": without a word nobody would find that. */
static void attributes_that_no_device_can_have_are_named(void **state)
{
	static const char *const keys[] = {"vendor", "device", "type", NULL};
	static const char *const no_keys[] = {NULL};
	static const struct {
		const char *selectors;
		const char *const *keys;
		const char *text;
	} cases[] = {
		{"@type=0x1 vendors=8086", keys, NULL},
		{"vendors=8086 !@type=0x1", keys, NULL},
		{"@Type=0x1", keys,
		 "attributes.Type matches nothing: the backend reports no attribute 'Type'; did "
		 "you mean 'type'?"},
		{"vendors=8086 !@colour=red", keys,
		 "exclude.attributes.colour matches nothing: the backend reports no attribute "
		 "'colour'; it reports vendor, device, type"},
		{"@type=0x1", no_keys,
		 "attributes.type matches nothing: the backend reports no attribute 'type'; it "
		 "reports none"},
	};

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(ResourceConfig) config = config_build(cases[i].selectors);
		g_autoptr(GPtrArray) devices = device_build_all(intel);
		g_autoptr(GPtrArray) texts =
			selector_candidates(config, devices, NULL, NULL, cases[i].keys);
		g_autofree char *got = join(texts);

		if (cases[i].text != NULL)
			assert_string_equal(got, cases[i].text);
		else
			assert_null(strstr(got, "reports no attribute"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selectors_that_match_nothing_name_what_is_there),
		cmocka_unit_test(ranges_name_the_functions_that_there_are),
		cmocka_unit_test(a_bus_without_interfaces_is_no_typing_error),
		cmocka_unit_test(names_of_nobody_are_told_beside_others),
		cmocka_unit_test(a_management_device_is_told_as_what_it_is),
		cmocka_unit_test(an_empty_bus_is_said),
		cmocka_unit_test(long_lists_of_values_are_cut),
		cmocka_unit_test(the_backend_is_asked),
		cmocka_unit_test(attributes_that_no_device_can_have_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
