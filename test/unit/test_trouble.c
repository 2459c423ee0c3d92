/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/resource_builder.h"

static void trouble_is_one_sentence(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) none = resource_build("hcaMax=2");
	g_autoptr(Resource) zero = resource_build("hcaMax=0");
	g_autoptr(Resource) two = resource_build("hcaMax=2");
	g_autoptr(Resource) any = resource_build("hcaMax=2 policy=anyDevice");
	g_autoptr(Resource) exclusive = resource_build("mode=exclusive");

	EXPECT_TROUBLE(none, "no device matches its selectors");
	resource_found_n(zero, 1);
	EXPECT_TROUBLE(zero, "rdmaHcaMax is 0, so nothing is offered");
	resource_found_n(two, 3);
	EXPECT_TROUBLE(two, "none");
	resource_set_health(two, "h0", FALSE, "link");
	EXPECT_TROUBLE(two, "none");
	resource_set_health(two, "h1", FALSE, "link");
	EXPECT_TROUBLE(two, "2 of its 3 HCAs cannot be used and it has 2 slots: link ('h0' and 1 "
			    "more)");
	resource_found_n(two, 2);
	resource_set_health(two, "h2", FALSE, "gone");
	EXPECT_TROUBLE(two, "none of its 3 HCAs can be used: link ('h0' and 1 more); the device is "
			    "gone or no longer selected ('h2')");
	resource_found_n(any, 2);
	resource_set_health(any, "h1", FALSE, NULL);
	EXPECT_TROUBLE(any,
		       "1 of its 2 HCAs cannot be used and its healthPolicy is anyDevice: it is "
		       "not healthy ('h1')");
	/* healthy, and no longer its own */
	resource_found_n(exclusive, 2);
	EXPECT_TROUBLE(exclusive, "none");
	resource_set_refusal(exclusive, "h0", "not selected");
	resource_set_refusal(exclusive, "h1", "not selected");
	resource_found_n(exclusive, 0);
	EXPECT_TROUBLE(exclusive, "none of its 2 HCAs can be used: not selected ('h0' and 1 more)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trouble_is_one_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
