/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "daemon/commands.h"
#include "daemon/table.h"
#include "edge/module.h"
#include "edge/startup.h"

/* Names of the resources that have a device, in file order. */
static GPtrArray *takers(const Survey *survey, const struct survey_bus *bus, const Device *device)
{
	GPtrArray *names = g_ptr_array_new();

	for (guint i = 0; i < survey->resources->len; i++) {
		const struct survey_resource *resource = g_ptr_array_index(survey->resources, i);

		if (resource->bus == bus && survey_takes(resource, device))
			g_ptr_array_add(names, resource_config(resource->resource)->full_name);
	}
	g_ptr_array_add(names, NULL);
	return names;
}

/* The resources that take a device, for people: with a remark where the device is of
 * no use to them now; 'explain' says why. */
static char *takers_text(const Survey *survey, const struct survey_bus *bus, const Device *device)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < survey->resources->len; i++) {
		const struct survey_resource *resource = g_ptr_array_index(survey->resources, i);
		const struct hca *hca = resource_find(resource->resource, device_identity(device));

		if (resource->bus != bus || !survey_takes(resource, device))
			continue;
		g_string_append_printf(text, "%s%s%s", text->len > 0 ? ", " : "",
				       resource_config(resource->resource)->full_name,
				       hca != NULL && hca_problem(hca) != NULL ? " (not usable)"
									       : "");
	}
	return g_string_free(text, FALSE);
}

static void add_row(Table *table, const Survey *survey, const struct survey_bus *bus,
		    const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	g_autofree char *ids = describe_ids(device);
	g_autofree char *rdma = describe_rdma(device);
	g_autofree char *netdevs = describe_netdevs(device);
	g_autofree char *link = describe_link(device);
	g_autofree char *ports = describe_ports(device);
	g_autofree char *numa = abi->numa_node >= 0 ? g_strdup_printf("%d", abi->numa_node) : NULL;
	g_autofree char *pcie = describe_pcie(device);
	g_autofree char *health = survey_health(bus, device);
	g_autofree char *resources = takers_text(survey, bus, device);
	const char *const cells[] = {bus->name, abi->id, ids,  abi->driver, rdma,   netdevs,
				     link,	ports,	 numa, pcie,	    health, resources};

	table_add(table, cells);
}

static char *text_for_people(const Survey *survey)
{
	static const char *const headings[] = {"BUS",	     "DEVICE",	  "IDS",   "DRIVER", "RDMA",
					       "INTERFACES", "LINK",	  "PORTS", "NUMA",   "PCIE",
					       "HEALTH",     "RESOURCES", NULL};
	g_autoptr(Table) table = table_new(headings);
	g_autofree char *rows = NULL;
	GString *text = g_string_new(NULL);
	guint n = 0;

	for (guint i = 0; i < survey->buses->len; i++) {
		const struct survey_bus *bus = g_ptr_array_index(survey->buses, i);

		if (bus->trouble != NULL)
			g_string_append_printf(text, "%s\n", bus->trouble);
		for (guint j = 0; j < bus->left_out->len; j++)
			g_string_append_printf(text, "backend %s: %s\n", bus->name,
					       (const char *)bus->left_out->pdata[j]);
		for (guint j = 0; j < bus->devices->len; j++)
			add_row(table, survey, bus, g_ptr_array_index(bus->devices, j));
		n += bus->devices->len;
	}
	rows = table_text(table, 0);
	g_string_append(text, n > 0 ? rows : "no device found that could do RDMA\n");
	return g_string_free(text, FALSE);
}

static void write_device(JsonWriter *json, const Survey *survey, const struct survey_bus *bus,
			 const Device *device)
{
	g_autofree char *health = survey_health(bus, device);
	g_autoptr(GPtrArray) names = takers(survey, bus, device);

	json_begin_object(json, NULL);
	json_add_string(json, "bus", bus->name);
	describe_json(json, device);
	json_add_string(json, "health", health);
	json_add_strings(json, "resources", (const char *const *)names->pdata);
	json_end_object(json);
}

static char *text_json(const Survey *survey)
{
	g_autoptr(JsonWriter) json = json_writer_new(TRUE);

	json_begin_object(json, NULL);
	json_begin_array(json, "devices");
	for (guint i = 0; i < survey->buses->len; i++) {
		const struct survey_bus *bus = g_ptr_array_index(survey->buses, i);

		for (guint j = 0; j < bus->devices->len; j++)
			write_device(json, survey, bus, g_ptr_array_index(bus->devices, j));
	}
	json_end_array(json);
	json_add_string(json, "rdmaNetnsMode", survey->netns_is_exclusive ? "exclusive" : "shared");
	json_begin_object(json, "leftOut");
	for (guint i = 0; i < survey->buses->len; i++) {
		const struct survey_bus *bus = g_ptr_array_index(survey->buses, i);

		if (bus->left_out->len > 0)
			commands_write_left_out(json, bus->name, bus);
	}
	json_end_object(json);
	json_begin_object(json, "trouble");
	for (guint i = 0; i < survey->buses->len; i++) {
		const struct survey_bus *bus = g_ptr_array_index(survey->buses, i);

		if (bus->trouble != NULL)
			json_add_string(json, bus->name, bus->trouble);
	}
	json_end_object(json);
	json_end_object(json);
	return g_strconcat(json_writer_text(json), "\n", NULL);
}

char *devices_text(const Survey *survey, gboolean json)
{
	return json ? text_json(survey) : text_for_people(survey);
}

/* A resource file that is missing or wrong is no reason not to show what there is. */
static ResourceFile *read_file(const Settings *settings)
{
	g_autoptr(GPtrArray) findings = findings_new();
	ResourceFile *file = NULL;

	if (g_file_test(settings->resources, G_FILE_TEST_EXISTS))
		file = resource_file_read(settings->resources, findings);
	commands_print_errors(settings->resources, findings);
	return file;
}

/* The commands that a resource file leads ask for a backend by name; this one lists. */
static void print_trouble(const Survey *survey, const char *backend_dir)
{
	g_autofree char *trouble = module_list_trouble(backend_dir);

	if (trouble != NULL)
		fprintf(stderr, "rdmadp: %s\n", trouble);
	else if (survey->buses->len == 0)
		fprintf(stderr,
			"rdmadp: there is no backend in '%s'; install backends there, or name "
			"another directory with --backend-dir\n",
			backend_dir);
}

int command_devices(const Options *options)
{
	g_autoptr(Settings) settings = commands_settings(options);
	g_autoptr(ResourceFile) file = settings == NULL ? NULL : read_file(settings);
	g_autofree char *program = startup_program();
	g_autoptr(Survey) survey = NULL;
	g_autofree char *text = NULL;
	const struct survey_plan plan = {
		.settings = settings,
		.file = file,
		.program = program,
		.all_buses = TRUE,
		.use_state = commands_use_state(options),
	};

	if (settings == NULL)
		return 1;
	survey = survey_take(&plan);
	print_trouble(survey, settings->backend_dir);
	if (survey->buses->len == 0)
		return 1;
	text = devices_text(survey, options->json);
	fputs(text, stdout);
	return 0;
}
