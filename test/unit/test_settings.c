/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "edge/settings.h"
#include "edge/settings_keys.h"

#define SHIPPED SOURCE_DIR "/etc/rdmadp.conf"

static Settings *parse(const char *text, GPtrArray *findings)
{
	return settings_parse(text, strlen(text), "/nonexistent", findings);
}

static Settings *parse_good(const char *text)
{
	g_autoptr(GPtrArray) findings = findings_new();
	Settings *settings = parse(text, findings);
	if (findings->len > 0) {
		const struct finding *finding = g_ptr_array_index(findings, 0);
		fail_msg("'%s': %s", text, finding->text);
	}
	return settings;
}

static gboolean is_same_value(const struct setting_key *key, const Settings *a, const Settings *b)
{
	switch (key->kind) {
	case SETTING_TEXT:
	case SETTING_PATH:
		return g_strcmp0(G_STRUCT_MEMBER(char *, a, key->offset),
				 G_STRUCT_MEMBER(char *, b, key->offset)) == 0;
	case SETTING_SECONDS:
		return G_STRUCT_MEMBER(double, a, key->offset) ==
		       G_STRUCT_MEMBER(double, b, key->offset);
	case SETTING_CHOICE:
	case SETTING_COUNT:
	case SETTING_FLAG:
		break;
	}
	return G_STRUCT_MEMBER(int, a, key->offset) == G_STRUCT_MEMBER(int, b, key->offset);
}

static void assert_defaults(const Settings *settings)
{
	g_autoptr(Settings) defaults = settings_new();
	for (const struct setting_key *key = setting_keys; key->path != NULL; key++) {
		if (!is_same_value(key, settings, defaults))
			fail_msg("%s is not the default", key->path);
	}
}

static void defaults_are_documented_ones(void **state)
{
	(void)state;
	g_autoptr(Settings) settings = settings_new();
	assert_int_equal(settings->log_level, LOG_LEVEL_INFO);
	assert_int_equal(settings->log_format, LOG_FORMAT_AUTO);
	assert_true(g_str_has_suffix(settings->backend_dir, "/rdmadp/backends"));
	assert_string_equal(settings->resources, "/k8s-rdma-shared-dev-plugin/config.json");
	assert_string_equal(settings->kubelet_dir, "/var/lib/kubelet/device-plugins");
	assert_int_equal(settings->registration, REGISTRATION_REGISTER);
	assert_false(settings->unique_socket_names);
	assert_string_equal(settings->sysfs_root, "/sys");
	assert_string_equal(settings->status_socket, "/run/rdmadp/status.sock");
	assert_true(settings->poll_s == 5 && settings->down_delay_s == 10 &&
		    settings->up_delay_s == 10 && settings->unknown_limit_s == 60);
	assert_int_equal(settings->missing_scans, 3);
	assert_false(settings->assume_initial);
	assert_true(settings->retire_after_s == 600);
	settings_free(NULL);
}

static void an_empty_file_gives_the_defaults(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "\n", "# nothing", "log = { };", "/* x */"};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(Settings) settings = parse_good(texts[i]);
		assert_defaults(settings);
	}
}

static void every_key_is_read(void **state)
{
	(void)state;
	g_autoptr(Settings) settings = parse_good(
		"log = { level = \"debug\"; format = \"json\"; };\n"
		"backend_dir = \"/b/\"; resources = \"/r.json\";\n"
		"kubelet : { device_plugins_dir = \"/k/d//\"; plugins_registry_dir = \"/k/r\";\n"
		"  pod_resources_socket = \"/k/p.sock\"; registration = \"auto\";\n"
		"  unique_socket_names = true; };\n"
		"sysfs_root = \"/s\"; dev_root = \"/\"; cdi_dir = \"/c\"; devinfo_dir = \"/di/\"; "
		"state_dir = \"/st\";\n"
		"status_socket = \"\"; status_group = \"rdma\";\n"
		"mode_label = \"a.b/c\"; mode_label_file = \"/l\";\n"
		"health = { poll = 0; down_delay = 0.5; up_delay = 1; unknown_limit = 2L;\n"
		"  missing_scans = 7; initial_state = \"assume\"; };\n"
		"retire_after = 1e3;\n");
	assert_int_equal(settings->log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(settings->log_format, LOG_FORMAT_JSON);
	assert_string_equal(settings->backend_dir, "/b");
	assert_string_equal(settings->resources, "/r.json");
	assert_string_equal(settings->kubelet_dir, "/k/d");
	assert_string_equal(settings->plugins_registry_dir, "/k/r");
	assert_string_equal(settings->pod_resources_socket, "/k/p.sock");
	assert_int_equal(settings->registration, REGISTRATION_AUTO);
	assert_true(settings->unique_socket_names);
	assert_string_equal(settings->sysfs_root, "/s");
	assert_string_equal(settings->dev_root, "/");
	assert_string_equal(settings->cdi_dir, "/c");
	assert_string_equal(settings->devinfo_dir, "/di");
	assert_string_equal(settings->state_dir, "/st");
	assert_string_equal(settings->status_socket, "");
	assert_string_equal(settings->status_group, "rdma");
	assert_string_equal(settings->mode_label, "a.b/c");
	assert_string_equal(settings->mode_label_file, "/l");
	assert_true(settings->poll_s == 0 && settings->down_delay_s == 0.5 &&
		    settings->up_delay_s == 1 && settings->unknown_limit_s == 2);
	assert_int_equal(settings->missing_scans, 7);
	assert_true(settings->assume_initial);
	assert_true(settings->retire_after_s == 1000);
}

static char *all_findings(GPtrArray *findings)
{
	GString *out = g_string_new(NULL);
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);
		g_string_append_printf(out, "%s\n", finding->text);
	}
	return g_string_free(out, FALSE);
}

#define SYNTAX_ERROR                                                                               \
	"line 1: syntax error on this line or at the end of the one before; settings are written " \
	"key = value; with text in double quotes, and those of a group group = { key = value; "    \
	"};\n"

static const struct {
	const char *text, *want;
} wrong_files[] = {
	/* unknown keys */
	{"leve = 1;", "line 1: leve: unknown key; did you mean log.level?\n"},
	{"log = { levl = \"info\"; };", "line 1: log.levl: unknown key; did you mean log.level?\n"},
	{"\n\npoll = 5;", "line 3: poll: unknown key; did you mean health.poll?\n"},
	{"Log = { };", "line 1: Log: unknown key; did you mean log?\n"},
	{"color = 5;", "line 1: color: unknown key; rdmadp.conf(5) lists all\n"},
	{"log = 5;", "line 1: log: is a group; write log = { … };\n"},
	{"backend_dir = { a = 1; };",
	 "line 1: backend_dir: a group or list is not text in double quotes\n"},
	{"backend_dir = [ \"/a\" ];",
	 "line 1: backend_dir: a group or list is not text in double quotes\n"},
	/* types and ranges */
	{"backend_dir = 5;", "line 1: backend_dir: 5 is not text in double quotes\n"},
	{"log = { level = true; };", "line 1: log.level: true is not text in double quotes\n"},
	{"health = { poll = \"5\"; };", "line 1: health.poll: \"5\" is not a number of seconds\n"},
	{"health = { poll = false; };", "line 1: health.poll: false is not a number of seconds\n"},
	{"health = { poll = -1; };",
	 "line 1: health.poll: -1 is out of range; from 0 to 86400 are allowed\n"},
	{"health = { poll = 0.0001; };",
	 "line 1: health.poll: 0.0001 is less than a millisecond; write 0 or 0.001\n"},
	{"health = { missing_scans = 0; };",
	 "line 1: health.missing_scans: 0 is out of range; from 1 to 1000 are allowed\n"},
	{"health = { missing_scans = 2.5; };",
	 "line 1: health.missing_scans: 2.5 is not a whole number\n"},
	{"kubelet = { unique_socket_names = 1; };",
	 "line 1: kubelet.unique_socket_names: 1 is not true or false\n"},
	{"kubelet = { unique_socket_names = \"true\"; };",
	 "line 1: kubelet.unique_socket_names: \"true\" is not true or false\n"},
	{"log = { level = \"warn\"; };", "line 1: log.level: \"warn\" is unknown; possible "
					 "are \"error\", \"warning\", \"info\", "
					 "\"debug\"\n"},
	{"log = { level = \"inof\"; };",
	 "line 1: log.level: \"inof\" is unknown; did you mean \"info\"?\n"},
	{"sysfs_root = \"\";", "line 1: sysfs_root: is empty; remove the line for the default\n"},
	{"sysfs_root = \"sys\";", "line 1: sysfs_root: \"sys\" is not an absolute path\n"},
	{"sysfs_root = \"/a/../b\";", "line 1: sysfs_root: \"/a/../b\" contains '.' or '..'\n"},
	{"mode_label = \"a=b\";",
	 "line 1: mode_label: \"a=b\" contains a character that does not belong there\n"},
	{"status_group = \"a b\";",
	 "line 1: status_group: \"a b\" contains a character that does not belong there\n"},
	{"mode_label = \"a/b/c\";",
	 "line 1: mode_label: \"a/b/c\" is not the key of a node label, such as "
	 "\"rdma.network.alibabacloud.com/exclusive\"\n"},
	/* all at once */
	{"a_b_c = 1;\nlog = { level = 3;\n format = 4; };\n",
	 "line 1: a_b_c: unknown key; rdmadp.conf(5) lists all\n"
	 "line 2: log.level: 3 is not text in double quotes\n"
	 "line 3: log.format: 4 is not text in double quotes\n"},
	/* integers that the library would wrap: the third would look sane */
	{"health = {\n poll = 2147483648; };", "line 2: the number 2147483648 is too large\n"
					       "line 2: health.poll: -2147483648 is out of "
					       "range; from 0 to 86400 are allowed\n"},
	{"health = { poll = 0xFFFFFFFF; };",
	 "line 1: the number 0xFFFFFFFF is too large\n"
	 "line 1: health.poll: -1 is out of range; from 0 to 86400 are allowed\n"},
	{"health = { poll = 4294967301; };", "line 1: the number 4294967301 is too large\n"},
	{"health = { poll = 99999999999999999999999; };",
	 "line 1: the number 99999999999999999999999 is too large\n"
	 "line 1: health.poll: -1 is out of range; from 0 to 86400 are allowed\n"},
	{"retire_after = 99999999999999999999L;",
	 "line 1: retire_after: 9.22337203685478e+18 is out of range; from 0 to 31536000 "
	 "are "
	 "allowed\n"},
	/* syntax */
	{"a = \"x\ny\";", "line 1: text has no closing \" on the same line\n"},
	{"resources = \"/x", "line 1: text has no closing \" on the same line\n"},
	{"log = { };\n/* level = 3\n\n", "line 2: the comment that begins here has no end (*/)\n"},
	{"resources = \"/x\"; resources = \"/y\";", "line 1: this key is there twice; keep one\n"},
	{"log = { }\nlog = { }", "line 2: this key is there twice; keep one\n"},
	{"resources = /x;", SYNTAX_ERROR},
	{"\xef\xbb\xbfresources = \"/x\";",
	 "begins with a byte order mark (BOM); save it as UTF-8 without BOM\n"},
	{"kubelet = { dir = \"/data/kubelet\"; };",
	 "line 1: kubelet.dir: unknown key; the directories below the kubelet's are "
	 "kubelet.device_plugins_dir, kubelet.plugins_registry_dir and "
	 "kubelet.pod_resources_socket\n"},
	{"@include \"x.conf\"\n",
	 "line 1: '/nonexistent/x.conf' cannot be included: No such file or directory\n"},
	{"@include \"a\\\"b\"\n", "line 1: '/nonexistent/a\\' cannot be included: its name has a "
				  "'\\'\n"},
	{"@includ \"x\"", SYNTAX_ERROR},
	{"@include x", SYNTAX_ERROR},
};

static void wrong_files_are_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(wrong_files); i++) {
		g_autoptr(GPtrArray) findings = findings_new();
		g_autoptr(Settings) settings = parse(wrong_files[i].text, findings);
		g_autofree char *text = all_findings(findings);
		if (settings != NULL || !g_str_equal(text, wrong_files[i].want))
			fail_msg("'%s' gives '%s', not '%s'", wrong_files[i].text, text,
				 wrong_files[i].want);
	}
}

static void what_looks_wrong_but_is_not_is_taken(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"# poll = 99999999999;",
		"// \"",
		"/* \" 99999999999 */",
		"resources = \"/99999999999 # // /* @include \\\" \";",
		"resources = \"/a\"\n",
		"health = { poll = 0x10; down_delay = 010; up_delay = 2147483647e-9; };",
	};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(Settings) settings = parse_good(texts[i]);
		assert_non_null(settings);
	}
}

static void long_paths_are_refused_with_the_limit(void **state)
{
	(void)state;
	static const struct {
		const char *format;
		guint longest;
	} cases[] = {
		{"kubelet = { device_plugins_dir = \"/%s\"; };", 82},
		{"kubelet = { plugins_registry_dir = \"/%s\"; };", 82},
		{"kubelet = { pod_resources_socket = \"/%s\"; };", 107},
		{"status_socket = \"/%s\";", 107},
		{"backend_dir = \"/%s\";", 4095},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) parts = g_strsplit(cases[i].format, "%s", 2);
		g_autofree char *fits = g_strnfill(cases[i].longest - 1, 'x');
		g_autofree char *good = g_strconcat(parts[0], fits, parts[1], NULL);
		g_autofree char *bad = g_strconcat(parts[0], "x", fits, parts[1], NULL);
		g_autoptr(GPtrArray) findings = findings_new();
		g_autoptr(Settings) settings = parse_good(good);
		assert_non_null(settings);
		assert_null(parse(bad, findings));
		g_autofree char *limit =
			g_strdup_printf("%u of %u bytes", cases[i].longest + 1, cases[i].longest);
		const struct finding *finding = g_ptr_array_index(findings, 0);
		if (cases[i].longest < 1000)
			assert_non_null(strstr(finding->text, limit));
	}
}

static void a_label_file_needs_a_label(void **state)
{
	(void)state;
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(Settings) settings =
		parse("mode_label = \"\"; mode_label_file = \"/x\";", findings);
	assert_non_null(settings);
	assert_int_equal(findings_count(findings, FINDING_WARNING), 1);
}

static void zero_bytes_are_refused(void **state)
{
	(void)state;
	g_autoptr(GPtrArray) findings = findings_new();
	assert_null(settings_parse("log = { };\0x", 12, "/", findings));
	assert_int_equal(findings->len, 1);
}

static void deep_nesting_is_survived(void **state)
{
	(void)state;
	GString *text = g_string_new(NULL);
	for (int i = 0; i < 100000; i++)
		g_string_append(text, "a={");
	g_autoptr(GPtrArray) findings = findings_new();
	assert_null(parse(text->str, findings));
	assert_true(findings_have_error(findings));
	g_string_free(text, TRUE);
}

static int folder_begin(void **state)
{
	*state = g_dir_make_tmp("rdmadp-settings-XXXXXX", NULL);
	return *state == NULL ? -1 : 0;
}

static int folder_end(void **state)
{
	const char *path = *state;
	GDir *dir = g_dir_open(path, 0, NULL);
	for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir)) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		g_remove(file);
	}
	g_dir_close(dir);
	g_rmdir(path);
	g_free(*state);
	return 0;
}

static char *write_file(void **state, const char *name, const char *text)
{
	char *path = g_build_filename(*state, name, NULL);
	assert_true(g_file_set_contents(path, text, -1, NULL));
	return path;
}

static void included_files_count_and_are_named(void **state)
{
	g_autofree char *main_file =
		write_file(state, "main.conf", "@include \"b.conf\"\nresources = \"/r\";\n");
	g_autofree char *b = write_file(state, "b.conf", "retire_after = 7;\n");
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(Settings) settings = settings_read(main_file, TRUE, findings);
	assert_non_null(settings);
	assert_true(settings->retire_after_s == 7);
	assert_string_equal(settings->resources, "/r");

	static const char *const bad[][2] = {
		{"\nfoo_bar = 1;\n", "b.conf:2: foo_bar: unknown key"},
		{"\n\nretire_after = 4294967296;\n",
		 "b.conf:3: the number 4294967296 is too large"},
		{"retire_after = ;\n", "b.conf:1: syntax error"},
		{"@include \"main.conf\"\n", "main.conf:1: include file nesting too deep"},
		{"@include \"folder\"\n", "folder' cannot be included: it is a directory"},
		{"@include \"fifo\"\n", "fifo' cannot be included: it is not a regular file"},
	};
	g_autofree char *folder = g_build_filename(*state, "folder", NULL);
	g_autofree char *fifo = g_build_filename(*state, "fifo", NULL);
	assert_int_equal(g_mkdir(folder, 0700), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GPtrArray) problems = findings_new();
		assert_true(g_file_set_contents(b, bad[i][0], -1, NULL));
		assert_null(settings_read(main_file, TRUE, problems));
		g_autofree char *text = all_findings(problems);
		if (strstr(text, bad[i][1]) == NULL)
			fail_msg("'%s' gives '%s'", bad[i][0], text);
	}
}

static void a_missing_file_is_an_error_only_if_asked_for(void **state)
{
	g_autofree char *missing = g_build_filename(*state, "missing", NULL);
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(Settings) settings = settings_read(missing, FALSE, findings);
	assert_non_null(settings);
	assert_int_equal(findings->len, 0);
	assert_defaults(settings);
	assert_null(settings_read(missing, TRUE, findings));
	assert_null(settings_read(*state, TRUE, findings));
	assert_null(settings_read(*state, FALSE, findings));
	/* what cannot be looked at is not missing */
	g_autofree char *file = write_file(state, "file", "");
	g_autofree char *below = g_build_filename(file, "rdmadp.conf", NULL);
	assert_null(settings_read(below, FALSE, findings));
	g_autofree char *text = all_findings(findings);
	assert_string_equal(text, "cannot be read: No such file or directory\n"
				  "cannot be read: it is a directory\n"
				  "cannot be read: it is a directory\n"
				  "cannot be read: Not a directory\n");
}

static void endless_files_are_not_read(void **state)
{
	g_autofree char *text = g_strnfill(1048577, ' ');
	g_autofree char *large = write_file(state, "large", text);
	g_autoptr(GPtrArray) findings = findings_new();
	assert_null(settings_read(large, TRUE, findings));
	const struct finding *finding = g_ptr_array_index(findings, 0);
	assert_string_equal(finding->text, "cannot be read: it is larger than 1 MiB");
}

static void the_command_line_follows_the_same_rules(void **state)
{
	(void)state;
	g_autoptr(Settings) settings = settings_new();
	g_autoptr(GError) error = NULL;
	assert_true(settings_set(settings, "log.level", "debug", NULL));
	assert_int_equal(settings->log_level, LOG_LEVEL_DEBUG);
	assert_true(settings_set(settings, "sysfs_root", "/tmp/sys/", NULL));
	assert_string_equal(settings->sysfs_root, "/tmp/sys");
	assert_false(settings_set(settings, "log.level", "loud", &error));
	assert_non_null(strstr(error->message, "\"loud\" is unknown"));
	assert_int_equal(error->domain, SETTINGS_ERROR);
	assert_int_equal(settings->log_level, LOG_LEVEL_DEBUG);
}

/* A '#' directly before a key, as in "#poll = 5;", hides a default. */
static char *with_defaults_shown(const char *text)
{
	g_autoptr(GRegex) hidden = g_regex_new("^(\\s*)#([a-z_]+ = )", G_REGEX_MULTILINE, 0, NULL);
	char *shown = g_regex_replace(hidden, text, -1, 0, "\\1\\2", 0, NULL);
	assert_non_null(shown);
	return shown;
}

static void the_shipped_file_shows_the_defaults(void **state)
{
	(void)state;
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(Settings) as_shipped = settings_read(SHIPPED, TRUE, findings);
	assert_non_null(as_shipped);
	assert_int_equal(findings->len, 0);
	assert_defaults(as_shipped);

	g_autofree char *text = NULL;
	assert_true(g_file_get_contents(SHIPPED, &text, NULL, NULL));
	g_autofree char *shown = with_defaults_shown(text);
	g_autoptr(Settings) settings = parse_good(shown);
	assert_defaults(settings);
	for (const struct setting_key *key = setting_keys; key->path != NULL; key++) {
		const char *dot = strrchr(key->path, '.');
		g_autofree char *line = g_strconcat(dot == NULL ? key->path : dot + 1, " = ", NULL);
		if (strstr(g_str_equal(key->path, "backend_dir") ? text : shown, line) == NULL)
			fail_msg("%s is not in the shipped file", key->path);
	}
}

static void the_manual_describes_every_key(void **state)
{
	(void)state;
	g_autofree char *text = NULL;
	assert_true(
		g_file_get_contents(SOURCE_DIR "/packaging/man/rdmadp.conf.5", &text, NULL, NULL));
	for (const struct setting_key *key = setting_keys; key->path != NULL; key++) {
		g_autofree char *pattern = g_strdup_printf("^\\.It Cm %s( No = .*)?$", key->path);
		if (!g_regex_match_simple(pattern, text, G_REGEX_MULTILINE, 0))
			fail_msg("%s is not in rdmadp.conf(5)", key->path);
	}
}

#define folder_test(name) cmocka_unit_test_setup_teardown(name, folder_begin, folder_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_documented_ones),
		cmocka_unit_test(an_empty_file_gives_the_defaults),
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(wrong_files_are_explained),
		cmocka_unit_test(what_looks_wrong_but_is_not_is_taken),
		cmocka_unit_test(long_paths_are_refused_with_the_limit),
		cmocka_unit_test(a_label_file_needs_a_label),
		cmocka_unit_test(zero_bytes_are_refused),
		cmocka_unit_test(deep_nesting_is_survived),
		folder_test(included_files_count_and_are_named),
		folder_test(a_missing_file_is_an_error_only_if_asked_for),
		folder_test(endless_files_are_not_read),
		cmocka_unit_test(the_command_line_follows_the_same_rules),
		cmocka_unit_test(the_shipped_file_shows_the_defaults),
		cmocka_unit_test(the_manual_describes_every_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
