/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/survey.h"

#include <string.h>

#include "daemon/mode_label.h"
#include "daemon/state.h"
#include "daemon/survey_look.h"
#include "edge/backend.h"
#include "edge/module.h"
#include "edge/netlink.h"
#include "model/candidates.h"
#include "model/link_layers.h"
#include "model/netns.h"
#include "model/sight.h"

/* --- buses --- */

static void survey_bus_free(gpointer data)
{
	struct survey_bus *bus = data;

	g_free(bus->name);
	g_free(bus->trouble);
	g_ptr_array_unref(bus->devices);
	g_ptr_array_unref(bus->left_out);
	g_hash_table_unref(bus->health);
	g_free(bus);
}

static struct survey_bus *survey_bus(const Survey *survey, const char *name)
{
	for (guint i = 0; i < survey->buses->len; i++) {
		struct survey_bus *bus = g_ptr_array_index(survey->buses, i);

		if (strcmp(bus->name, name) == 0)
			return bus;
	}
	return NULL;
}

static void survey_add_bus(Survey *survey, const char *name)
{
	struct survey_bus *bus;

	if (survey_bus(survey, name) != NULL)
		return;
	bus = g_new0(struct survey_bus, 1);
	bus->name = g_strdup(name);
	bus->devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	bus->left_out = g_ptr_array_new_with_free_func(g_free);
	bus->health = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_ptr_array_add(survey->buses, bus);
}

static void survey_look_at_buses(Survey *survey, const struct survey_plan *plan)
{
	g_autoptr(SavedState) before = NULL;
	g_auto(GStrv) names = NULL;

	for (guint i = 0; plan->file != NULL && i < plan->file->resources->len; i++) {
		const ResourceConfig *config = g_ptr_array_index(plan->file->resources, i);

		survey_add_bus(survey, config->bus);
	}
	if (plan->all_buses)
		names = module_list(plan->settings->backend_dir);
	for (gsize i = 0; names != NULL && names[i] != NULL; i++)
		survey_add_bus(survey, names[i]);
	if (plan->use_state)
		before = state_peek(plan->settings->state_dir, STATE_BOOT_ID_FILE);
	survey_look(survey->buses, plan, before);
}

/* --- resources --- */

static void survey_resource_free(gpointer data)
{
	struct survey_resource *resource = data;

	resource_free(resource->resource);
	g_ptr_array_unref(resource->taken);
	g_free(resource);
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

static void survey_add_resource(Survey *survey, ResourceConfig *config)
{
	struct survey_resource *resource = g_new0(struct survey_resource, 1);
	const struct hca_probe probe = {node_check_look, survey->node_check};

	resource->bus = survey_bus(survey, config->bus);
	resource->resource = resource_new(resource_config_ref(config));
	resource_set_probe(resource->resource, &probe);
	resource->exclusive = config->mode == RESOURCE_EXCLUSIVE ||
			      (config->mode == RESOURCE_AUTO && survey->label);
	resource_set_exclusive(resource->resource, resource->exclusive);
	resource->taken = g_ptr_array_new();
	for (guint i = 0; i < resource->bus->devices->len; i++)
		if (survey_judge(resource, g_ptr_array_index(resource->bus->devices, i), NULL))
			g_ptr_array_add(resource->taken, resource->bus->devices->pdata[i]);
	g_ptr_array_add(survey->resources, resource);
}

static gboolean is_refused(const Survey *survey, const struct survey_resource *resource)
{
	return netns_refusal(resource->exclusive, survey->netns_is_exclusive) != NULL;
}

/* Among the resources of one bus; one that is refused keeps nothing from the others. */
static void survey_settle_bus(Survey *survey, const struct survey_bus *bus)
{
	g_autoptr(GPtrArray) claims = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) overlaps = NULL;

	for (guint i = 0; i < survey->resources->len; i++) {
		const struct survey_resource *resource = g_ptr_array_index(survey->resources, i);
		struct overlap_claim *claim;

		if (resource->bus != bus || is_refused(survey, resource))
			continue;
		claim = g_new0(struct overlap_claim, 1);
		claim->config = resource_config(resource->resource);
		claim->exclusive = resource->exclusive;
		claim->devices = resource->taken;
		g_ptr_array_add(claims, claim);
	}
	overlaps = overlap_resolve(claims);
	g_ptr_array_extend_and_steal(survey->overlaps, g_steal_pointer(&overlaps));
}

/* A backend may leave the text to us. */
static const char *health_text(const struct rdmadp_health *health)
{
	static const char *const texts[] = {
		[RDMADP_REASON_NONE] = "its backend gives no reason",
		[RDMADP_REASON_LINK] = "no port that matters is ACTIVE",
		[RDMADP_REASON_FILES] = "a character device or a class entry is missing",
		[RDMADP_REASON_GONE] = "it is not on the bus",
		[RDMADP_REASON_FATAL] = "it says that it is broken",
		[RDMADP_REASON_VENDOR] = "its backend gives no reason",
	};

	if (health->text[0] != '\0')
		return health->text;
	return texts[health->reason < G_N_ELEMENTS(texts) ? health->reason : 0];
}

/* As the daemon judges at its first look. */
static gboolean counts(const struct rdmadp_health *health, const ResourceConfig *config,
		       gboolean assume)
{
	if (config->health.assume_initial >= 0)
		assume = config->health.assume_initial == 1;
	return health->state == RDMADP_UNHEALTHY && config->health_policy != HEALTH_OFF &&
	       !(assume && health->reason == RDMADP_REASON_LINK);
}

/* The daemon waits a while for files that are missing; what is told is what comes of it. */
static gboolean resource_tell_files(const struct survey_resource *resource, const Device *device)
{
	const struct hca *hca = resource_find(resource->resource, device_identity(device));

	if (hca == NULL || !sight_lacks_files(hca) ||
	    resource_config(resource->resource)->health_policy == HEALTH_OFF)
		return FALSE;
	return resource_set_health(resource->resource, device_identity(device), FALSE,
				   hca->missing);
}

static void resource_tell_health(const struct survey_resource *resource, const Device *device,
				 gboolean assume)
{
	const struct rdmadp_health *health =
		g_hash_table_lookup(resource->bus->health, device_identity(device));

	const ResourceConfig *config = resource_config(resource->resource);

	if (resource_tell_files(resource, device) || health == NULL)
		return;
	const struct rdmadp_health judged = link_layers_judge(config, health);

	if (counts(&judged, config, assume))
		resource_set_health(resource->resource, device_identity(device), FALSE,
				    health_text(&judged));
}

static void survey_offer(const Survey *survey, struct survey_resource *resource, gboolean assume)
{
	if (is_refused(survey, resource))
		return;
	resource_set_devices(resource->resource, resource->taken);
	for (guint i = 0; i < resource->taken->len; i++)
		resource_tell_health(resource, g_ptr_array_index(resource->taken, i), assume);
}

Survey *survey_take(const struct survey_plan *plan)
{
	Survey *survey = g_new0(Survey, 1);

	survey->buses = g_ptr_array_new_with_free_func(survey_bus_free);
	survey->resources = g_ptr_array_new_with_free_func(survey_resource_free);
	survey->overlaps = g_ptr_array_new_with_free_func((GDestroyNotify)overlap_free);
	survey->netns_is_exclusive =
		netlink_rdma_netns_mode(plan->settings->sysfs_root) == RDMA_NETNS_EXCLUSIVE;
	survey->node_check = node_check_new(plan->settings->sysfs_root,
					    plan->use_state ? plan->settings->dev_root : "");
	survey->has_dev = plan->use_state;
	survey->label = mode_label_peek(plan->settings, &survey->label_why);
	survey_look_at_buses(survey, plan);
	for (guint i = 0; plan->file != NULL && i < plan->file->resources->len; i++)
		survey_add_resource(survey, g_ptr_array_index(plan->file->resources, i));
	for (guint i = 0; i < survey->buses->len; i++)
		survey_settle_bus(survey, g_ptr_array_index(survey->buses, i));
	for (guint i = 0; i < survey->resources->len; i++)
		survey_offer(survey, g_ptr_array_index(survey->resources, i),
			     plan->settings->assume_initial);
	return survey;
}

void survey_free(Survey *survey)
{
	if (survey == NULL)
		return;
	node_check_free(survey->node_check);
	g_ptr_array_unref(survey->overlaps);
	g_ptr_array_unref(survey->resources);
	g_ptr_array_unref(survey->buses);
	g_free(survey->label_why);
	g_free(survey);
}

/* --- what follows --- */

gboolean survey_takes(const struct survey_resource *resource, const Device *device)
{
	return g_ptr_array_find(resource->taken, device, NULL);
}

const struct overlap *survey_lost(const Survey *survey, const struct survey_resource *resource,
				  const Device *device)
{
	for (guint i = 0; i < survey->overlaps->len; i++) {
		const struct overlap *overlap = g_ptr_array_index(survey->overlaps, i);

		if (overlap->kind != OVERLAP_SHARED && overlap->device == device &&
		    overlap->second == resource_config(resource->resource))
			return overlap;
	}
	return NULL;
}

GPtrArray *survey_candidates(const struct survey_resource *resource)
{
	const struct rdmadp_backend *vtable = resource->bus->vtable;

	return selector_candidates(resource_config(resource->resource), resource->bus->devices,
				   survey_match, (gpointer)vtable,
				   vtable == NULL ? NULL : vtable->keys);
}

char *survey_health(const struct survey_bus *bus, const Device *device)
{
	const struct rdmadp_health *health =
		g_hash_table_lookup(bus->health, device_identity(device));
	const char *note = device_abi(device)->note;

	if (note != NULL)
		return g_strdup_printf("not usable: %s", note);
	if (health == NULL)
		return g_strdup("unknown: no answer in time");
	if (health->state == RDMADP_HEALTHY)
		return g_strdup("ok");
	return g_strdup_printf("%s: %s",
			       health->state == RDMADP_UNHEALTHY ? "unhealthy" : "unknown",
			       health_text(health));
}
