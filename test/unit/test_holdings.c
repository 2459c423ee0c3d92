/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/holdings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* "pod container resource id id …" */
static struct holding *holding_of(const char *words)
{
	g_auto(GStrv) parts = g_strsplit(words, " ", -1);
	struct holding *holding = g_new0(struct holding, 1);

	holding->name_space = g_strdup("hpc");
	holding->pod = g_strdup(parts[0]);
	holding->container = g_strdup(parts[1]);
	holding->resource = g_strdup(parts[2]);
	holding->ids = g_ptr_array_new_with_free_func(g_free);
	for (gsize i = 3; parts[i] != NULL; i++)
		g_ptr_array_add(holding->ids, g_strdup(parts[i]));
	return holding;
}

static Holdings *holdings_of(const char *const *lines)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(holding_free);

	for (gsize i = 0; lines[i] != NULL; i++)
		g_ptr_array_add(list, holding_of(lines[i]));
	return holdings_new(list, 1, 2);
}

static char *doubles_text(const Holdings *holdings, const char *resource)
{
	g_autoptr(GArray) doubles = holdings_doubles(holdings, resource);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < doubles->len; i++) {
		const struct double_holding *found =
			&g_array_index(doubles, struct double_holding, i);

		g_string_append_printf(text, "%s%s: %s/%s %s/%s", i > 0 ? ", " : "", found->id,
				       found->first->pod, found->first->container,
				       found->second->pod, found->second->container);
	}
	return g_string_free(text, FALSE);
}

static void an_id_that_two_containers_hold_is_found(void **state)
{
	static const struct {
		const char *lines[5];
		const char *doubles;
	} cases[] = {
		{{NULL}, ""},
		{{"p main rdma/a 1 2", "q main rdma/a 3"}, ""},
		{{"p main rdma/a 1 2", "q main rdma/a 2 3"}, "2: p/main q/main"},
		{{"p main rdma/a 1", "p side rdma/a 1"}, "1: p/main p/side"},
		/* the same id of another resource is another device */
		{{"p main rdma/a 1", "q main rdma/b 1"}, ""},
		{{"p main rdma/b 1", "q main rdma/b 1"}, ""},
		{{"p main rdma/a 1 2", "q main rdma/a 2", "r main rdma/a 1 2"},
		 "2: p/main q/main, 1: p/main r/main, 2: p/main r/main"},
		/* one container that names it twice still holds it once */
		{{"p main rdma/a 1 1"}, ""},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Holdings) holdings = holdings_of(cases[i].lines);
		g_autofree char *text = doubles_text(holdings, "rdma/a");

		assert_string_equal(text, cases[i].doubles);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_that_two_containers_hold_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
