/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib.h>
#include <string.h>
#include <sys/wait.h>

#include "support/fixture.h"

#define PROGRAM BINARY_DIR "/bin/rdmadp-backend-check"
#define MOCK BINARY_DIR "/lib/rdmadp/backends/mock.so"
#define MACHINES SOURCE_DIR "/test/fixtures/machines"
#define WRONG BINARY_DIR "/test/wrong/wrong.so"

/* Who sees a leak: a leak checker at the end of the process, or the program itself. */
#if defined(__SANITIZE_ADDRESS__)
#define LEAK "exit, where what was not freed is found"
#elif defined(__SANITIZE_THREAD__)
#define LEAK NULL
#else
#define LEAK "each life of an instance leaves"
#endif

struct result {
	int status;
	char *out, *err;
};

/* A root called 'full', where the wrong backend finds its devices. */
static int setup(void **state)
{
	*state = fixture_new("dir full/bus/mock\n");
	return 0;
}

static int teardown(void **state)
{
	fixture_remove(*state);
	g_free(*state);
	return 0;
}

/* Runs the program with up to four arguments after the backend and the root. */
static struct result run(const char *root, const char *wrong, const char *file,
			 const char *const *more)
{
	g_autofree char *sysfs = g_build_filename(root, "full", NULL);
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "WRONG", wrong, TRUE);
	g_autoptr(GError) error = NULL;
	struct result result = {0};
	const char *const start[] = {PROGRAM, file, "--sysfs", sysfs};

	for (gsize i = 0; i < G_N_ELEMENTS(start); i++)
		g_ptr_array_add(argv, (char *)start[i]);
	for (; more && *more; more++)
		g_ptr_array_add(argv, (char *)*more);
	g_ptr_array_add(argv, NULL);
	if (!g_spawn_sync(NULL, (char **)argv->pdata, env, G_SPAWN_DEFAULT, NULL, NULL, &result.out,
			  &result.err, &result.status, &error))
		fail_msg("%s", error->message);
	assert_true(WIFEXITED(result.status));
	result.status = WEXITSTATUS(result.status);
	return result;
}

static void result_clear(struct result *result)
{
	g_free(result->out);
	g_free(result->err);
}

/* TRUE if a line begins with 'verdict' and has 'text' in it. */
static gboolean has_line(const char *out, const char *verdict, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(out, "\n", -1);

	for (char **line = lines; *line; line++)
		if (g_str_has_prefix(*line, verdict) && strstr(*line, text))
			return TRUE;
	return FALSE;
}

static void assert_line(const struct result *result, const char *verdict, const char *text)
{
	if (!has_line(result->out, verdict, text))
		fail_msg("no line '%s … %s' in:\n%s", verdict, text, result->out);
}

/* What each wrong gets to read. */
static const struct row {
	const char *wrong;
	const char *line;
} rows[] = {
	{"init fails", "instead of 0"},
	{"init fails and sets", "sets *ret_instance all the same"},
	{"never empty", "discover reports 2 devices in an empty directory"},
	{"discover fails", "discover returns -5 (Input/output error) instead of 0"},
	{"changes", "two scans of one bus differ"},
	{"shared", "an instance sees other devices while another one lives"},
	{"emit ignored", "emit returned -125, but discover called it 2 times"},
	{"emit translated", "emit returned -125, but discover returned -5"},
	{"log repeats", "log: it repeats at every scan: here I am"},
	{"log two lines", "log: it logs a text that is not one line: \"one\\ntwo\""},
	{"log level", "log: it logs with a level that is not in enum rdmadp_log_level"},
	{"log host", "log: it logs with another host than the one that init got"},
	{"id", "the core refuses a device"},
	{"size", "the core refuses a device"},
	{"node path", "the core refuses a device"},
	{"same id", "device 'a': another device of the scan has this id"},
	{"same identity", "device 'b': another device has its identity 'A'"},
	{"key", "attribute 'colour' is not declared in keys"},
	{"hex id", "device 'a': vendor '15B3' is not a hexadecimal id"},
	{"parent", "device 'a' is its own parent"},
	{"numa", "numa_node -2 is not in the range"},
	{"port 0", "ports[0].number 0 is not in the range"},
	{"port twice", "'wrong0' has port 1 twice"},
	{"port state", "link layer 2 and state 99"},
	{"rdma twice", "RDMA device 'wrong0' was reported before"},
	{"node kind", "has kind 99"},
	{"node port", "umad and issm have one, others 0"},
	{"node of another", "names RDMA device 'mlx5_7'"},
	{"match odd", "returns 7; it has 1, 0 and -EINVAL"},
	{"match never", "its own attribute 'vendor' = '15b3' does not match"},
	{"match counts", "match is not pure"},
	{"match writes", "match: match of 'vendor' = '15b3' on read-only memory"},
	{"health fails", "health returns -5 (Input/output error)"},
	{"health size", "it changed 'size'"},
	{"health state", "its state is not in enum"},
	{"health reason", "its reason is not in enum"},
	{"health no reason", "UNHEALTHY needs a reason"},
	{"health with reason", "HEALTHY has a reason"},
	{"health text", "its text does not end"},
	{"health lines", "its text is not one line"},
	{"health writes on", "health: health of 'a'"},
	{"health unknown", "health knows nothing of any of the devices: 2 devices"},
	{"stale", "health: health of 'b'"},
	{"stranger", "health finds a device healthy that is not there: asked for 'no-such-device'"},
	{"event closed", "event_fd returns 999, which is no open descriptor"},
	{"event odd", "event_ack returns 42"},
	{"event loud", "still readable after 100 times event_ack"},
	{"leak descriptor", "is still open: 'anon_inode:[eventfd]'"},
	{"leak thread", "left after fini: 1 thread"},
	{"leak memory", LEAK},
	{"reserved", "a member called 'reserved' is not zero"},
	{"stack", "scan: discover in '"},
	{"crash init", "empty bus: init for '"},
	{"crash discover", "scan: discover in '"},
	{"crash match", "match: match of 'vendor'"},
	{"crash health",
	 "health: health of 'a', which lies in read-only memory: killed by signal 9"},
	{"crash fini", "scan: fini: killed by signal 9"},
};

static void test_each_wrong_is_named(void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct result result;

		if (!rows[i].line)
			continue;
		result = run(*state, rows[i].wrong, WRONG, NULL);

		print_message("wrong: %s\n", rows[i].wrong);
		assert_line(&result, "FAIL  ", rows[i].line);
		assert_int_equal(result.status, 1);
		result_clear(&result);
	}
}

static void test_what_hangs_is_ended_and_named(void **state)
{
	static const char *const limit[] = {"--limit", "1", NULL};
	struct result result = run(*state, "hang health", WRONG, limit);

	assert_line(&result, "FAIL  ",
		    "health: health of 'a', which lies in read-only memory "
		    "does not return within 1 s");
	assert_line(&result, "ok    ", "ids are unique");
	assert_int_equal(result.status, 1);
	result_clear(&result);
}

static void test_a_second_exported_symbol_is_named(void **state)
{
	struct result result = run(*state, "", BINARY_DIR "/test/wrong/wrong_export.so", NULL);

	assert_line(&result, "FAIL  ", "it exports 'wrong_helper', too");
	assert_int_equal(result.status, 1);
	result_clear(&result);
}

static void assert_all_ok(struct result *result)
{
	if (result->status != 0)
		fail_msg("%s%s", strstr(result->out, "FAIL"), result->err);
	assert_non_null(strstr(result->out, " ok, 0 failed\n"));
	assert_false(has_line(result->out, "FAIL", ""));
}

static void test_what_keeps_the_contract_passes(void **state)
{
	struct result result = run(*state, "", WRONG, NULL);

	assert_all_ok(&result);
	assert_line(&result, "ok    ", "match is pure");
	result_clear(&result);
}

static void test_a_backend_may_have_no_events_now(void **state)
{
	struct result result = run(*state, "no events", WRONG, NULL);

	assert_all_ok(&result);
	assert_line(&result, "note  ", "there are no events here");
	result_clear(&result);
}

static void test_mock_keeps_the_contract(void **state)
{
	g_autofree char *devices = NULL;
	struct result result;

	assert_true(g_file_get_contents(SOURCE_DIR "/backends/mock/example-devices", &devices, NULL,
					NULL));
	fixture_write(*state, "full/bus/mock/devices", devices);
	result = run(*state, "", MOCK, NULL);
	assert_all_ok(&result);
	assert_line(&result, "ok    ", "reports 4 devices");
	assert_false(has_line(result.out, "note  ", "no device to look at"));
	result_clear(&result);
}

static void test_an_empty_bus_is_said(void **state)
{
	struct result result = run(*state, "", MOCK, NULL);

	assert_all_ok(&result);
	assert_line(&result, "note  ", "there is no device to look at");
	result_clear(&result);
}

/* --- dump and expect --- */

static void test_dump_prints_what_expect_compares(void **state)
{
	static const char *const dump[] = {"--dump", NULL};
	g_autofree char *path = g_build_filename(*state, "expected", NULL);
	const char *const expect[] = {"--expect", path, NULL};
	struct result result;

	fixture_write(*state, "full/bus/mock/devices", "device b\nhealth down x\ndevice a\n");
	result = run(*state, "", MOCK, dump);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.out, "device a\n  health ok\n\ndevice b\n  health down x\n");
	assert_true(g_file_set_contents(path, result.out, -1, NULL));
	result_clear(&result);

	result = run(*state, "", MOCK, expect);
	assert_all_ok(&result);
	assert_line(&result, "ok    ", "the devices are those of");
	result_clear(&result);

	fixture_write(*state, "full/bus/mock/devices", "device b\nhealth down y\ndevice a\n");
	result = run(*state, "", MOCK, expect);
	assert_int_equal(result.status, 1);
	assert_line(&result, "FAIL  ", "line 5: expected '  health down x', got '  health down y'");
	result_clear(&result);
}

static void test_dump_tells_what_the_backend_logs(void **state)
{
	static const char *const dump[] = {"--dump", NULL};
	struct result result;

	fixture_write(*state, "full/bus/mock/devices", "device a\nnonsense\n");
	result = run(*state, "", MOCK, dump);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.out, "");
	assert_non_null(strstr(result.err, "warning: '"));
	result_clear(&result);
}

static void test_a_report_that_is_lost_is_no_success(void **state)
{
	g_autofree char *line =
		g_strdup_printf("/bin/sh -c \"'%s' '%s' --sysfs '%s/full' >/dev/full\"", PROGRAM,
				MOCK, (const char *)*state);
	g_autofree char *err = NULL;
	int status;

	assert_true(g_spawn_command_line_sync(line, NULL, &err, &status, NULL));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
	assert_non_null(strstr(err, "the output could not be written whole"));
}

/* Health comes from the lines of the file, and the places in sysfs are comments. */
static char *served_form(const char *dump)
{
	g_autoptr(GRegex) regex = g_regex_new("^  health .*\\n| # .*$", G_REGEX_MULTILINE, 0, NULL);

	return g_regex_replace_literal(regex, dump, -1, 0, "", 0, NULL);
}

static void assert_is_served(const char *root, const char *name)
{
	static const char *const dump[] = {"--dump", NULL};
	g_autofree char *path = g_build_filename(MACHINES, name, NULL);
	g_autofree char *text = NULL;
	struct result result;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	fixture_write(root, "full/bus/mock/devices", text);
	result = run(root, "", MOCK, dump);
	g_autofree char *wanted = served_form(text);
	g_autofree char *served = served_form(result.out);
	if (strcmp(served, wanted) != 0)
		fail_msg("%s: %s\n%s", name, result.err, result.out);
	result_clear(&result);
}

static void test_the_dump_of_each_machine_can_be_served_by_mock(void **state)
{
	g_autoptr(GDir) dir = g_dir_open(MACHINES, 0, NULL);
	const char *name;
	int n = 0;

	assert_non_null(dir);
	while ((name = g_dir_read_name(dir)) != NULL) {
		if (!g_str_has_suffix(name, ".expected"))
			continue;
		assert_is_served(*state, name);
		n++;
	}
	assert_true(n > 0);
}

static void test_dump_fails_with_the_scan(void **state)
{
	static const char *const dump[] = {"--dump", NULL};
	struct result result;

	fixture_write(*state, "full/bus/mock/devices", "discover fail 5\n");
	result = run(*state, "", MOCK, dump);
	assert_int_equal(result.status, 1);
	assert_line(&result, "FAIL  ", "discover failed: Input/output error");
	result_clear(&result);
}

/* --- files that are no backends --- */

static const struct file_row {
	const char *content; /* NULL: there is no file */
	gsize size;
	const char *line;
} files[] = {
	{NULL, 0, "No such file"},
	{"", 0, "it is not a 64-bit ELF shared object"},
	{"#!/bin/sh\n", 10, "it is not a 64-bit ELF shared object"},
	{"\177ELF\002", 5, "it is not a 64-bit ELF shared object"},
};

static void test_other_files_are_refused(void **state)
{
	g_autofree char *path = g_build_filename(*state, "thing.so", NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		struct result result;

		if (files[i].content)
			assert_true(g_file_set_contents(path, files[i].content,
							(gssize)files[i].size, NULL));
		result = run(*state, "", path, NULL);
		assert_int_equal(result.status, 1);
		assert_line(&result, "FAIL  ", files[i].line);
		assert_line(&result, "0 ok", "");
		result_clear(&result);
	}
}

/* A good file with bytes overwritten: each is an error or a list, never a crash. */
static void test_damaged_files_are_refused(void **state)
{
	g_autofree char *path = g_build_filename(*state, "wrong.so", NULL);
	g_autofree char *good = NULL;
	static const gsize offsets[] = {4, 16, 40, 41, 47, 58, 60};
	gsize size = 0;

	assert_true(g_file_get_contents(WRONG, &good, &size, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(offsets); i++) {
		g_autofree char *bad = g_memdup2(good, size);
		struct result result;

		bad[offsets[i]] = (char)0xfd;
		assert_true(g_file_set_contents(path, bad, (gssize)size, NULL));
		result = run(*state, "", path, NULL);
		assert_line(&result, "FAIL  ", "file '");
		assert_int_equal(result.status, 1);
		result_clear(&result);
	}
}

/* Each check is a process of its own and says it for itself. */
static void test_what_repeats_is_said_once_a_check(void **state)
{
	enum { CHECKS = 9 };
	struct result result = run(*state, "log two lines", WRONG, NULL);
	g_auto(GStrv) parts = g_strsplit(result.out, "a text that is not one line", -1);

	assert_in_range(g_strv_length(parts) - 1, 1, CHECKS);
	assert_int_equal(result.status, 1);
	result_clear(&result);
}

static void test_devices_that_are_refused_are_no_empty_bus(void **state)
{
	struct result result = run(*state, "id", WRONG, NULL);

	assert_line(&result, "note  ", "the core refuses all of them");
	assert_false(has_line(result.out, "note  ", "there is no device to look at"));
	result_clear(&result);
}

static void test_usage(void **state)
{
	static const char *const limit[] = {"--limit", "0", NULL};
	static const char *const twice[] = {MOCK, NULL};
	static const char *const unknown[] = {"--colour", NULL};
	static const char *const sysfs[] = {"--sysfs", "/nonexistent", NULL};
	static const char *const dev[] = {"--dev", "/dev/null", NULL};
	const char *const *const wrong[] = {limit, twice, unknown, sysfs, dev};

	for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
		struct result result = run(*state, "", MOCK, wrong[i]);

		assert_int_equal(result.status, 2);
		assert_non_null(strstr(result.err, "rdmadp-backend-check: "));
		assert_non_null(strstr(result.err, "; see rdmadp-backend-check --help\n"));
		result_clear(&result);
	}
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_each_wrong_is_named),
		TEST(test_what_hangs_is_ended_and_named),
		TEST(test_a_second_exported_symbol_is_named),
		TEST(test_what_keeps_the_contract_passes),
		TEST(test_a_backend_may_have_no_events_now),
		TEST(test_mock_keeps_the_contract),
		TEST(test_an_empty_bus_is_said),
		TEST(test_dump_prints_what_expect_compares),
		TEST(test_dump_tells_what_the_backend_logs),
		TEST(test_a_report_that_is_lost_is_no_success),
		TEST(test_the_dump_of_each_machine_can_be_served_by_mock),
		TEST(test_dump_fails_with_the_scan),
		TEST(test_other_files_are_refused),
		TEST(test_damaged_files_are_refused),
		TEST(test_what_repeats_is_said_once_a_check),
		TEST(test_devices_that_are_refused_are_no_empty_bus),
		TEST(test_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
