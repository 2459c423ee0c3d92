/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/survey.h"

#include <string.h>

#include "edge/backend.h"
#include "edge/module.h"
#include "model/candidates.h"
#include "model/selector.h"

/* Longest wait for a scan and for the health of its devices. */
#define LOOK_LIMIT_MS 5000
#define END_WAIT_MS 200

/* One bus being looked at. */
struct look {
	struct survey_bus *bus;
	GMainLoop *loop;
	guint pending; /* health reads that have not come back */
};

static void look_end_if_done(struct look *look)
{
	if (look->pending == 0)
		g_main_loop_quit(look->loop);
}

static void look_on_scanned(Backend *backend, GPtrArray *devices, const GError *error,
			    gboolean event_driven G_GNUC_UNUSED, gpointer data)
{
	struct look *look = data;

	if (devices == NULL) {
		g_free(look->bus->trouble);
		look->bus->trouble = g_strdup(error->message);
	}
	for (guint i = 0; devices != NULL && i < devices->len; i++) {
		Device *device = g_ptr_array_index(devices, i);

		g_ptr_array_add(look->bus->devices, device_ref(device));
		look->pending += backend_check_health(backend, device, NULL);
	}
	look_end_if_done(look);
}

static void look_on_health(Backend *backend G_GNUC_UNUSED, Device *device,
			   const struct rdmadp_health *health, gpointer data)
{
	struct look *look = data;

	g_hash_table_insert(look->bus->health, g_strdup(device_identity(device)),
			    g_memdup2(health, sizeof(*health)));
	look->pending--;
	look_end_if_done(look);
}

static gboolean look_on_limit(gpointer data)
{
	struct look *look = data;

	if (look->bus->devices->len == 0)
		look->bus->trouble =
			g_strdup_printf("no answer to a scan within %d ms", LOOK_LIMIT_MS);
	g_main_loop_quit(look->loop);
	return G_SOURCE_REMOVE;
}

static const struct backend_callbacks look_callbacks = {
	.scanned = look_on_scanned,
	.health = look_on_health,
};

static void bus_look(struct survey_bus *bus, const Settings *settings)
{
	struct look look = {.bus = bus, .loop = g_main_loop_new(NULL, FALSE)};
	Backend *backend = backend_new(bus->vtable, settings->sysfs_root, settings->dev_root,
				       &look_callbacks, &look);
	GSource *limit = g_timeout_source_new(LOOK_LIMIT_MS);

	g_source_set_callback(limit, look_on_limit, &look, NULL);
	g_source_attach(limit, g_main_context_get_thread_default());
	g_main_loop_run(look.loop);
	g_source_destroy(limit);
	g_source_unref(limit);
	backend_free(backend, END_WAIT_MS);
	g_main_loop_unref(look.loop);
}

static struct survey_bus *bus_take(const Settings *settings, const char *name)
{
	struct survey_bus *bus = g_new0(struct survey_bus, 1);
	g_autoptr(GError) error = NULL;

	bus->name = g_strdup(name);
	bus->devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	bus->health = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	bus->vtable = module_load(settings->backend_dir, name, &error);
	if (bus->vtable == NULL)
		bus->trouble = g_strdup(error->message);
	else
		bus_look(bus, settings);
	return bus;
}

static void survey_bus_free(gpointer data)
{
	struct survey_bus *bus = data;

	g_free(bus->name);
	g_free(bus->trouble);
	g_ptr_array_unref(bus->devices);
	g_hash_table_unref(bus->health);
	g_free(bus);
}

static struct survey_bus *survey_bus_get(Survey *survey, const Settings *settings, const char *name)
{
	struct survey_bus *bus;

	for (guint i = 0; i < survey->buses->len; i++) {
		bus = g_ptr_array_index(survey->buses, i);
		if (strcmp(bus->name, name) == 0)
			return bus;
	}
	bus = bus_take(settings, name);
	g_ptr_array_add(survey->buses, bus);
	return bus;
}

static void survey_resource_free(gpointer data)
{
	struct survey_resource *resource = data;

	resource_free(resource->resource);
	g_free(resource);
}

static void resource_tell_health(const struct survey_resource *resource, const Device *device)
{
	const struct rdmadp_health *health =
		g_hash_table_lookup(resource->bus->health, device_identity(device));

	if (health != NULL && health->state == RDMADP_UNHEALTHY)
		resource_set_health(resource->resource, device_identity(device), FALSE,
				    health->text);
}

static struct survey_resource *resource_take(const struct survey_bus *bus, ResourceConfig *config)
{
	struct survey_resource *resource = g_new0(struct survey_resource, 1);
	g_autoptr(GPtrArray) taken = g_ptr_array_new();

	resource->bus = bus;
	resource->resource = resource_new(resource_config_ref(config));
	for (guint i = 0; i < bus->devices->len; i++)
		if (survey_judge(resource, g_ptr_array_index(bus->devices, i), NULL))
			g_ptr_array_add(taken, g_ptr_array_index(bus->devices, i));
	resource_set_devices(resource->resource, taken);
	for (guint i = 0; i < taken->len; i++)
		resource_tell_health(resource, g_ptr_array_index(taken, i));
	return resource;
}

Survey *survey_take(const Settings *settings, const ResourceFile *file)
{
	Survey *survey = g_new0(Survey, 1);
	g_auto(GStrv) names = NULL;

	survey->buses = g_ptr_array_new_with_free_func(survey_bus_free);
	survey->resources = g_ptr_array_new_with_free_func(survey_resource_free);
	for (guint i = 0; file != NULL && i < file->resources->len; i++) {
		ResourceConfig *config = g_ptr_array_index(file->resources, i);

		g_ptr_array_add(
			survey->resources,
			resource_take(survey_bus_get(survey, settings, config->bus), config));
	}
	if (file == NULL)
		names = module_list(settings->backend_dir);
	for (gsize i = 0; names != NULL && names[i] != NULL; i++)
		survey_bus_get(survey, settings, names[i]);
	return survey;
}

void survey_free(Survey *survey)
{
	if (survey == NULL)
		return;
	g_ptr_array_unref(survey->resources);
	g_ptr_array_unref(survey->buses);
	g_free(survey);
}

static int survey_match(const Device *device, const char *key, const char *value, gpointer data)
{
	return backend_match(data, device, key, value);
}

gboolean survey_judge(const struct survey_resource *resource, const Device *device,
		      struct refusal *ret_refusal)
{
	return selector_judge(resource_config(resource->resource), device, survey_match,
			      (gpointer)resource->bus->vtable, ret_refusal);
}

GPtrArray *survey_candidates(const struct survey_resource *resource)
{
	return selector_candidates(resource_config(resource->resource), resource->bus->devices,
				   survey_match, (gpointer)resource->bus->vtable);
}

char *survey_health(const struct survey_bus *bus, const Device *device)
{
	const struct rdmadp_health *health =
		g_hash_table_lookup(bus->health, device_identity(device));

	if (health == NULL)
		return g_strdup("unknown: no answer in time");
	if (health->state == RDMADP_HEALTHY)
		return g_strdup("ok");
	return g_strdup_printf("%s: %s",
			       health->state == RDMADP_UNHEALTHY ? "unhealthy" : "unknown",
			       health->text[0] != '\0' ? health->text : "no reason given");
}
