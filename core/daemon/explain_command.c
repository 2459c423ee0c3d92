/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "daemon/commands.h"
#include "daemon/reasons.h"
#include "daemon/table.h"
#include "edge/startup.h"
#include "model/text.h"

static gboolean is_asked_for(const struct survey_resource *resource, const char *only)
{
	const ResourceConfig *config = resource_config(resource->resource);

	return only == NULL || strcmp(only, config->full_name) == 0 ||
	       strcmp(only, config->name) == 0;
}

static const char *mode_name(const struct survey_resource *resource)
{
	return resource->exclusive ? "exclusive" : "shared";
}

/* Why the resource is in its mode now; NULL where the configuration says it. */
static char *mode_reason(const Survey *survey, const struct survey_resource *resource)
{
	if (resource_config(resource->resource)->mode != RESOURCE_AUTO)
		return NULL;
	return g_strdup_printf("its mode is \"auto\", now %s: %s", mode_name(resource),
			       survey->label_why);
}

/* --- for people --- */

static void append_heading(GString *text, const struct survey_resource *resource)
{
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource->resource);
	gsize healthy = snapshot_n_healthy(snapshot);
	g_autofree char *count =
		text_count(snapshot->slots->len, resource->exclusive ? "device" : "slot");

	g_string_append_printf(text,
			       "%s (%s, bus %s): ", resource_config(resource->resource)->full_name,
			       mode_name(resource), resource->bus->name);
	if (healthy == 0)
		g_string_append(text, "offers nothing\n");
	else
		g_string_append_printf(text, "%s, %zu healthy\n", count, healthy);
}

static void append_table(GString *text, const Survey *survey,
			 const struct survey_resource *resource)
{
	static const char *const headings[] = {"DEVICE",     "IDS",	"DRIVER", "RDMA",
					       "INTERFACES", "VERDICT", "WHY",	  NULL};
	g_autoptr(Table) table = table_new(headings);
	g_autofree char *rows = NULL;

	for (guint i = 0; i < resource->bus->devices->len; i++) {
		const Device *device = g_ptr_array_index(resource->bus->devices, i);
		struct verdict verdict = verdict_take(survey, resource, device);
		g_autofree char *ids = describe_ids(device);
		g_autofree char *rdma = describe_rdma(device);
		g_autofree char *netdevs = describe_netdevs(device);
		const char *const cells[] = {
			device_id(device), ids,	       device_abi(device)->driver, rdma, netdevs,
			verdict.word,	   verdict.why};

		table_add(table, cells);
		verdict_clear(&verdict);
	}
	rows = table_text(table, 2);
	if (resource->bus->devices->len > 0)
		g_string_append(text, rows);
}

/* Devices that no resource can have. */
static void append_left_out(GString *text, const struct survey_bus *bus)
{
	for (guint i = 0; i < bus->left_out->len; i++)
		g_string_append_printf(text, "  backend %s: %s\n", bus->name,
				       (const char *)bus->left_out->pdata[i]);
}

static void append_resource(GString *text, const Survey *survey,
			    const struct survey_resource *resource)
{
	g_autoptr(GPtrArray) reasons = reasons_list(survey, resource);
	g_autofree char *mode = mode_reason(survey, resource);

	append_heading(text, resource);
	if (mode != NULL)
		g_string_append_printf(text, "  %s\n", mode);
	for (guint i = 0; i < reasons->len; i++)
		g_string_append_printf(text, "  %s\n",
				       ((const struct finding *)reasons->pdata[i])->text);
	append_left_out(text, resource->bus);
	append_table(text, survey, resource);
}

static char *text_for_people(const Survey *survey, const char *only)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < survey->resources->len; i++) {
		if (!is_asked_for(g_ptr_array_index(survey->resources, i), only))
			continue;
		g_string_append(text, text->len > 0 ? "\n" : "");
		append_resource(text, survey, g_ptr_array_index(survey->resources, i));
	}
	return g_string_free(text, FALSE);
}

/* --- JSON --- */

static void write_device(JsonWriter *json, const Survey *survey,
			 const struct survey_resource *resource, const Device *device)
{
	struct verdict verdict = verdict_take(survey, resource, device);

	json_begin_object(json, NULL);
	json_add_string(json, "id", device_id(device));
	json_add_string(json, "verdict", verdict.word);
	json_add_string(json, "why", verdict.why);
	if (verdict.refusal.key != NULL) {
		json_add_string(json, "selector", verdict.refusal.key);
		json_add_string(json, "seen", verdict.refusal.seen);
		json_add_string(json, "wanted", verdict.refusal.wanted);
	}
	json_end_object(json);
	verdict_clear(&verdict);
}

static void write_resource(JsonWriter *json, const Survey *survey,
			   const struct survey_resource *resource)
{
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource->resource);
	g_autoptr(GPtrArray) reasons = reasons_list(survey, resource);
	g_autofree char *mode = mode_reason(survey, resource);

	json_begin_object(json, NULL);
	json_add_string(json, "resource", resource_config(resource->resource)->full_name);
	json_add_string(json, "bus", resource->bus->name);
	json_add_string(json, "mode", mode_name(resource));
	if (mode != NULL)
		json_add_string(json, "modeReason", mode);
	json_add_int(json, "devices", snapshot->slots->len);
	json_add_int(json, "healthy", (gint64)snapshot_n_healthy(snapshot));
	json_begin_array(json, "reasons");
	for (guint i = 0; i < reasons->len; i++)
		json_add_string(json, NULL, ((const struct finding *)reasons->pdata[i])->text);
	json_end_array(json);
	commands_write_left_out(json, "leftOut", resource->bus);
	json_begin_array(json, "verdicts");
	for (guint i = 0; i < resource->bus->devices->len; i++)
		write_device(json, survey, resource, g_ptr_array_index(resource->bus->devices, i));
	json_end_array(json);
	json_end_object(json);
}

static char *text_json(const Survey *survey, const char *only)
{
	g_autoptr(JsonWriter) json = json_writer_new(TRUE);

	json_begin_array(json, NULL);
	for (guint i = 0; i < survey->resources->len; i++)
		if (is_asked_for(g_ptr_array_index(survey->resources, i), only))
			write_resource(json, survey, g_ptr_array_index(survey->resources, i));
	json_end_array(json);
	return g_strconcat(json_writer_text(json), "\n", NULL);
}

char *explain_text(const Survey *survey, const char *only, gboolean json)
{
	guint n = 0;

	for (guint i = 0; i < survey->resources->len; i++)
		n += is_asked_for(g_ptr_array_index(survey->resources, i), only) ? 1 : 0;
	if (n == 0)
		return NULL;
	return json ? text_json(survey, only) : text_for_people(survey, only);
}

/* --- the command --- */

static Survey *take(const Options *options)
{
	g_autoptr(Settings) settings = commands_settings(options);
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(ResourceFile) file = NULL;
	g_autofree char *program = startup_program();

	if (settings == NULL)
		return NULL;
	file = resource_file_read(settings->resources, findings);
	commands_print_errors(settings->resources, findings);
	return file == NULL ? NULL
			    : survey_take(&(const struct survey_plan){
				      .settings = settings,
				      .file = file,
				      .program = program,
				      .use_state = commands_use_state(options),
			      });
}

/* Not all where they are many. */
static char *names_of(const Survey *survey)
{
	enum { SHOWN = 8 };
	GString *names = g_string_new(NULL);

	for (guint i = 0; i < survey->resources->len && i < SHOWN; i++) {
		const struct survey_resource *resource = g_ptr_array_index(survey->resources, i);

		g_string_append_printf(names, "%s'%s'", i > 0 ? ", " : "",
				       resource_config(resource->resource)->full_name);
	}
	if (survey->resources->len > SHOWN)
		g_string_append(names, ", …");
	return g_string_free(names, FALSE);
}

int command_explain(const Options *options)
{
	g_autoptr(Survey) survey = take(options);
	g_autofree char *text = NULL;

	if (survey == NULL)
		return 1;
	text = explain_text(survey, options->words[1], options->json);
	if (text == NULL) {
		g_autofree char *names = names_of(survey);

		fprintf(stderr, "rdmadp: the resource file has no resource '%s'; it has %s\n",
			options->words[1] != NULL ? options->words[1] : "", names);
		return 1;
	}
	fputs(text, stdout);
	return 0;
}
