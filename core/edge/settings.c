/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/settings.h"

#include <libconfig.h>
#include <string.h>

#include "edge/settings_keys.h"
#include "edge/settings_scan.h"

struct reader {
	Settings *settings;
	GPtrArray *findings;
};

static char *place(const char *file, int line)
{
	return file == NULL ? g_strdup_printf("line %d", line)
			    : g_strdup_printf("%s:%d", file, line);
}

static void report(struct reader *reader, const config_setting_t *setting, const char *path,
		   const char *what)
{
	g_autofree char *where = place(config_setting_source_file(setting),
				       (int)config_setting_source_line(setting));
	findings_add_at(reader->findings, FINDING_ERROR, where, "%s: %s", path, what);
}

static char *set_value(Settings *settings, const struct setting_key *key, config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
		return settings_set_number(settings, key, config_setting_get_int(setting));
	case CONFIG_TYPE_INT64:
		return settings_set_number(settings, key,
					   (double)config_setting_get_int64(setting));
	case CONFIG_TYPE_FLOAT:
		return settings_set_number(settings, key, config_setting_get_float(setting));
	case CONFIG_TYPE_STRING:
		return settings_set_text(settings, key, config_setting_get_string(setting));
	case CONFIG_TYPE_BOOL:
		return settings_set_flag(settings, key, config_setting_get_bool(setting));
	default:
		return g_strdup_printf("a group or list is not %s", settings_kind_name(key));
	}
}

static void report_unknown(struct reader *reader, const config_setting_t *setting, const char *path)
{
	static const char *const directories[] = {"kubelet_dir", "kubelet.dir", "kubelet.root_dir",
						  "kubelet_root", NULL};
	const char *nearest = settings_nearest_key(path);
	g_autofree char *what = NULL;

	if (g_strv_contains(directories, path))
		what = g_strdup("unknown key; the directories below the kubelet's are "
				"kubelet.device_plugins_dir, kubelet.plugins_registry_dir and "
				"kubelet.pod_resources_socket");
	else if (nearest == NULL)
		what = g_strdup("unknown key; rdmadp.conf(5) lists all");
	else
		what = g_strdup_printf("unknown key; did you mean %s?", nearest);
	report(reader, setting, path, what);
}

static void read_group(struct reader *reader, config_setting_t *group, const char *prefix);

static void read_member(struct reader *reader, config_setting_t *member, const char *path)
{
	const struct setting_key *key = settings_find_key(path);
	if (key != NULL) {
		g_autofree char *problem = set_value(reader->settings, key, member);
		if (problem != NULL)
			report(reader, member, path, problem);
		return;
	}
	if (!settings_is_group(path)) {
		report_unknown(reader, member, path);
		return;
	}
	if (config_setting_is_group(member)) {
		g_autofree char *prefix = g_strconcat(path, ".", NULL);
		read_group(reader, member, prefix);
		return;
	}
	g_autofree char *what = g_strdup_printf("is a group; write %s = { … };", path);
	report(reader, member, path, what);
}

static void read_group(struct reader *reader, config_setting_t *group, const char *prefix)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		config_setting_t *member = config_setting_get_elem(group, (unsigned int)i);
		g_autofree char *path = g_strconcat(prefix, config_setting_name(member), NULL);
		read_member(reader, member, path);
	}
}

static const char *explain(const char *library_text)
{
	if (strcmp(library_text, "syntax error") == 0)
		return "syntax error on this line or at the end of the one before; settings are "
		       "written key = value; with text in double quotes, and those of a group "
		       "group = { key = value; };";
	if (strcmp(library_text, "duplicate setting name") == 0)
		return "this key is there twice; keep one";
	return library_text;
}

static void report_syntax(const config_t *config, GPtrArray *findings)
{
	g_autofree char *where = place(config_error_file(config), config_error_line(config));
	findings_add_at(findings, FINDING_ERROR, where, "%s", explain(config_error_text(config)));
}

static void check_together(const Settings *settings, GPtrArray *findings)
{
	if (*settings->mode_label_file != '\0' && *settings->mode_label == '\0')
		findings_add(findings, FINDING_WARNING,
			     "mode_label_file has no effect without mode_label");
}

static void read_all(const char *text, const char *dir, Settings *settings, GPtrArray *findings)
{
	struct reader reader = {settings, findings};
	config_t config;
	config_init(&config);
	config_set_include_dir(&config, dir);
	/* The library takes no comment that ends with the file and not with a line. */
	g_autofree char *lines = g_strconcat(text, "\n", NULL);
	if (config_read_string(&config, lines)) {
		read_group(&reader, config_root_setting(&config), "");
		check_together(settings, findings);
	} else {
		report_syntax(&config, findings);
	}
	config_destroy(&config);
}

Settings *settings_parse(const char *text, gsize length, const char *dir, GPtrArray *findings)
{
	guint errors_before = findings_count(findings, FINDING_ERROR);
	g_autoptr(Settings) settings = settings_new();
	if (g_str_has_prefix(text, "\xef\xbb\xbf"))
		findings_add(findings, FINDING_ERROR,
			     "begins with a byte order mark (BOM); save it as UTF-8 without BOM");
	else if (memchr(text, '\0', length) != NULL)
		findings_add(findings, FINDING_ERROR, "has a zero byte and is not a text file");
	else if (settings_scan(text, dir, findings))
		read_all(text, dir, settings, findings);
	if (findings_count(findings, FINDING_ERROR) > errors_before)
		return NULL;
	return g_steal_pointer(&settings);
}

Settings *settings_read(const char *path, gboolean must_exist, GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	g_autofree char *dir = g_path_get_dirname(path);
	gsize length;
	text = small_file_read(path, SETTINGS_LARGEST_FILE, &length, &error);
	if (text != NULL)
		return settings_parse(text, length, dir, findings);
	if (!must_exist && g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		return settings_new();
	findings_add(findings, FINDING_ERROR, "cannot be read: %s", error->message);
	return NULL;
}

gboolean settings_set(Settings *settings, const char *path, const char *value, GError **error)
{
	const struct setting_key *key = settings_find_key(path);
	g_return_val_if_fail(key != NULL, FALSE);
	g_autofree char *problem = settings_set_text(settings, key, value);
	if (problem == NULL)
		return TRUE;
	g_set_error_literal(error, SETTINGS_ERROR, 0, problem);
	return FALSE;
}

G_DEFINE_QUARK(rdmadp - settings - error, settings_error)
