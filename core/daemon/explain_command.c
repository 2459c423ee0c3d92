/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "daemon/commands.h"
#include "daemon/table.h"
#include "edge/json_writer.h"
#include "model/selector.h"

/* What one resource makes of one device. */
struct verdict {
	const char *verdict; /* "taken", "taken, not usable", "refused" */
	char *reason; /* NULL if taken and usable */
};

static void verdict_clear(struct verdict *verdict)
{
	g_free(verdict->reason);
}

static struct verdict verdict_of_hca(const struct hca *hca)
{
	const char *problem = hca_problem(hca);

	if (problem == NULL)
		return (struct verdict){"taken", NULL};
	return (struct verdict){"taken, not usable",
				g_strdup_printf("%s%s%s", problem, hca->remedy != NULL ? ", " : "",
						hca->remedy != NULL ? hca->remedy : "")};
}

static struct verdict verdict_take(const struct survey_resource *resource, const Device *device)
{
	struct refusal refusal = {0};
	struct verdict verdict = {"refused", NULL};

	if (survey_judge(resource, device, &refusal))
		return verdict_of_hca(resource_find(resource->resource, device_identity(device)));
	verdict.reason =
		g_strdup_printf("%s: has %s, wanted %s", refusal.key, refusal.seen, refusal.wanted);
	refusal_clear(&refusal);
	return verdict;
}

static gboolean is_asked_for(const struct survey_resource *resource, const char *only)
{
	const ResourceConfig *config = resource_config(resource->resource);

	return only == NULL || strcmp(only, config->full_name) == 0 ||
	       strcmp(only, config->name) == 0;
}

/* Why a resource offers nothing, shortest first: the bus, the selectors, the HCAs. */
static GPtrArray *reasons(const struct survey_resource *resource)
{
	g_autofree char *trouble = resource_trouble(resource->resource);
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

	if (resource->bus->trouble != NULL)
		g_ptr_array_add(lines, g_strdup_printf("bus %s: %s", resource->bus->name,
						       resource->bus->trouble));
	else if (trouble != NULL)
		g_ptr_array_add(lines, g_steal_pointer(&trouble));
	if (resource->bus->trouble == NULL) {
		g_autoptr(GPtrArray) candidates = survey_candidates(resource);

		for (guint i = 0; i < candidates->len; i++)
			g_ptr_array_add(lines, g_strdup(g_ptr_array_index(candidates, i)));
	}
	return lines;
}

static void append_resource(GString *text, const struct survey_resource *resource)
{
	static const char *const headings[] = {"DEVICE", "DRIVER", "RDMA", "VERDICT", "WHY", NULL};
	g_autoptr(Table) table = table_new(headings);
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource->resource);
	g_autoptr(GPtrArray) lines = reasons(resource);
	g_autofree char *rows = NULL;

	g_string_append_printf(text, "%s: %u slots, %zu healthy (bus %s)\n",
			       resource_config(resource->resource)->full_name, snapshot->slots->len,
			       snapshot_n_healthy(snapshot), resource->bus->name);
	for (guint i = 0; i < lines->len; i++)
		g_string_append_printf(text, "  %s\n", (const char *)g_ptr_array_index(lines, i));
	for (guint i = 0; i < resource->bus->devices->len; i++) {
		const Device *device = g_ptr_array_index(resource->bus->devices, i);
		struct verdict verdict = verdict_take(resource, device);
		g_autofree char *rdma = describe_rdma(device);
		const char *const cells[] = {device_id(device), device_abi(device)->driver, rdma,
					     verdict.verdict, verdict.reason};

		table_add(table, cells);
		verdict_clear(&verdict);
	}
	rows = table_text(table, 2);
	if (resource->bus->devices->len > 0)
		g_string_append(text, rows);
}

static void write_resource(JsonWriter *json, const struct survey_resource *resource)
{
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource->resource);
	g_autoptr(GPtrArray) lines = reasons(resource);

	json_begin_object(json, NULL);
	json_add_string(json, "resource", resource_config(resource->resource)->full_name);
	json_add_string(json, "bus", resource->bus->name);
	json_add_int(json, "slots", snapshot->slots->len);
	json_add_int(json, "healthy", (gint64)snapshot_n_healthy(snapshot));
	g_ptr_array_add(lines, NULL);
	json_add_strings(json, "reasons", (const char *const *)lines->pdata);
	json_begin_array(json, "devices");
	for (guint i = 0; i < resource->bus->devices->len; i++) {
		const Device *device = g_ptr_array_index(resource->bus->devices, i);
		struct verdict verdict = verdict_take(resource, device);

		json_begin_object(json, NULL);
		json_add_string(json, "id", device_id(device));
		json_add_string(json, "verdict", verdict.verdict);
		json_add_string(json, "why", verdict.reason);
		json_end_object(json);
		verdict_clear(&verdict);
	}
	json_end_array(json);
	json_end_object(json);
}

static char *text_json(const Survey *survey, const char *only)
{
	g_autoptr(JsonWriter) json = json_writer_new(TRUE);

	json_begin_array(json, NULL);
	for (guint i = 0; i < survey->resources->len; i++)
		if (is_asked_for(g_ptr_array_index(survey->resources, i), only))
			write_resource(json, g_ptr_array_index(survey->resources, i));
	json_end_array(json);
	return g_strconcat(json_writer_text(json), "\n", NULL);
}

char *explain_text(const Survey *survey, const char *only, gboolean json)
{
	GString *text;
	guint n = 0;

	for (guint i = 0; i < survey->resources->len; i++)
		n += is_asked_for(g_ptr_array_index(survey->resources, i), only) ? 1 : 0;
	if (n == 0)
		return NULL;
	if (json)
		return text_json(survey, only);
	text = g_string_new(NULL);
	for (guint i = 0; i < survey->resources->len; i++) {
		if (!is_asked_for(g_ptr_array_index(survey->resources, i), only))
			continue;
		g_string_append(text, text->len > 0 ? "\n" : "");
		append_resource(text, g_ptr_array_index(survey->resources, i));
	}
	return g_string_free(text, FALSE);
}

int command_explain(const Options *options)
{
	g_autoptr(Survey) survey = commands_survey(options, TRUE);
	g_autofree char *text = NULL;

	if (survey == NULL)
		return 1;
	text = explain_text(survey, options->words[1], options->json);
	if (text == NULL) {
		fprintf(stderr, "rdmadp: the resource file has no resource '%s'\n",
			options->words[1] != NULL ? options->words[1] : "");
		return 1;
	}
	fputs(text, stdout);
	return 0;
}
