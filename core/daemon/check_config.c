/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/check_config.h"

#include <stdio.h>

#include "daemon/commands.h"
#include "daemon/reasons.h"
#include "edge/json_writer.h"
#include "edge/resource_file.h"
#include "edge/settings.h"
#include "edge/startup.h"
#include "model/text.h"

#define LONGEST_PATH 4096

/* One file, or the node, and what was found there. */
struct checked {
	char *path; /* safe to print; "node" */
	GPtrArray *findings;
	int resources; /* how many it has; -1 = it is no resource file, or not usable */
	gboolean is_missing; /* and may be: the defaults hold */
	char *unseen; /* why it was not looked at, or NULL */
};

struct report {
	struct checked settings, resources, node;
	gboolean has_node; /* the last one counts */
};

static void checked_begin(struct checked *checked, const char *path)
{
	checked->path = text_escape(path, LONGEST_PATH);
	checked->findings = findings_new();
	checked->resources = -1;
	checked->is_missing = FALSE;
	checked->unseen = NULL;
}

static void checked_clear(struct checked *checked)
{
	g_free(checked->path);
	g_free(checked->unseen);
	g_ptr_array_unref(checked->findings);
}

/* NULL if they cannot be used. */
static Settings *check_settings(struct checked *checked, const Options *options)
{
	const char *path = options_config(options);
	checked_begin(checked, path);
	checked->is_missing = options->config == NULL && !g_file_test(path, G_FILE_TEST_EXISTS);
	return options_settings(options, FALSE, checked->findings);
}

static ResourceFile *check_resources(struct checked *checked, const char *path)
{
	checked_begin(checked, path);
	ResourceFile *file = resource_file_read(path, checked->findings);
	if (file != NULL)
		checked->resources = (int)file->resources->len;
	return file;
}

/* Where this is no node, such as on the laptop where a ConfigMap is written. */
static char *why_unseen(const Settings *settings)
{
	if (!g_file_test(settings->backend_dir, G_FILE_TEST_IS_DIR))
		return g_strdup_printf("there is no backend directory '%s'", settings->backend_dir);
	if (!g_file_test(settings->sysfs_root, G_FILE_TEST_IS_DIR))
		return g_strdup_printf("there is no '%s'", settings->sysfs_root);
	return NULL;
}

static void check_label(struct checked *checked, const Settings *settings, const ResourceFile *file)
{
	for (guint i = 0; file != NULL && i < file->resources->len; i++) {
		const ResourceConfig *config = g_ptr_array_index(file->resources, i);
		if (config->mode == RESOURCE_AUTO && settings->mode_label_file[0] == '\0')
			findings_add_at(checked->findings, FINDING_WARNING, config->full_name,
					"its mode is \"auto\", and stays shared as long as the "
					"settings have no mode_label_file");
	}
}

static void check_kubelet(struct checked *checked, const Settings *settings)
{
	if (g_file_test(settings->kubelet_dir, G_FILE_TEST_IS_DIR))
		return;
	findings_add(checked->findings, FINDING_WARNING,
		     "the kubelet's directory '%s' is not there, so nothing can be registered; "
		     "mount it, or set kubelet.device_plugins_dir",
		     settings->kubelet_dir);
}

static void check_node(struct checked *checked, const Options *options, const Settings *settings,
		       const ResourceFile *file)
{
	checked_begin(checked, "node");
	checked->unseen = why_unseen(settings);
	if (checked->unseen != NULL)
		return;
	commands_be_quiet();
	g_autofree char *program = startup_program();
	const struct survey_plan plan = {
		.settings = settings,
		.file = file,
		.program = program,
		.use_state = commands_use_state(options),
	};
	g_autoptr(Survey) survey = survey_take(&plan);
	reasons_tell(survey, checked->findings);
	check_label(checked, settings, file);
	if (plan.use_state)
		check_kubelet(checked, settings);
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
	else if (checked->unseen != NULL)
		printf("%s: not looked at: %s\n", checked->path, checked->unseen);
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

static void write_findings(JsonWriter *writer, const struct checked *checked)
{
	json_add_bool(writer, "ok", !findings_have_error(checked->findings));
	json_begin_array(writer, "findings");
	for (guint i = 0; i < checked->findings->len; i++)
		write_finding(writer, g_ptr_array_index(checked->findings, i));
	json_end_array(writer);
}

static void write_checked(JsonWriter *writer, const char *key, const struct checked *checked)
{
	json_begin_object(writer, key);
	json_add_string(writer, "file", checked->path);
	if (checked->is_missing)
		json_add_bool(writer, "missing", TRUE);
	if (checked->resources >= 0)
		json_add_int(writer, "resources", checked->resources);
	write_findings(writer, checked);
	json_end_object(writer);
}

static void write_node(JsonWriter *writer, const struct checked *node)
{
	json_begin_object(writer, "node");
	if (node->unseen != NULL)
		json_add_string(writer, "notLookedAt", node->unseen);
	write_findings(writer, node);
	json_end_object(writer);
}

static gboolean is_ok(const struct report *report)
{
	return !findings_have_error(report->settings.findings) &&
	       !findings_have_error(report->resources.findings) &&
	       !(report->has_node && findings_have_error(report->node.findings));
}

static void print_json(const struct report *report)
{
	g_autoptr(JsonWriter) writer = json_writer_new(TRUE);
	json_begin_object(writer, NULL);
	json_add_bool(writer, "ok", is_ok(report));
	write_checked(writer, "settings", &report->settings);
	write_checked(writer, "resources", &report->resources);
	if (report->has_node)
		write_node(writer, &report->node);
	json_end_object(writer);
	puts(json_writer_text(writer));
}

static void print_report(const struct report *report)
{
	print_text(&report->settings);
	print_text(&report->resources);
	if (report->has_node)
		print_text(&report->node);
}

/* Which of the two commands it is said with; else what the settings say. */
static const char *resources_path(const Options *options, const Settings *settings)
{
	if (options->words != NULL && options->words[0] != NULL && options->words[1] != NULL)
		return options->words[1];
	return options->resources != NULL ? options->resources : settings->resources;
}

static int check_both(const Options *options)
{
	struct report report = {.has_node = FALSE};
	g_autoptr(Settings) settings = check_settings(&report.settings, options);
	/* The other file is looked at all the same. */
	g_autoptr(Settings) defaults = settings == NULL ? settings_new() : NULL;
	const char *path = resources_path(options, settings != NULL ? settings : defaults);
	g_autoptr(ResourceFile) file = check_resources(&report.resources, path);

	report.has_node = settings != NULL && file != NULL && !options->no_node;
	if (report.has_node)
		check_node(&report.node, options, settings, file);
	if (options->json)
		print_json(&report);
	else
		print_report(&report);
	int status = is_ok(&report) ? 0 : 1;
	checked_clear(&report.settings);
	checked_clear(&report.resources);
	if (report.has_node)
		checked_clear(&report.node);
	return status;
}

int check_config_run(const Options *options)
{
	return options->from_sriov != NULL ? check_config_from_sriov(options->from_sriov)
					   : check_both(options);
}
