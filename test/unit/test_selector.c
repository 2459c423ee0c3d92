/* SPDX-License-Identifier: Apache-2.0 */
#include "model/selector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/config_builder.h"
#include "support/device_builder.h"

/* Five devices of an existing suite of the peer plugin, whose lists must mean the
 * same here. */
static const char *const peer_devices[] = {
	"d1 driver=mlx5_core @vendor=15b3 @device=1017 net=enp2s0f0:eth",
	"d2 driver=igb @vendor=8080 @device=2031 net=enp2s0f1:eth",
	"d3 driver=broadcom @vendor=15b3 @device=1017 net=eth0:eth",
	"d4 driver=igb @vendor=8080 @device=1234 net=eth1:eth",
	"d5 driver=mlx5_core @vendor=15b3 @device=1017 net=enp4s0f0:ib",
	NULL,
};

static char *taken_of(const char *const *words, const char *selectors)
{
	g_autoptr(GPtrArray) devices = device_build_all(words);
	g_autoptr(ResourceConfig) config = config_build(selectors);
	g_autoptr(GString) taken = g_string_new(NULL);

	for (guint i = 0; i < devices->len; i++)
		if (selector_judge(config, devices->pdata[i], NULL, NULL, NULL))
			g_string_append_printf(taken, "%s%s", taken->len > 0 ? " " : "",
					       device_id(devices->pdata[i]));
	return g_string_free(g_steal_pointer(&taken), FALSE);
}

static void lists_mean_what_the_peer_plugin_means(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *selectors;
		const char *taken;
	} table[] = {
		{"vendors=15b3,8080 deviceIDs=1017,2031 drivers=mlx5_core,igb "
		 "ifNames=enp2s0f0,enp2s0f1,enp4s0f0 linkTypes=ether",
		 "d1 d2"},
		{"vendors=15b3", "d1 d3 d5"},
		{"deviceIDs=1234", "d4"},
		{"drivers=igb", "d2 d4"},
		{"ifNames=eth0,eth1", "d3 d4"},
		{"linkTypes=infiniband", "d5"},
		{"linkTypes=ether,infiniband", "d1 d2 d3 d4 d5"},
		{"vendors=15b3 drivers=igb", ""},
		{"", "d1 d2 d3 d4 d5"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *taken = taken_of(peer_devices, table[i].selectors);

		assert_string_equal(taken, table[i].taken);
	}
}

static void no_device_is_no_error(G_GNUC_UNUSED void **state)
{
	static const char *const none[] = {NULL};
	g_autofree char *taken = taken_of(none, "vendors=15b3");

	assert_string_equal(taken, "");
}

/* One device and one selector; 'refusal' is "key: seen / wanted" or NULL: taken. */
static const struct {
	const char *device;
	const char *selectors;
	const char *refusal;
} judgements[] = {
	/* vendors, deviceIDs: the attributes of the bus */
	{"a @vendor=15b3", "vendors=8086,15b3", NULL},
	{"a @vendor=15b3", "vendors=8086,1d0f", "vendors: 15b3 / 8086, 1d0f"},
	{"a", "vendors=15b3", "vendors: none / 15b3"},
	{"a @device=101d @device=101e", "deviceIDs=101e", NULL},
	{"a @device=101d @device=101e", "deviceIDs=1017", "deviceIDs: 101d, 101e / 1017"},
	/* drivers: the bus driver or the RDMA driver */
	{"a driver=ice", "drivers=ice", NULL},
	{"a driver=ice rdma=irdma0,irdma", "drivers=irdma", NULL},
	{"a driver=ice rdma=irdma0,irdma", "drivers=mlx5_core", "drivers: ice, irdma / mlx5_core"},
	{"a", "drivers=mlx5_core", "drivers: none / mlx5_core"},
	/* ifNames: any interface, the bond above, IPoIB children; no representors */
	{"a net=ens1 net=ens2", "ifNames=ens2", NULL},
	{"a net=ens1 net=bond0:eth:upper", "ifNames=bond0", NULL},
	{"a net=ib0:ib net=ib0.8001:ib:child", "ifNames=ib0.8001", NULL},
	{"a net=pf0 net=eth3:eth:representor", "ifNames=eth3", "ifNames: pf0 / eth3"},
	{"a net=ens1", "ifNames=ENS1", "ifNames: ens1 / ENS1"},
	{"a", "ifNames=ens1", "ifNames: none / ens1"},
	/* linkTypes: the ports', else the interfaces' */
	{"a rdma=r port=1:ib:down", "linkTypes=infiniband", NULL},
	{"a rdma=r port=1:ib:active net=x:eth", "linkTypes=ether", "linkTypes: infiniband / ether"},
	{"a rdma=r port=1:ib:active port=2:eth:active", "linkTypes=ether", NULL},
	{"a rdma=r port=1:unknown:active net=x:eth", "linkTypes=ether", NULL},
	{"a net=x:ib", "linkTypes=infiniband", NULL},
	{"a net=x:eth:representor", "linkTypes=ether", "linkTypes: none / ether"},
	{"a rdma=r port=1:unknown:active", "linkTypes=ether,infiniband",
	 "linkTypes: none / ether, infiniband"},
	{"a rdma=mlx5_0 port=1:eth:active rdma=smi1 management port=1:ib:active",
	 "linkTypes=infiniband", "linkTypes: ether / infiniband"},
	/* addresses: any letter case, the PCI domain 0 may be left out */
	{"0000:3b:00.0", "addresses=0000:3b:00.0", NULL},
	{"0000:3b:00.0", "addresses=3b:00.0", NULL},
	{"0000:3b:00.0", "addresses=0000:3B:00.0", NULL},
	{"0000:3b:00.0", "addresses=3B:00.0", NULL},
	{"10000:3b:00.0", "addresses=3b:00.0", "addresses: 10000:3b:00.0 / 3b:00.0"},
	{"0000:3b:00.0", "addresses=b:00.0", "addresses: 0000:3b:00.0 / b:00.0"},
	{"00001", "addresses=00001", NULL},
	/* or what lasts longer than an id */
	{"00001 identity=cc08-8200-0-1-000000-000000000000000f",
	 "addresses=CC08-8200-0-1-000000-000000000000000F", NULL},
	/* rdmaDevices: globs; management devices have no name here */
	{"a rdma=mlx5_10", "rdmaDevices=mlx5_1", "rdmaDevices: mlx5_10 / mlx5_1"},
	{"a rdma=mlx5_10", "rdmaDevices=mlx5_*", NULL},
	{"a rdma=mlx5_3", "rdmaDevices=mlx5_[0-3]", NULL},
	{"a rdma=mlx5_4", "rdmaDevices=mlx5_[0-3],x", "rdmaDevices: mlx5_4 / mlx5_[0-3], x"},
	{"a rdma=r1 rdma=r2", "rdmaDevices=r2", NULL},
	{"a rdma=smi1 management", "rdmaDevices=smi*", "rdmaDevices: none / smi*"},
	/* pfNames: the functions of a PF; the PF itself as long as it has none */
	{"a vf parent=p @pf_name=ens1f0 @vf_index=3", "pfNames=ens1f0", NULL},
	{"a vf parent=p @pf_name=ens1f0 @vf_index=3", "pfNames=ENS1F0#0-3;7", NULL},
	{"a vf parent=p @pf_name=ens1f0 @vf_index=4", "pfNames=ens1f0#0-3;7",
	 "pfNames: ens1f0#4 / ens1f0#0-3,7"},
	{"a vf parent=p @pf_name=ens1f0 @vf_index=4", "pfNames=ens1f0#0-3,ens1f0#4", NULL},
	{"a vf parent=p @pf_name=ens1f0 @vf_index=4", "pfNames=ens1f0#x",
	 "pfNames: ens1f0#4 / ens1f0#x"},
	{"a vf parent=p @pf_name=ens1f0", "pfNames=ens1f0#0", "pfNames: ens1f0 / ens1f0#0"},
	{"mlx5_core.sf.2 parent=p @pf_name=ens1f0 @sfnum=88", "pfNames=ens1f0#88", NULL},
	{"a vf parent=p net=ens1f0v0", "pfNames=ens1f0v0", "pfNames: none / ens1f0v0"},
	{"p net=ens1f0", "pfNames=ens1f0", NULL},
	{"p net=ens1f0", "pfNames=ens1f0#0", "pfNames: ens1f0 / ens1f0#0"},
	{"p pf net=ens1f0", "pfNames=ens1f0", "pfNames: none / ens1f0"},
	/* rootDevices: the same by the PF's address */
	{"0000:3b:00.2 vf parent=0000:3b:00.0 @vf_index=0", "rootDevices=0000:3b:00.0", NULL},
	{"0000:3b:00.2 vf parent=0000:3b:00.0 @vf_index=0", "rootDevices=3B:00.0#0-1", NULL},
	{"0000:3b:00.2 vf parent=0000:3b:00.0 @vf_index=2", "rootDevices=3b:00.0#0-1",
	 "rootDevices: 0000:3b:00.0#2 / 3b:00.0#0-1"},
	{"0000:3b:00.0", "rootDevices=3b:00.0", NULL},
	{"0000:3b:00.0 pf", "rootDevices=3b:00.0", "rootDevices: none / 3b:00.0"},
	/* numaNodes */
	{"a numa=1", "numaNodes=0,1", NULL},
	{"a numa=1", "numaNodes=0", "numaNodes: 1 / 0"},
	{"a", "numaNodes=0", "numaNodes: none / 0"},
	{"a numa=0", "numaNodes=x", "numaNodes: 0 / x"},
	/* attributes, in the order of their keys */
	{"a @type=0x1", "@type=0x0,0x1", NULL},
	{"a @type=0x1", "@type=0x2", "attributes.type: 0x1 / 0x2"},
	{"a @type=0x1", "@type=0x2 @eid=3", "attributes.eid: none / 3"},
	/* exclude: taken by all of its lists */
	{"a @vendor=15b3 net=ens1", "vendors=15b3 !ifNames=ens2", NULL},
	{"a @vendor=15b3 net=ens1", "vendors=15b3 !ifNames=ens1,ens2",
	 "exclude.ifNames: ens1 / ens1, ens2"},
	{"a @vendor=15b3 net=ens1", "!vendors=15b3 !ifNames=ens2", NULL},
	{"a @vendor=15b3 net=ens1", "!vendors=15b3 !ifNames=ens1", "exclude.ifNames: ens1 / ens1"},
	{"a @type=0x1", "!@type=0x1", "exclude.attributes.type: 0x1 / 0x1"},
	{"a", "!", NULL},
	{"a net=ens1", "ifNames=ens2 !ifNames=ens1", "ifNames: ens1 / ens2"},
	/* the first list that refuses is told, in the order of the table in the manual */
	{"a @vendor=15b3 @device=1017 driver=ice", "drivers=x deviceIDs=y vendors=15b3",
	 "deviceIDs: 1017 / y"},
	/* several objects are a union; told is the one that came furthest */
	{"a @vendor=15b3", "vendors=8086 | vendors=15b3", NULL},
	{"a @vendor=15b3", "vendors=8086 | vendors=1d0f", "vendors: 15b3 / 8086"},
	{"a @vendor=15b3 net=ens1", "vendors=8086 | vendors=15b3 ifNames=ens2 | vendors=1d0f",
	 "ifNames: ens1 / ens2"},
	{"a @vendor=15b3 net=ens1", "vendors=15b3 ifNames=ens2 | vendors=15b3 !ifNames=ens1",
	 "ifNames: ens1 / ens2"},
	{"a net=ens1", "vendors=15b3 | ifNames=ens1 !ifNames=ens1", "exclude.ifNames: ens1 / ens1"},
};

static char *refusal_text(const char *words, const char *selectors, selector_match_fn match)
{
	g_autoptr(Device) device = device_build(words);
	g_autoptr(ResourceConfig) config = config_build(selectors);
	struct refusal refusal = {0};
	char *text;

	if (selector_judge(config, device, match, NULL, &refusal)) {
		assert_null(refusal.key);
		return g_strdup("taken");
	}
	text = g_strdup_printf("%s: %s / %s", refusal.key, refusal.seen, refusal.wanted);
	refusal_clear(&refusal);
	assert_null(refusal.key);
	return text;
}

static void every_list_judges_and_says_why(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(judgements); i++) {
		g_autofree char *text =
			refusal_text(judgements[i].device, judgements[i].selectors, NULL);
		const char *expected = judgements[i].refusal;

		assert_string_equal(text, expected == NULL ? "taken" : expected);
	}
}

/* Understands that "hns" is hns3 and says of every "never" that no device could. */
static int bus_match(const Device *device, const char *key, const char *value,
		     G_GNUC_UNUSED gpointer data)
{
	const char *seen = strcmp(key, "driver") == 0 ? device_abi(device)->driver
						      : device_attribute(device, key);

	if (strcmp(value, "never") == 0)
		return -22;
	if (strcmp(key, "driver") == 0 && strcmp(value, "hns") == 0)
		return g_strcmp0(seen, "hns3") == 0;
	return seen != NULL && g_ascii_strcasecmp(seen, value) == 0;
}

static void the_backend_judges_what_only_it_can(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *device, *selectors, *refusal;
	} table[] = {
		{"a driver=hns3", "drivers=hns", "taken"},
		{"a driver=hns3", "drivers=never,hns3", "taken"},
		{"a driver=hns3 rdma=r,hns_roce", "drivers=hns_roce", "taken"},
		{"a @vendor=15B3", "vendors=15b3", "taken"},
		{"a @device=101D", "deviceIDs=101d", "taken"},
		{"a @type=X", "@type=x", "taken"},
		{"a @type=never", "@type=never", "attributes.type: never / never"},
		{"a @vendor=15b3", "vendors=never", "vendors: 15b3 / never"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *text =
			refusal_text(table[i].device, table[i].selectors, bus_match);

		assert_string_equal(text, table[i].refusal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_mean_what_the_peer_plugin_means),
		cmocka_unit_test(no_device_is_no_error),
		cmocka_unit_test(every_list_judges_and_says_why),
		cmocka_unit_test(the_backend_judges_what_only_it_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
