/* SPDX-License-Identifier: Apache-2.0 */
#include "model/fingerprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/config_builder.h"

static char *fingerprint(const char *words)
{
	g_autoptr(ResourceConfig) config = config_build(words);

	return selectors_fingerprint(config);
}

static const struct {
	const char *a, *b;
	gboolean same;
} cases[] = {
	{"vendors=15b3", "vendors=15b3", TRUE},
	{"vendors=15b3,8086", "vendors=8086,15b3", TRUE},
	{"vendors=15b3,15b3", "vendors=15b3", TRUE},
	{"@type=0x1 @class=2", "@class=2 @type=0x1", TRUE},
	/* what is offered and how is not what is selected */
	{"vendors=15b3 hcaMax=4", "vendors=15b3 hcaMax=8 umad=required", TRUE},
	{"vendors=15b3", "vendors=8086", FALSE},
	{"vendors=15b3", "deviceIDs=15b3", FALSE},
	{"vendors=15b3", "vendors=15b3 ifNames=ib0", FALSE},
	{"vendors=15b3", "!vendors=15b3", FALSE},
	{"vendors=15b3 ifNames=ib0", "vendors=15b3 !ifNames=ib0", FALSE},
	{"vendors=15b3 ifNames=ib0", "vendors=15b3 | ifNames=ib0", FALSE},
	{"vendors=15b3 | vendors=8086", "vendors=15b3,8086", FALSE},
	{"vendors=15b3", "@vendors=15b3", FALSE},
	{"@a=b @c=d", "@a=b,c,d", FALSE},
	{"ifNames=ab,c", "ifNames=a,bc", FALSE},
};

static void it_changes_exactly_with_the_selectors(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *a = fingerprint(cases[i].a);
		g_autofree char *b = fingerprint(cases[i].b);

		if (cases[i].same)
			assert_string_equal(a, b);
		else
			assert_string_not_equal(a, b);
	}
}

static void it_changes_with_the_bus(G_GNUC_UNUSED void **state)
{
	g_autoptr(ResourceConfig) config = config_build("vendors=15b3");
	g_autofree char *pci = selectors_fingerprint(config);
	g_autofree char *ub = NULL;

	g_free(config->bus);
	config->bus = g_strdup("ub");
	ub = selectors_fingerprint(config);
	assert_string_not_equal(pci, ub);
}

static void an_empty_list_is_as_none(G_GNUC_UNUSED void **state)
{
	g_autoptr(ResourceConfig) config = config_build("vendors=15b3");
	struct selector *selector = config->selectors->pdata[0];
	g_autofree char *before = selectors_fingerprint(config);
	g_autofree char *after = NULL;

	selector->values[SELECTOR_IF_NAMES] = g_new0(char *, 1);
	after = selectors_fingerprint(config);
	assert_string_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_changes_exactly_with_the_selectors),
		cmocka_unit_test(it_changes_with_the_bus),
		cmocka_unit_test(an_empty_list_is_as_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
