/* SPDX-License-Identifier: Apache-2.0 */
#include "model/overlap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/config_builder.h"
#include "support/device_builder.h"

/* A resource: "a" or, exclusive, "A" ("l" and "L" follow the label), then ':' and its devices (device_builder's words
 * with '/' for the blanks between them; '~' before one: it was there when the list was shown). */
static struct overlap_claim *claim_new(const char *text)
{
	struct overlap_claim *claim = g_new0(struct overlap_claim, 1);
	g_auto(GStrv) words = g_strsplit(text + 2, " ", -1);
	ResourceConfig *config = config_build("vendors=15b3");

	g_free(config->full_name);
	config->full_name = g_strdup_printf("rdma/%c", g_ascii_tolower(text[0]));
	config->mode = g_ascii_tolower(text[0]) == 'l' ? RESOURCE_AUTO : RESOURCE_SHARED;
	claim->config = config;
	claim->exclusive = g_ascii_isupper(text[0]);
	claim->devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	claim->shown = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	for (gsize i = 0; words[i] != NULL && words[i][0] != '\0'; i++) {
		gboolean is_gone = words[i][0] == '~';

		g_ptr_array_add(is_gone ? claim->shown : claim->devices,
				device_build(g_strdelimit(words[i] + is_gone, "/", ' ')));
	}
	return claim;
}

static void claim_free(gpointer data)
{
	struct overlap_claim *claim = data;

	resource_config_unref((ResourceConfig *)claim->config);
	g_ptr_array_unref(claim->devices);
	g_ptr_array_unref(claim->shown);
	g_free(claim);
}

/* "a=x,y b=x": what each resource has. */
static char *holdings(GPtrArray *claims)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < claims->len; i++) {
		const struct overlap_claim *claim = claims->pdata[i];

		g_string_append_printf(text, "%s%s=", i > 0 ? " " : "",
				       claim->config->full_name + strlen("rdma/"));
		for (guint j = 0; j < claim->devices->len; j++)
			g_string_append_printf(text, "%s%s", j > 0 ? "," : "",
					       device_id(claim->devices->pdata[j]));
	}
	return g_string_free(text, FALSE);
}

#define PF "pf"
#define VF "vf1/vf/parent=pf"

static const struct {
	const char *claims[4];
	const char *holdings;
	const char *findings[4]; /* each begins with W or E */
} cases[] = {
	{{"a:x", "b:y", "C:z"}, "a=x b=y c=z", {NULL}},
	{{"a:x y", "b:y"},
	 "a=x,y b=y",
	 {"W'y': selected by \"rdma/a\" and by \"rdma/b\": pods of both get it, and each counts "
	  "its slots as if it were alone"}},
	{{"A:x y", "b:y z"},
	 "a=x,y b=z",
	 {"E'y': selected by \"rdma/a\" and by \"rdma/b\", and one of the two is exclusive: "
	  "\"rdma/a\" keeps it, because it comes first in the file; leave it to one of them, with "
	  "\"exclude\" in the selectors of the other, such as \"exclude\": {\"addresses\": "
	  "[\"y\"]}"}},
	{{"a:x y", "B:y"},
	 "a=x,y b=",
	 {"E'y': selected by \"rdma/a\" and by \"rdma/b\", and one of the two is exclusive: "
	  "\"rdma/a\" keeps it, because it comes first in the file; leave it to one of them, with "
	  "\"exclude\" in the selectors of the other, such as \"exclude\": {\"addresses\": "
	  "[\"y\"]}"}},
	/* a label can change what is right now */
	{{"l:x", "b:x"},
	 "l=x b=x",
	 {"W'x': selected by \"rdma/l\" and by \"rdma/b\": pods of both get it, and each counts "
	  "its slots as if it were alone; once the node's label makes one of the two exclusive, "
	  "only the first keeps it"}},
	/* the identity decides, not the id */
	{{"A:x/identity=g", "B:y/identity=g"},
	 "a=x b=",
	 {"E'y': selected by \"rdma/a\" and by \"rdma/b\", and one of the two is exclusive: "
	  "\"rdma/a\" keeps it, because it comes first in the file; leave it to one of them, with "
	  "\"exclude\" in the selectors of the other, such as \"exclude\": {\"addresses\": "
	  "[\"y\"]}"}},
	/* an exclusive one between two shared ones */
	{{"a:x", "B:x", "c:x"},
	 "a=x b= c=x",
	 {"E'x': selected by \"rdma/a\" and by \"rdma/b\", and one of the two is exclusive: "
	  "\"rdma/a\" keeps it, because it comes first in the file; leave it to one of them, with "
	  "\"exclude\" in the selectors of the other, such as \"exclude\": {\"addresses\": "
	  "[\"x\"]}",
	  "W'x': selected by \"rdma/a\" and by \"rdma/c\": pods of both get it, and each counts "
	  "its slots as if it were alone"}},
	/* many are one sentence */
	{{"a:1 2 3 4 5 6", "b:1 2 3 4 5 6 7"},
	 "a=1,2,3,4,5,6 b=1,2,3,4,5,6,7",
	 {"W'1', '2', '3', '4' and 2 more: selected by \"rdma/a\" and by \"rdma/b\": pods of both "
	  "get it, and each counts its slots as if it were alone"}},
	/* functions of one adapter */
	{{"A:" PF " " VF " q"},
	 "a=vf1,q",
	 {"W'pf': not offered by \"rdma/a\", because \"rdma/a\" gives away virtual functions of "
	  "it; exclude it to have this silent"}},
	{{"A:" PF, "B:" VF},
	 "a= b=vf1",
	 {"W'pf': not offered by \"rdma/a\", because \"rdma/b\" gives away virtual functions of "
	  "it; exclude it to have this silent"}},
	{{"a:" PF, "B:" VF}, "a=pf b=vf1", {NULL}},
	{{"A:" PF, "b:" VF}, "a=pf b=vf1", {NULL}},
	{{"A:" PF, "B:sf1/parent=pf"}, "a=pf b=sf1", {NULL}},
	/* their number is changed: for a moment there is none */
	{{"A:" PF " ~" VF},
	 "a=",
	 {"W'pf': not offered by \"rdma/a\", because \"rdma/a\" gives away virtual functions of "
	  "it; exclude it to have this silent"}},
	{{"A:" PF, "B:~" VF " q"},
	 "a= b=q",
	 {"W'pf': not offered by \"rdma/a\", because \"rdma/b\" gives away virtual functions of "
	  "it; exclude it to have this silent"}},
	{{"A:" PF, "b:~" VF}, "a=pf b=", {NULL}},
};

static void expect_findings(GPtrArray *findings, const char *const *expected)
{
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = findings->pdata[i];

		assert_non_null(expected[i]);
		assert_string_equal(finding->text, expected[i] + 1);
		assert_int_equal(finding->level,
				 expected[i][0] == 'E' ? FINDING_ERROR : FINDING_WARNING);
	}
	assert_null(expected[findings->len]);
}

static void the_first_in_the_file_keeps_a_device(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) claims = g_ptr_array_new_with_free_func(claim_free);
		g_autoptr(GPtrArray) findings = findings_new();
		g_autoptr(GPtrArray) overlaps = NULL;
		g_autofree char *text = NULL;

		for (gsize j = 0; cases[i].claims[j] != NULL; j++)
			g_ptr_array_add(claims, claim_new(cases[i].claims[j]));
		overlaps = overlap_resolve(claims);
		text = holdings(claims);
		assert_string_equal(text, cases[i].holdings);
		overlap_tell(overlaps, findings);
		expect_findings(findings, cases[i].findings);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_in_the_file_keeps_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
