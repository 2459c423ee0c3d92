/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kinship.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/device_builder.h"

/* A PF in a bond, its virtual function with a sub-function, and another adapter; and one
 * whose parent is itself. */
static const char *const words[] = {
	"loop parent=loop net=x:eth",
	"other net=ens2:eth",
	"pf pf net=ens1:eth net=bond0:eth:upper",
	"sf parent=vf net=ens1s1:eth",
	"vf vf parent=pf net=ens1v0:eth",
	NULL,
};

static void devices_follow_the_interfaces_above_them(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *interface;
		const char *devices; /* that depend on it, by their first letters */
	} table[] = {
		{"ens1", "psv"}, {"bond0", "psv"}, {"ens1v0", "sv"},  {"ens1s1", "s"},
		{"ens2", "o"},	 {"x", "l"},	   {"elsewhere", ""},
	};
	g_autoptr(GPtrArray) devices = device_build_all(words);

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GString) found = g_string_new(NULL);

		for (guint j = 0; j < devices->len; j++)
			if (kinship_depends_on(devices, devices->pdata[j], table[i].interface))
				g_string_append_c(found, *device_id(devices->pdata[j]));
		assert_string_equal(found->str, table[i].devices);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_follow_the_interfaces_above_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
