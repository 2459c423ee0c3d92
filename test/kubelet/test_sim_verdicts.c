/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule about lists and answers has an input on which it fires, and one on which
 * nothing does. */
#include "kubelet/sim_lint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "kubelet/fake_messages.h"
#include "kubelet/sim_validate.h"
#include "support/fixture.h"

#define RES "rdma/hca"

static GPtrArray *list_of(const char *devices)
{
	g_autoptr(GBytes) bytes = fake_pack_list(devices);
	const char *problem;
	return sim_unpack_list(bytes, TRUE, &problem);
}

/* The rules that fired, in order, separated by blanks. */
static char *rules(GPtrArray *problems)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < problems->len; i++) {
		const struct sim_problem *problem = g_ptr_array_index(problems, i);
		assert_non_null(problem->text);
		g_string_append_printf(text, "%s%s", i > 0 ? " " : "", problem->rule);
	}
	return g_string_free(text, FALSE);
}

static void lists_are_judged(void **state)
{
	static const struct {
		const char *list, *previous, *rules;
	} cases[] = {
		{"a=Healthy b=Unhealthy", NULL, ""},
		{"a=Healthy@0 b=Healthy@1", NULL, ""},
		{"a=Healthy", "a=Unhealthy", ""},
		{"a=Healthy", "a=Healthy b=Healthy", ""},
		{"", NULL, ""},
		{"a=Healthy a=Healthy", NULL, "duplicate-id"},
		{"a=Healthy a=Unhealthy a=Healthy", NULL, "duplicate-id"},
		{"=Healthy", NULL, "empty-id"},
		{"a=healthy", NULL, "health-text"},
		{"a= b=bad", NULL, "health-text"},
		{"a=Healthy@-1 b=Healthy@-1", NULL, "numa-node"},
		{"a=Healthy@64", NULL, "numa-node"},
		{"a=Healthy@", NULL, "empty-topology"},
		{"a=Healthy@0 b=Healthy", NULL, "mixed-topology"},
		{"a=Unhealthy@0 b=Healthy", NULL, "mixed-topology"},
		{"a=Healthy@0 b=Unhealthy", NULL, ""},
		{"a=Healthy", "a=Healthy", "unchanged-list"},
		{"a=Healthy@0", "a=Healthy@0", "unchanged-list"},
		{"a=Healthy@0", "a=Healthy@1", ""},
		{"other=Healthy", NULL, "shared-id"},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(SimState) sim = sim_state_new(sim_profile_find("1.36"));
		g_autoptr(GPtrArray) others = list_of("other=Healthy");
		sim_state_update(sim, "rdma/other", others);
		g_autoptr(GPtrArray) list = list_of(cases[i].list);
		g_autoptr(GPtrArray) previous =
			cases[i].previous ? list_of(cases[i].previous) : NULL;
		g_autoptr(GPtrArray) problems = sim_problems_new();
		sim_lint_list(sim, RES, list, previous, problems);
		g_autofree char *found = rules(problems);
		if (strcmp(found, cases[i].rules) != 0)
			fail_msg("%s: '%s' instead of '%s'", cases[i].list, found, cases[i].rules);
	}
}

static void a_held_id_must_stay_listed(void **state)
{
	static const char *const held[] = {"a", NULL};
	(void)state;
	g_autoptr(SimState) sim = sim_state_new(sim_profile_find("1.36"));
	g_autoptr(GPtrArray) with = list_of("a=Unhealthy b=Healthy");
	g_autoptr(GPtrArray) without = list_of("b=Healthy");
	g_autoptr(GPtrArray) problems = sim_problems_new();
	sim_state_grant(sim, "p", "main", RES, held);
	sim_lint_list(sim, RES, with, NULL, problems);
	assert_int_equal(problems->len, 0);
	sim_lint_list(sim, RES, without, NULL, problems);
	assert_true(sim_problems_have(problems, "removed-id"));
	sim_state_end_pod(sim, "p");
	g_autoptr(GPtrArray) after = sim_problems_new();
	sim_lint_list(sim, RES, without, NULL, after);
	assert_int_equal(after->len, 0);
}

static SimAllocated *response_of(const char *text)
{
	g_autoptr(GBytes) bytes = fake_pack_allocated(text);
	const char *problem;
	return sim_unpack_allocated(bytes, TRUE, &problem);
}

static void answers_are_judged(void **state)
{
	static const struct {
		const char *response, *profile, *rules;
	} cases[] = {
		{"dev /dev/a:/dev/a:rw mount /x:/y env A=1 ann k=v cdi v/c=n", "1.36", ""},
		{"dev /dev/a:/dev/a:rwm", "1.36", ""},
		{" ", "1.36", ""},
		{"", "1.36", "no-response"},
		{"|", "1.36", "extra-response"},
		{"dev dev/a:/dev/a:rw", "1.36", "device-path"},
		{"dev /dev/a:dev/a:rw", "1.36", "device-path"},
		{"dev /dev/a:/dev/a:", "1.36", "permissions"},
		{"dev /dev/a:/dev/a:rx", "1.36", "permissions"},
		{"mount x:/y", "1.36", "mount-path"},
		{"mount /x:y", "1.36", "mount-path"},
		{"env 1A=x", "1.36", "env-name"},
		{"cdi nonsense", "1.36", "cdi-name"},
		{"cdi v/c=n", "1.27", "cdi-unknown"},
		{"dev /dev/a:/dev/x:rw dev /dev/b:/dev/x:rw", "1.36", "conflict"},
		{"dev /dev/a:/dev/x:rw dev /dev/a:/dev/x:rw", "1.36", ""},
		{"mount /a:/x mount /b:/x", "1.36", "conflict"},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(SimAllocated) response = response_of(cases[i].response);
		g_autoptr(GPtrArray) problems = sim_problems_new();
		sim_validate_response(response, sim_profile_find(cases[i].profile), NULL, problems);
		g_autofree char *found = rules(problems);
		if (strcmp(found, cases[i].rules) != 0)
			fail_msg("%s: '%s' instead of '%s'", cases[i].response, found,
				 cases[i].rules);
	}
}

static void an_answer_without_a_container_is_a_problem(void **state)
{
	g_autoptr(GBytes) empty = g_bytes_new_static("", 0);
	const char *problem;
	(void)state;
	g_autoptr(SimAllocated) response = sim_unpack_allocated(empty, TRUE, &problem);
	g_autoptr(GPtrArray) problems = sim_problems_new();
	sim_validate_response(response, sim_profile_find("1.36"), NULL, problems);
	assert_true(sim_problems_have(problems, "no-response"));
}

static void host_paths_are_looked_up_below_the_device_root(void **state)
{
	g_autofree char *root = g_dir_make_tmp("rdmadp-dev-XXXXXX", NULL);
	g_autofree char *file = g_build_filename(root, "file", NULL);
	g_autofree char *node = g_build_filename(root, "null", NULL);
	(void)state;
	assert_true(g_file_set_contents(file, "", 0, NULL));
	assert_int_equal(symlink("/dev/null", node), 0);
	static const struct {
		const char *response, *rules;
	} cases[] = {
		{"dev /dev/null:/dev/null:rw", ""},
		{"dev /dev/file:/dev/file:rw", "host-path"},
		{"dev /dev/missing:/dev/missing:rw", "host-path"},
		{"dev /etc/passwd:/dev/x:rw", "host-path"},
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(SimAllocated) response = response_of(cases[i].response);
		g_autoptr(GPtrArray) problems = sim_problems_new();
		sim_validate_response(response, sim_profile_find("1.36"), root, problems);
		g_autofree char *found = rules(problems);
		assert_string_equal(found, cases[i].rules);
	}
	fixture_remove(root);
}

static void two_resources_of_a_container_must_agree(void **state)
{
	static const struct {
		const char *first, *second;
		gboolean conflict;
	} cases[] = {
		{"env A=1", "env A=1", FALSE},
		{"env A=1", "env B=2", FALSE},
		{"env A=1", "env A=2", TRUE},
		{"ann k=1", "ann k=2", TRUE},
		{"mount /a:/x", "mount /b:/x", TRUE},
		{"dev /dev/a:/dev/x:rw", "dev /dev/b:/dev/x:rw", TRUE},
		{"dev /dev/a:/dev/x:rw", "dev /dev/a:/dev/x:rw", FALSE},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(SimAllocated) first = response_of(cases[i].first);
		g_autoptr(SimAllocated) second = response_of(cases[i].second);
		g_autoptr(GPtrArray) problems = sim_problems_new();
		sim_validate_conflicts(first->container_responses[0],
				       second->container_responses[0], problems);
		assert_int_equal(sim_problems_have(problems, "conflict"), cases[i].conflict);
	}
}

static void invalid_utf8_does_not_decode_where_the_kubelet_checks(void **state)
{
	g_autoptr(GBytes) list = fake_pack_list("a\xff=Healthy");
	g_autoptr(GBytes) allocated = fake_pack_allocated("env A=\xff");
	g_autoptr(GBytes) preferred = fake_pack_preferred("a\xff");
	const char *problem = NULL;
	(void)state;
	assert_null(sim_unpack_list(list, TRUE, &problem));
	assert_string_equal(problem, "string field contains invalid UTF-8");
	assert_null(sim_unpack_allocated(allocated, TRUE, &problem));
	problem = NULL;
	assert_null(sim_unpack_preferred(preferred, TRUE, &problem));
	assert_non_null(problem);
	g_autoptr(GPtrArray) lenient = sim_unpack_list(list, FALSE, &problem);
	assert_int_equal(lenient->len, 1);
}

static void broken_messages_do_not_decode(void **state)
{
	g_autoptr(GBytes) junk = g_bytes_new_static("\x0a\xff\xff", 3);
	struct sim_options_answer options;
	const char *problem = NULL;
	(void)state;
	assert_null(sim_unpack_list(junk, FALSE, &problem));
	assert_string_equal(problem, "cannot parse invalid wire-format data");
	assert_null(sim_unpack_register(junk, FALSE, &problem));
	assert_null(sim_unpack_allocated(junk, FALSE, &problem));
	assert_false(sim_unpack_options(junk, &options, &problem));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_judged),
		cmocka_unit_test(a_held_id_must_stay_listed),
		cmocka_unit_test(answers_are_judged),
		cmocka_unit_test(an_answer_without_a_container_is_a_problem),
		cmocka_unit_test(host_paths_are_looked_up_below_the_device_root),
		cmocka_unit_test(two_resources_of_a_container_must_agree),
		cmocka_unit_test(invalid_utf8_does_not_decode_where_the_kubelet_checks),
		cmocka_unit_test(broken_messages_do_not_decode),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
