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

	EXPECT_TROUBLE(none,
		       "no device matches its selectors; 'rdmadp explain' tells what is there");
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

/* The bus gives the id of one that is gone to another. */
static void who_is_gone_is_told_by_what_lasts(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("hcaMax=2");

	FOUND(resource, "0000f identity=first rdma=r uverbs=0 cm");
	FOUND(resource, "0000f identity=second rdma=r uverbs=0 cm");
	resource_set_health(resource, "first", FALSE, "gone");
	resource_set_health(resource, "second", FALSE, "link");
	EXPECT_TROUBLE(resource, "none of its 2 HCAs can be used: the device is gone or no longer "
				 "selected ('first'); link ('0000f')");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trouble_is_one_sentence),
		cmocka_unit_test(who_is_gone_is_told_by_what_lasts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
