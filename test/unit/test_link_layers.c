/* SPDX-License-Identifier: Apache-2.0 */
#include "model/link_layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/config_builder.h"

#define IB (1U << RDMADP_LINK_INFINIBAND)
#define ETH (1U << RDMADP_LINK_ETHERNET)

static void the_resource_says_which_ports_matter(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *config;
		guint32 active;
		guint32 state;
		gboolean is_good;
	} cases[] = {
		{"linkTypes=ether", IB, RDMADP_HEALTHY, FALSE},
		{"linkTypes=ether", ETH, RDMADP_HEALTHY, TRUE},
		{"linkTypes=ether", IB | ETH, RDMADP_HEALTHY, TRUE},
		{"linkTypes=infiniband", ETH, RDMADP_HEALTHY, FALSE},
		{"linkTypes=ether,infiniband", IB, RDMADP_HEALTHY, TRUE},
		/* Nothing is asked for, or nothing is told. */
		{"vendors=15b3", IB, RDMADP_HEALTHY, TRUE},
		{"linkTypes=ether", 0, RDMADP_HEALTHY, TRUE},
		/* What is bad or unknown anyway stays so. */
		{"linkTypes=ether", IB, RDMADP_UNHEALTHY, FALSE},
		{"linkTypes=ether", IB, RDMADP_HEALTH_UNKNOWN, FALSE},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(ResourceConfig) config = config_build(cases[i].config);
		const struct rdmadp_health health = {.size = sizeof(health),
						     .state = cases[i].state,
						     .active = cases[i].active,
						     .text = "port 1 is '4: ACTIVE'"};
		const struct rdmadp_health judged = link_layers_judge(config, &health);

		assert_int_equal(judged.state == RDMADP_HEALTHY, cases[i].is_good);
		if (cases[i].state != RDMADP_HEALTHY)
			assert_int_equal(judged.state, cases[i].state);
		else if (!cases[i].is_good)
			assert_string_equal(judged.text, "no port of the linkTypes is ACTIVE, "
							 "although port 1 is '4: ACTIVE'");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_resource_says_which_ports_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
