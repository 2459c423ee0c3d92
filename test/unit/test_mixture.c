/* SPDX-License-Identifier: Apache-2.0 */
#include "model/mixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/resource_builder.h"

#define REST                                                                                       \
	", and a pod cannot choose among them: make resources of their own with vendors, drivers " \
	"or linkTypes"
#define EFA "@vendor=1d0f rdma=rdmap0 port=1:unknown:active"
#define IB "@vendor=15b3 rdma=mlx5_0 port=1:ib:active"
#define ROCE "@vendor=15b3 rdma=mlx5_0 port=1:eth:active"
#define BOTH "@vendor=15b3 rdma=mlx4_0 port=1:ib:active port=2:eth:down"

static const struct {
	const char *devices[4];
	const char *remark;
} cases[] = {
	{{NULL}, "none"},
	{{"a " IB, "b " IB}, "none"},
	{{"a " BOTH, "b " BOTH}, "none"},
	{{"a " IB, "b " ROCE},
	 "its devices are of different kinds (link types infiniband and ether)" REST},
	{{"a " BOTH, "b " ROCE},
	 "its devices are of different kinds (link types infiniband+ether and ether)" REST},
	{{"a " IB, "b " EFA, "c " IB},
	 "its devices are of different kinds (vendors 15b3 and 1d0f, link types infiniband and "
	 "unknown)" REST},
	/* only what can be used counts */
	{{"a " IB, "b note=in_the_way " ROCE}, "none"},
	{{"a " IB, "b @vendor=8086"}, "none"},
	{{"a " IB, "b @vendor=15b3 rdma=mlx5_1"}, "none"},
	{{"a " IB, "b @vendor=15b3 rdma=mlx5_1 port=1:ib:active rdma=smi1 management "
		   "port=1:unknown:active"},
	 "none"},
};

static void different_kinds_are_noticed(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) devices = device_build_all(cases[i].devices);

		EXPECT_TEXT(mixture_remark(devices), cases[i].remark);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(different_kinds_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
