/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/backend_instance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/capture.h"

/* Sixty thousand lines in three seconds were seen. */
static void a_backend_that_repeats_itself_is_cut_short(G_GNUC_UNUSED void **state)
{
	static const struct rdmadp_backend vtable = {.name = "loud"};
	struct instance instance;
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	instance_setup(&instance, &vtable, "/sys", "/dev");
	capture_start();
	for (guint i = 0; i < 10 * THROTTLE_BURST; i++)
		instance.host.log(&instance.host, RDMADP_LOG_WARNING, "all is lost");
	text = capture_stop();
	instance_clear(&instance);
	lines = g_strsplit(text, "\n", -1);
	/* On a machine that takes minutes for it some more may pass. */
	assert_in_range(g_strv_length(lines), THROTTLE_BURST, 9 * THROTTLE_BURST);
	assert_non_null(strstr(text, " warning: backend loud: it says more than 10 messages a "
				     "second: the others are left out\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_backend_that_repeats_itself_is_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
