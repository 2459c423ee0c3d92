/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
/* cmocka.h needs the ones above */
#include <cmocka.h>

#include "edge/rehearsal.h"
#include "support/capture.h"
#include "support/wait.h"

#define EVIL_DIR BINARY_DIR "/test/evil"
#define PROGRAM EVIL_DIR "/rehearse_main"

/* The evil backends, copied to where they can be trusted whatever the umask was. */
static char *backend_dir;

struct outcome {
	gboolean done;
	GError *error;
	Rehearsal **free_this;
};

static void on_done(const GError *error, gpointer data)
{
	struct outcome *outcome = data;

	assert_false(outcome->done);
	outcome->done = TRUE;
	outcome->error = error ? g_error_copy(error) : NULL;
	if (outcome->free_this)
		rehearsal_free(g_steal_pointer(outcome->free_this));
}

static gboolean is_done(gpointer data)
{
	return ((const struct outcome *)data)->done;
}

static gboolean has_no_children(gpointer data)
{
	siginfo_t info;

	(void)data;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static struct rehearsal_plan plan_for(const char *name, guint limit_ms)
{
	return (struct rehearsal_plan){.program = PROGRAM,
				       .backend_dir = backend_dir,
				       .name = name,
				       .sysfs_root = "/nowhere/sys",
				       .dev_root = "/nowhere/dev",
				       .limit_ms = limit_ms};
}

static void copy_backend(const char *name)
{
	g_autofree char *from = g_strdup_printf(EVIL_DIR "/%s", name);
	g_autofree char *to = g_strdup_printf("%s/%s", backend_dir, name);
	g_autofree char *content = NULL;
	gsize length = 0;

	assert_true(g_file_get_contents(from, &content, &length, NULL));
	assert_true(g_file_set_contents(to, content, (gssize)length, NULL));
	assert_int_equal(g_chmod(to, 0644), 0);
}

static int group_setup(void **state)
{
	g_autoptr(GDir) dir = g_dir_open(EVIL_DIR, 0, NULL);
	const char *name;

	(void)state;
	backend_dir = g_dir_make_tmp("rdmadp-rehearsal-XXXXXX", NULL);
	while (dir && (name = g_dir_read_name(dir)))
		if (g_str_has_suffix(name, ".so"))
			copy_backend(name);
	return dir ? 0 : -1;
}

static int group_teardown(void **state)
{
	g_autoptr(GDir) dir = g_dir_open(backend_dir, 0, NULL);
	const char *name;

	(void)state;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(backend_dir, name, NULL);

		(void)g_unlink(path);
	}
	(void)g_rmdir(backend_dir);
	g_clear_pointer(&backend_dir, g_free);
	return 0;
}

/* Rehearses; returns the error or NULL. */
static GError *rehearse(const char *name, guint limit_ms)
{
	struct rehearsal_plan plan = plan_for(name, limit_ms);
	struct outcome outcome = {0};
	g_autoptr(Rehearsal) rehearsal = rehearsal_start(&plan, on_done, &outcome, NULL);

	assert_non_null(rehearsal);
	test_wait(is_done, &outcome);
	return outcome.error;
}

static void a_backend_that_behaves_survives(void **state)
{
	static const char *const names[] = {"good", "later", "fail_init", "fail_discover"};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GError) error = rehearse(names[i], TEST_WAIT_MS);

		if (error)
			fail_msg("%s: %s", names[i], error->message);
	}
	test_wait(has_no_children, NULL);
}

static void a_backend_that_does_not_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *name;
		const char *says;
	} cases[] = {
		{"crash_load", "it died of SIGILL during its first discovery"},
		{"crash_init", "it died of SIGSEGV during its first discovery"},
		{"crash_discover", "it died of SIGSEGV during its first discovery"},
		{"crash_fini", "it died of SIGBUS during its first discovery"},
		{"abort_discover", "its last line was: d0: assertion failed"},
		{"exit_discover", "it ended the process with status 7 during its first discovery; "
				  "its last line was: the bus is not to my taste"},
		{"quit_discover", "it ended the process with status 4"},
		{"chatty", "status 7"},
		{"greedy", "during its first discovery"},
		{"misnamed", "calls itself 'other'"},
		{"unresolved", "evil_nobody_has_this"},
		{"missing", "no file '"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *name = g_strdup_printf("backend '%s'", cases[i].name);
		g_autoptr(GError) error = rehearse(cases[i].name, TEST_WAIT_MS);

		assert_true(g_error_matches(error, REHEARSAL_ERROR, REHEARSAL_ERROR_REFUSED));
		if (!strstr(error->message, cases[i].says) || !strstr(error->message, name))
			fail_msg("\"%s\" does not say \"%s\"", error->message, cases[i].says);
	}
	test_wait(has_no_children, NULL);
}

static void a_backend_that_hangs_is_killed(void **state)
{
	g_autoptr(GError) error = rehearse("hang_discover", 300);

	(void)state;
	assert_true(g_error_matches(error, REHEARSAL_ERROR, REHEARSAL_ERROR_REFUSED));
	assert_non_null(strstr(error->message, "backend 'hang_discover' is refused: its first "
					       "discovery did not end within 0.3 s"));
	test_wait(has_no_children, NULL);
}

static void rehearsals_run_side_by_side(void **state)
{
	static const char *const names[] = {"good", "crash_init", "later", "exit_discover"};
	Rehearsal *rehearsals[G_N_ELEMENTS(names)];
	struct outcome outcomes[G_N_ELEMENTS(names)] = {0};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		struct rehearsal_plan plan = plan_for(names[i], TEST_WAIT_MS);

		rehearsals[i] = rehearsal_start(&plan, on_done, &outcomes[i], NULL);
		assert_non_null(rehearsals[i]);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		test_wait(is_done, &outcomes[i]);
		rehearsal_free(rehearsals[i]);
	}
	assert_null(outcomes[0].error);
	assert_non_null(strstr(outcomes[1].error->message, "'crash_init'"));
	assert_null(outcomes[2].error);
	assert_non_null(strstr(outcomes[3].error->message, "'exit_discover'"));
	g_clear_error(&outcomes[1].error);
	g_clear_error(&outcomes[3].error);
}

static void freeing_kills_the_child_and_tells_nobody(void **state)
{
	struct rehearsal_plan plan = plan_for("hang_discover", TEST_WAIT_MS);
	struct outcome outcome = {0};
	Rehearsal *rehearsal = rehearsal_start(&plan, on_done, &outcome, NULL);

	(void)state;
	assert_non_null(rehearsal);
	rehearsal_free(rehearsal);
	test_wait(has_no_children, NULL);
	assert_false(outcome.done);
	rehearsal_free(NULL);
}

static void done_may_free_the_rehearsal(void **state)
{
	static const struct {
		const char *name;
		guint limit_ms;
	} cases[] = {{"good", TEST_WAIT_MS}, {"hang_discover", 50}};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rehearsal_plan plan = plan_for(cases[i].name, cases[i].limit_ms);
		Rehearsal *rehearsal = NULL;
		struct outcome outcome = {.free_this = &rehearsal};

		rehearsal = rehearsal_start(&plan, on_done, &outcome, NULL);
		test_wait(is_done, &outcome);
		assert_null(rehearsal);
		g_clear_error(&outcome.error);
		test_wait(has_no_children, NULL);
	}
}

static void a_program_that_is_not_there_is_an_error_of_its_own(void **state)
{
	struct rehearsal_plan plan = plan_for("good", 0);
	struct outcome outcome = {0};
	g_autoptr(GError) error = NULL;

	(void)state;
	plan.program = "/nowhere/rdmadp";
	assert_null(rehearsal_start(&plan, on_done, &outcome, &error));
	assert_true(g_error_matches(error, REHEARSAL_ERROR, REHEARSAL_ERROR_LACK));
	assert_non_null(strstr(error->message, "'/nowhere/rdmadp' does not start: No such file"));
	assert_false(outcome.done);
}

static void what_is_short_is_no_fault_of_the_backend(void **state)
{
	static const struct {
		const char *script;
		const char *says;
	} cases[] = {
		{"#!/bin/sh\necho 'backend cannot be rehearsed: no thread' >&2\nexit 5\n",
		 "backend cannot be rehearsed: no thread"},
		{"#!/bin/sh\nkill -KILL $$\n",
		 "backend 'good' cannot be rehearsed: the process was killed (SIGKILL)"},
	};
	g_autofree char *program = g_build_filename(backend_dir, "program", NULL);

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rehearsal_plan plan = plan_for("good", TEST_WAIT_MS);
		struct outcome outcome = {0};
		g_autoptr(Rehearsal) rehearsal = NULL;

		plan.program = program;
		assert_true(g_file_set_contents(program, cases[i].script, -1, NULL));
		assert_int_equal(g_chmod(program, 0755), 0);
		rehearsal = rehearsal_start(&plan, on_done, &outcome, NULL);
		assert_non_null(rehearsal);
		test_wait(is_done, &outcome);
		assert_true(g_error_matches(outcome.error, REHEARSAL_ERROR, REHEARSAL_ERROR_LACK));
		assert_non_null(strstr(outcome.error->message, cases[i].says));
		g_clear_error(&outcome.error);
	}
}

static void the_child_returns_its_verdict(void **state)
{
	static const struct {
		const char *name;
		int status;
		const char *says;
	} cases[] = {
		{"good", 0, "backend good: started"},
		{"fail_discover", 0, "backend 'fail_discover': scan failed: Input/output error"},
		{"no_symbol", REHEARSAL_EXIT_REFUSED, "no_symbol.so' is refused"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rehearsal_plan plan = plan_for(cases[i].name, 0);
		g_autofree char *text = NULL;
		int status;

		capture_start();
		status = rehearsal_perform(&plan);
		text = capture_stop();
		assert_int_equal(status, cases[i].status);
		assert_non_null(strstr(text, cases[i].says));
	}
}

static void wrong_arguments_are_refused(void **state)
{
	static const char *const cases[] = {
		"rehearse",
		"rehearse --backend-dir d --sysfs s --dev d",
		"rehearse --backend-dir d --sys s --dev d good",
		"rehearse --backend-dir d --sysfs s --dev d a b",
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) argv = g_strsplit(cases[i], " ", -1);
		g_autofree char *text = NULL;
		int status;

		capture_start();
		status = rehearsal_main((int)g_strv_length(argv), argv);
		text = capture_stop();
		assert_int_equal(status, REHEARSAL_EXIT_USAGE);
		assert_true(g_str_has_prefix(text, "usage: rdmadp rehearse "));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_backend_that_behaves_survives),
		cmocka_unit_test(a_backend_that_does_not_is_refused_with_the_reason),
		cmocka_unit_test(a_backend_that_hangs_is_killed),
		cmocka_unit_test(rehearsals_run_side_by_side),
		cmocka_unit_test(freeing_kills_the_child_and_tells_nobody),
		cmocka_unit_test(done_may_free_the_rehearsal),
		cmocka_unit_test(a_program_that_is_not_there_is_an_error_of_its_own),
		cmocka_unit_test(what_is_short_is_no_fault_of_the_backend),
		cmocka_unit_test(the_child_returns_its_verdict),
		cmocka_unit_test(wrong_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
