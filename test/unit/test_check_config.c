/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/check_config.h"
#include "edge/json.h"
#include "edge/settings.h"

#define CONFIGS SOURCE_DIR "/test/fixtures/config/"
#define EXAMPLES SOURCE_DIR "/etc/examples/"
#define SRIOV SOURCE_DIR "/etc/sriov/"
#define SHIPPED SOURCE_DIR "/etc/rdmadp.conf"

static char *folder;

static int folder_begin(void **state)
{
	(void)state;
	folder = g_dir_make_tmp("rdmadp-check-XXXXXX", NULL);
	return folder == NULL ? -1 : 0;
}

static int folder_end(void **state)
{
	(void)state;
	int status = g_rmdir(folder);
	g_free(folder);
	return status;
}

static int from_sriov(const char *settings G_GNUC_UNUSED, const char *path,
		      gboolean json G_GNUC_UNUSED)
{
	const Options options = {.from_sriov = (char *)path};
	return check_config_run(&options);
}

/* Runs a command with stdout in a file; returns what it printed. */
static char *run_command(int (*command)(const char *settings, const char *resources, gboolean json),
			 const char *settings, const char *resources, gboolean json,
			 int *ret_status)
{
	g_autofree char *path = g_build_filename(folder, "stdout", NULL);
	char *text = NULL;
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(saved >= 0 && fd >= 0);
	assert_true(dup2(fd, STDOUT_FILENO) >= 0);
	*ret_status = command(settings, resources, json);
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	close(fd);
	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_unlink(path);
	return text;
}

static int check(const char *settings, const char *resources, gboolean json)
{
	const Options options = {
		.config = (char *)settings,
		.resources = (char *)resources,
		.json = json,
		.no_node = TRUE,
	};
	return check_config_run(&options);
}

static char *run(const char *settings, const char *resources, gboolean json, int *ret_status)
{
	return run_command(check, settings, resources, json, ret_status);
}

static void good_files_are_ok(void **state)
{
	(void)state;
	static const char *const examples[] = {
		EXAMPLES "shared.json", EXAMPLES "huawei-pci.json", EXAMPLES "huawei-ub.json",
		EXAMPLES "mock.json",	EXAMPLES "exclusive.json",  SRIOV "rdmadp.json",
	};
	for (size_t i = 0; i < G_N_ELEMENTS(examples); i++) {
		int status;
		g_autofree char *text = run(SHIPPED, examples[i], FALSE, &status);
		g_autofree char *want = g_strdup_printf("%s: ok\n%s: ok\n", SHIPPED, examples[i]);
		assert_int_equal(status, 0);
		assert_string_equal(text, want);
	}
}

static void every_example_is_checked(void **state)
{
	(void)state;
	GDir *dir = g_dir_open(EXAMPLES, 0, NULL);
	guint n = 0;
	assert_non_null(dir);
	for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir)) {
		g_autofree char *path = g_strconcat(EXAMPLES, name, NULL);
		int status;
		g_autofree char *text = run(SHIPPED, path, FALSE, &status);
		assert_int_equal(status, 0);
		assert_null(strstr(text, "warning"));
		n++;
	}
	g_dir_close(dir);
	assert_true(n >= 4);
}

static void a_file_of_the_sriov_plugin_is_converted(void **state)
{
	(void)state;
	g_autofree char *path = g_build_filename(folder, "converted.json", NULL);
	int status;
	g_autofree char *text =
		run_command(from_sriov, NULL, SRIOV "sriov-plugin.json", FALSE, &status);
	assert_int_equal(status, 0);
	assert_true(g_file_set_contents(path, text, -1, NULL));
	g_autofree char *checked = run(SHIPPED, path, FALSE, &status);
	assert_int_equal(status, 0);
	assert_true(g_str_has_suffix(checked, "converted.json: ok\n"));
	g_unlink(path);
	g_autofree char *missing = run_command(from_sriov, NULL, path, FALSE, &status);
	assert_int_equal(status, 1);
	assert_string_equal(missing, "");
	g_autofree char *ours = run_command(from_sriov, NULL, SRIOV "rdmadp.json", FALSE, &status);
	assert_int_equal(status, 1);
	assert_string_equal(ours, "");
}

static void errors_and_warnings_are_listed(void **state)
{
	(void)state;
	int status;
	g_autofree char *text = run(SHIPPED, CONFIGS "peer-t13.json", FALSE, &status);
	assert_int_equal(status, 1);
	assert_string_equal(
		text,
		SHIPPED ": ok\n" CONFIGS
			"peer-t13.json: error: configList[0].rdmaHcaMax: Invalid value for "
			"rdmaHcaMax < 0: -100; write the number of pods that may share the "
			"devices\n" CONFIGS
			"peer-t13.json: warning: configList[0].devices: the \"devices\" field is "
			"deprecated; write \"selectors\": {\"ifNames\": …}\n" CONFIGS
			"peer-t13.json: errors: 1, warnings: 1\n");
}

static void warnings_alone_are_no_failure(void **state)
{
	(void)state;
	int status;
	g_autofree char *text = run(SHIPPED, CONFIGS "peer-t07.json", FALSE, &status);
	assert_int_equal(status, 0);
	assert_true(g_str_has_suffix(text, "peer-t07.json: errors: 0, warnings: 1\n"));
}

static void a_named_settings_file_must_be_there(void **state)
{
	(void)state;
	int status;
	g_autofree char *missing = g_build_filename(folder, "missing.conf", NULL);
	g_autofree char *text = run(missing, EXAMPLES "mock.json", FALSE, &status);
	assert_int_equal(status, 1);
	assert_non_null(strstr(text, "missing.conf: error: cannot be read: No such file"));
	assert_non_null(strstr(text, "mock.json: ok\n"));
}

/* Whether the machine has the default file or not. */
static void the_default_settings_file_may_be_missing(void **state)
{
	(void)state;
	int status;
	gboolean is_there = g_file_test(SETTINGS_DEFAULT_PATH, G_FILE_TEST_EXISTS);
	g_autofree char *text = run(NULL, EXAMPLES "mock.json", FALSE, &status);
	g_autofree char *json = run(NULL, EXAMPLES "mock.json", TRUE, &status);
	assert_non_null(strstr(text, SETTINGS_DEFAULT_PATH ": "));
	assert_int_equal(strstr(text, "not there; the defaults hold") == NULL, is_there);
	assert_int_equal(strstr(json, "\"missing\": true") == NULL, is_there);
}

static void the_settings_name_the_resource_file(void **state)
{
	(void)state;
	int status;
	g_autofree char *settings = g_build_filename(folder, "x.conf", NULL);
	g_autofree char *line = g_strdup_printf("resources = \"%s\";\n", EXAMPLES "mock.json");
	assert_true(g_file_set_contents(settings, line, -1, NULL));
	g_autofree char *text = run(settings, NULL, FALSE, &status);
	g_unlink(settings);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, EXAMPLES "mock.json: ok\n"));
}

static const JsonValue *member(const JsonValue *object, const char *key)
{
	const JsonValue *value = json_find(object, key);
	if (value == NULL)
		fail_msg("'%s' is missing", key);
	return value;
}

static void json_says_the_same(void **state)
{
	(void)state;
	int status;
	g_autofree char *text = run(SHIPPED, CONFIGS "peer-t13.json", TRUE, &status);
	g_autoptr(JsonValue) top = json_parse(text, strlen(text), NULL);
	assert_int_equal(status, 1);
	assert_non_null(top);
	assert_false(member(top, "ok")->boolean);
	assert_true(member(member(top, "settings"), "ok")->boolean);
	const JsonValue *resources = member(top, "resources");
	const JsonValue *findings = member(resources, "findings");
	assert_string_equal(member(resources, "file")->string, CONFIGS "peer-t13.json");
	assert_null(json_find(resources, "resources"));
	assert_int_equal(findings->items->len, 2);
	const JsonValue *first = g_ptr_array_index(findings->items, 0);
	assert_string_equal(member(first, "level")->string, "error");
	assert_string_equal(member(first, "where")->string, "configList[0].rdmaHcaMax");
	assert_true(g_str_has_prefix(member(first, "text")->string, "configList[0].rdmaHcaMax: "));
}

static void json_of_a_good_file_counts_its_resources(void **state)
{
	(void)state;
	int status;
	g_autofree char *text = run(SHIPPED, EXAMPLES "shared.json", TRUE, &status);
	g_autoptr(JsonValue) top = json_parse(text, strlen(text), NULL);
	assert_int_equal(status, 0);
	assert_non_null(top);
	assert_true(member(top, "ok")->boolean);
	assert_int_equal(member(member(top, "resources"), "resources")->integer, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_files_are_ok),
		cmocka_unit_test(every_example_is_checked),
		cmocka_unit_test(a_file_of_the_sriov_plugin_is_converted),
		cmocka_unit_test(errors_and_warnings_are_listed),
		cmocka_unit_test(warnings_alone_are_no_failure),
		cmocka_unit_test(a_named_settings_file_must_be_there),
		cmocka_unit_test(the_default_settings_file_may_be_missing),
		cmocka_unit_test(the_settings_name_the_resource_file),
		cmocka_unit_test(json_says_the_same),
		cmocka_unit_test(json_of_a_good_file_counts_its_resources),
	};
	return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
