/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every test/fixtures/config/NAME.json is read and what comes out is compared with
 * NAME.expected: the findings, then the resources. UPDATE_EXPECTED=1 writes it anew.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "edge/resource_file.h"

#define FIXTURES SOURCE_DIR "/test/fixtures/config"

static void print_findings(GString *out, GPtrArray *findings)
{
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);
		g_string_append_printf(out, "%s: %s\n",
				       finding->level == FINDING_ERROR ? "error" : "warning",
				       finding->text);
	}
}

static void print_list(GString *out, const char *indent, const char *key, GStrv values)
{
	if (values == NULL)
		return;
	g_autofree char *all = g_strjoinv(" | ", values);
	g_string_append_printf(out, "%s%s: %s\n", indent, key, all);
}

static void print_selector(GString *out, const char *indent, const struct selector *selector)
{
	for (int key = 0; key < SELECTOR_N_KEYS; key++)
		print_list(out, indent, selector_key_name((enum selector_key)key),
			   selector->values[key]);
	if (selector->attributes != NULL) {
		g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(selector->attributes),
						    (GCompareFunc)strcmp);
		for (GList *at = keys; at != NULL; at = at->next) {
			g_autofree char *key = g_strconcat("attributes.", at->data, NULL);
			print_list(out, indent, key,
				   g_hash_table_lookup(selector->attributes, at->data));
		}
	}
	if (selector->exclude == NULL)
		return;
	g_autofree char *deeper = g_strconcat(indent, "  ", NULL);
	g_string_append_printf(out, "%sexclude:\n", indent);
	print_selector(out, deeper, selector->exclude);
}

static const char *const modes[] = {"shared", "exclusive", "auto"};
static const char *const policies[] = {"perDevice", "anyDevice", "allDevices", "off"};
static const char *const rules[] = {"off", "optional", "required"};

static void print_answer(GString *out, const ResourceConfig *config)
{
	g_string_append_printf(out, "  chars: rdma_cm %s, umad %s, issm %s\n",
			       rules[config->rdma_cm], rules[config->umad], rules[config->issm]);
	print_list(out, "  ", "extra", config->extra_devices);
	for (guint i = 0; config->mounts != NULL && i < config->mounts->len; i++) {
		const struct resource_mount *mount = g_ptr_array_index(config->mounts, i);
		g_string_append_printf(out, "  mount: %s at %s%s\n", mount->host_path,
				       mount->container_path, mount->read_only ? " read-only" : "");
	}
	if (config->env_hca_list != NULL)
		g_string_append_printf(out, "  env: %s\n", config->env_hca_list);
}

static void print_resource(GString *out, const ResourceConfig *config)
{
	const struct health_overrides *health = &config->health;
	g_string_append_printf(out, "resource %s (%s + %s): %s, max %d, bus %s\n",
			       config->full_name, config->prefix, config->name, modes[config->mode],
			       config->rdma_hca_max, config->bus);
	for (guint i = 0; i < config->selectors->len; i++) {
		g_string_append_printf(out, "  selector %u:\n", i);
		print_selector(out, "    ", g_ptr_array_index(config->selectors, i));
	}
	print_answer(out, config);
	g_string_append_printf(out,
			       "  health: %s, down %g, up %g, unknown %g, scans %d, assume %d\n"
			       "  topology: %d, allocation: %s\n",
			       policies[config->health_policy], health->down_delay_s,
			       health->up_delay_s, health->unknown_limit_s, health->missing_scans,
			       health->assume_initial, config->topology,
			       config->allocation_policy == ALLOCATION_PACKED ? "packed"
									      : "distributed");
}

static char *outcome(const char *path)
{
	GString *out = g_string_new(NULL);
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(ResourceFile) file = resource_file_read(path, findings);
	print_findings(out, findings);
	assert_int_equal(file == NULL, findings_have_error(findings));
	if (file == NULL)
		return g_string_free(out, FALSE);
	g_string_append_printf(out, "rescan %d, fault detect %d\n", file->rescan_s,
			       file->fault_detect_s);
	for (guint i = 0; i < file->resources->len; i++)
		print_resource(out, g_ptr_array_index(file->resources, i));
	return g_string_free(out, FALSE);
}

static gboolean is_as_expected(const char *name)
{
	g_autofree char *path = g_strdup_printf(FIXTURES "/%s.json", name);
	g_autofree char *expected_path = g_strdup_printf(FIXTURES "/%s.expected", name);
	g_autofree char *expected = NULL;
	g_autofree char *actual = outcome(path);
	if (g_getenv("UPDATE_EXPECTED") != NULL)
		assert_true(g_file_set_contents(expected_path, actual, -1, NULL));
	if (!g_file_get_contents(expected_path, &expected, NULL, NULL))
		fail_msg("%s: cannot be read", expected_path);
	if (g_str_equal(expected, actual))
		return TRUE;
	print_error("%s: expected\n%s--- but is\n%s", name, expected, actual);
	return FALSE;
}

static GPtrArray *fixture_names(void)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	GDir *dir = g_dir_open(FIXTURES, 0, NULL);
	assert_non_null(dir);
	for (const char *file = g_dir_read_name(dir); file != NULL; file = g_dir_read_name(dir)) {
		if (g_str_has_suffix(file, ".json"))
			g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".json")));
	}
	g_dir_close(dir);
	return names;
}

static void fixtures_give_what_is_expected(void **state)
{
	(void)state;
	g_autoptr(GPtrArray) names = fixture_names();
	guint wrong = 0;
	assert_true(names->len > 100);
	for (guint i = 0; i < names->len; i++)
		wrong += !is_as_expected(g_ptr_array_index(names, i));
	assert_int_equal(wrong, 0);
}

/* The texts that operators of the peer search for. */
static void known_texts_are_kept(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"peer-t10", "no resources configuration found"},
		{"peer-t11", "resource name \"test_config$$\" contains invalid characters"},
		{"peer-t12", "resource name \"test_config\" already exists"},
		{"peer-t13", "Invalid value for rdmaHcaMax < 0: -100"},
		{"peer-t14", "Cannot specify both \"selectors\" and \"devices\" fields"},
		{"peer-t15", "neither \"selectors\" nor \"devices\""},
		{"peer-t16", "invalid \"periodicUpdateInterval\" configuration \"-10\""},
		{"peer-t07", "\"devices\" field is deprecated"},
		{"field-f16",
		 "configList[0].selectors.deviceIDs[0]: \"0000:41:00.2\" is a PCI address"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_strdup_printf(FIXTURES "/%s.json", cases[i].name);
		g_autofree char *text = outcome(path);
		if (strstr(text, cases[i].text) == NULL)
			fail_msg("%s: '%s' is not in '%s'", cases[i].name, cases[i].text, text);
	}
}

static void assert_unreadable(const char *path, const char *reason)
{
	g_autoptr(GPtrArray) findings = findings_new();
	assert_null(resource_file_read(path, findings));
	assert_int_equal(findings->len, 1);
	const struct finding *finding = g_ptr_array_index(findings, 0);
	assert_int_equal(finding->level, FINDING_ERROR);
	if (strstr(finding->text, reason) == NULL)
		fail_msg("'%s' is not in '%s'", reason, finding->text);
}

static void unreadable_files_are_said(void **state)
{
	(void)state;
	g_autofree char *dir = g_dir_make_tmp("rdmadp-config-XXXXXX", NULL);
	g_autofree char *fifo = g_build_filename(dir, "fifo", NULL);
	g_autofree char *large = g_build_filename(dir, "large", NULL);
	g_autofree char *missing = g_build_filename(dir, "missing", NULL);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	g_autofree char *filler = g_strnfill(4 * 1024 * 1024 + 1, ' ');
	assert_true(g_file_set_contents(large, filler, -1, NULL));
	assert_unreadable(missing, "No such file or directory");
	assert_unreadable(dir, "it is a directory");
	assert_unreadable(fifo, "it is not a regular file");
	assert_unreadable(large, "it is larger than 4 MiB");
	g_unlink(fifo);
	g_unlink(large);
	g_rmdir(dir);
}

static void a_file_without_permission_is_said(void **state)
{
	(void)state;
	if (geteuid() == 0) /* who may read everything */
		skip();
	g_autofree char *dir = g_dir_make_tmp("rdmadp-config-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "closed", NULL);
	assert_true(g_file_set_contents(path, "{}", -1, NULL));
	assert_int_equal(g_chmod(path, 0), 0);
	assert_unreadable(path, "Permission denied");
	g_unlink(path);
	g_rmdir(dir);
}

/* Findings that were there before do not make a good file bad. */
static void earlier_findings_do_not_count(void **state)
{
	(void)state;
	static const char text[] =
		"{\"configList\":[{\"resourceName\":\"r\",\"selectors\":{\"buses\":[\"pci\"]}}]}";
	g_autoptr(GPtrArray) findings = findings_new();
	findings_add(findings, FINDING_ERROR, "something else");
	g_autoptr(ResourceFile) file = resource_file_parse(text, strlen(text), findings);
	assert_non_null(file);
	assert_int_equal(findings->len, 1);
	resource_file_free(NULL);
}

/* Ten thousand values must not take time that grows with the square. */
static void long_lists_are_read(void **state)
{
	(void)state;
	g_autoptr(GString) text = g_string_new(
		"{\"configList\":[{\"resourceName\":\"r\",\"selectors\":{\"ifNames\":[\"a\"");
	for (int i = 0; i < 10000; i++)
		g_string_append_printf(text, ",\"eth%d\"", i);
	g_string_append(text, "]}}]}");
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(ResourceFile) file = resource_file_parse(text->str, text->len, findings);
	assert_non_null(file);
	const ResourceConfig *config = g_ptr_array_index(file->resources, 0);
	const struct selector *selector = g_ptr_array_index(config->selectors, 0);
	assert_int_equal(g_strv_length(selector->values[SELECTOR_IF_NAMES]), 10001);
}

static void too_many_resources_are_refused(void **state)
{
	(void)state;
	for (guint n = 1000; n <= 1001; n++) {
		g_autoptr(GString) text = g_string_new("{\"configList\":[");
		for (guint i = 0; i < n; i++)
			g_string_append_printf(text,
					       "%s{\"resourceName\":\"r%u\",\"devices\":[\"a\"]}",
					       i > 0 ? "," : "", i);
		g_string_append(text, "]}");
		g_autoptr(GPtrArray) findings = findings_new();
		g_autoptr(ResourceFile) file = resource_file_parse(text->str, text->len, findings);
		assert_int_equal(file != NULL, n == 1000);
		assert_int_equal(findings_count(findings, FINDING_ERROR), n - 1000);
		const struct finding *first = g_ptr_array_index(findings, 0);
		if (n > 1000)
			assert_string_equal(first->text, "configList: has 1001 entries; at most "
							 "1000 are possible");
	}
}

static void the_manual_describes_every_selector(void **state)
{
	(void)state;
	g_autofree char *text = NULL;
	assert_true(g_file_get_contents(SOURCE_DIR "/packaging/man/rdmadp-resources.5", &text, NULL,
					NULL));
	for (int key = 0; key < SELECTOR_N_KEYS; key++) {
		g_autofree char *pattern = g_strdup_printf(
			"^\\.It Cm (.* , )?%s( , .*)?$", selector_key_name((enum selector_key)key));
		if (!g_regex_match_simple(pattern, text, G_REGEX_MULTILINE, 0))
			fail_msg("%s is not in rdmadp-resources(5)",
				 selector_key_name((enum selector_key)key));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixtures_give_what_is_expected),
		cmocka_unit_test(known_texts_are_kept),
		cmocka_unit_test(unreadable_files_are_said),
		cmocka_unit_test(a_file_without_permission_is_said),
		cmocka_unit_test(earlier_findings_do_not_count),
		cmocka_unit_test(long_lists_are_read),
		cmocka_unit_test(too_many_resources_are_refused),
		cmocka_unit_test(the_manual_describes_every_selector),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
