/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/check_config.h"

#include <stdio.h>

#include "edge/json_writer.h"
#include "edge/resource_file.h"
#include "edge/settings.h"
#include "model/text.h"

#define LONGEST_PATH 4096

/* One file and what was found in it. */
struct checked {
	char *path; /* safe to print */
	GPtrArray *findings;
	int resources; /* how many it has; -1 = it is no resource file, or not usable */
	gboolean is_missing; /* and may be: the defaults hold */
};

struct report {
	struct checked settings, resources;
};

static void checked_begin(struct checked *checked, const char *path)
{
	checked->path = text_escape(path, LONGEST_PATH);
	checked->findings = findings_new();
	checked->resources = -1;
	checked->is_missing = FALSE;
}

static void checked_clear(struct checked *checked)
{
	g_free(checked->path);
	g_ptr_array_unref(checked->findings);
}

static Settings *check_settings(struct checked *checked, const char *path)
{
	gboolean is_named = path != NULL;
	if (!is_named)
		path = SETTINGS_DEFAULT_PATH;
	checked_begin(checked, path);
	checked->is_missing = !is_named && !g_file_test(path, G_FILE_TEST_EXISTS);
	Settings *settings = settings_read(path, is_named, checked->findings);
	/* The other file is looked at all the same. */
	return settings != NULL ? settings : settings_new();
}

static void check_resources(struct checked *checked, const char *path)
{
	checked_begin(checked, path);
	g_autoptr(ResourceFile) file = resource_file_read(path, checked->findings);
	if (file != NULL)
		checked->resources = (int)file->resources->len;
}

static const char *level_name(enum finding_level level)
{
	return level == FINDING_ERROR ? "error" : "warning";
}

static void print_text(const struct checked *checked)
{
	guint errors = findings_count(checked->findings, FINDING_ERROR);
	guint warnings = findings_count(checked->findings, FINDING_WARNING);
	for (guint i = 0; i < checked->findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(checked->findings, i);
		printf("%s: %s: %s\n", checked->path, level_name(finding->level), finding->text);
	}
	if (errors > 0 || warnings > 0)
		printf("%s: errors: %u, warnings: %u\n", checked->path, errors, warnings);
	else
		printf("%s: %s\n", checked->path,
		       checked->is_missing ? "not there; the defaults hold" : "ok");
}

static void write_finding(JsonWriter *writer, const struct finding *finding)
{
	json_begin_object(writer, NULL);
	json_add_string(writer, "level", level_name(finding->level));
	json_add_string(writer, "where", finding->where);
	json_add_string(writer, "text", finding->text);
	json_end_object(writer);
}

static void write_checked(JsonWriter *writer, const char *key, const struct checked *checked)
{
	json_begin_object(writer, key);
	json_add_string(writer, "file", checked->path);
	json_add_bool(writer, "ok", !findings_have_error(checked->findings));
	if (checked->is_missing)
		json_add_bool(writer, "missing", TRUE);
	if (checked->resources >= 0)
		json_add_int(writer, "resources", checked->resources);
	json_begin_array(writer, "findings");
	for (guint i = 0; i < checked->findings->len; i++)
		write_finding(writer, g_ptr_array_index(checked->findings, i));
	json_end_array(writer);
	json_end_object(writer);
}

static gboolean is_ok(const struct report *report)
{
	return !findings_have_error(report->settings.findings) &&
	       !findings_have_error(report->resources.findings);
}

static void print_json(const struct report *report)
{
	g_autoptr(JsonWriter) writer = json_writer_new(TRUE);
	json_begin_object(writer, NULL);
	json_add_bool(writer, "ok", is_ok(report));
	write_checked(writer, "settings", &report->settings);
	write_checked(writer, "resources", &report->resources);
	json_end_object(writer);
	puts(json_writer_text(writer));
}

int check_config_run(const char *settings_path, const char *resources_path, gboolean json)
{
	struct report report;
	g_autoptr(Settings) settings = check_settings(&report.settings, settings_path);
	check_resources(&report.resources,
			resources_path != NULL ? resources_path : settings->resources);
	if (json) {
		print_json(&report);
	} else {
		print_text(&report.settings);
		print_text(&report.resources);
	}
	int status = is_ok(&report) ? 0 : 1;
	checked_clear(&report.settings);
	checked_clear(&report.resources);
	return status;
}
