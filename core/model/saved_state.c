/* SPDX-License-Identifier: Apache-2.0 */
#include "model/saved_state.h"

#include <string.h>

#include "model/fingerprint.h"

static void free_bus(gpointer data)
{
	struct saved_bus *bus = data;

	g_free(bus->name);
	g_ptr_array_unref(bus->devices);
	g_free(bus);
}

struct saved_resource *saved_resource_new(char *name, char *bus, char *fingerprint)
{
	struct saved_resource *saved = g_new0(struct saved_resource, 1);

	saved->name = name;
	saved->bus = bus;
	saved->fingerprint = fingerprint;
	saved->hcas = g_ptr_array_new_with_free_func((GDestroyNotify)saved_hca_free);
	saved->ids = g_ptr_array_new_with_free_func(g_free);
	return saved;
}

void saved_resource_free(struct saved_resource *saved)
{
	if (saved == NULL)
		return;
	g_free(saved->name);
	g_free(saved->bus);
	g_free(saved->fingerprint);
	g_ptr_array_unref(saved->hcas);
	g_ptr_array_unref(saved->ids);
	g_free(saved);
}

static void free_resource(gpointer data)
{
	saved_resource_free(data);
}

SavedState *saved_state_new(void)
{
	SavedState *state = g_new0(SavedState, 1);

	state->buses = g_ptr_array_new_with_free_func(free_bus);
	state->resources = g_ptr_array_new_with_free_func(free_resource);
	return state;
}

void saved_state_free(SavedState *state)
{
	if (state == NULL)
		return;
	g_ptr_array_unref(state->buses);
	g_ptr_array_unref(state->resources);
	g_free(state);
}

void saved_state_add_bus(SavedState *state, const char *name, GPtrArray *devices)
{
	struct saved_bus *bus = g_new0(struct saved_bus, 1);

	bus->name = g_strdup(name);
	bus->devices = devices;
	g_ptr_array_add(state->buses, bus);
}

void saved_state_add_resource(SavedState *state, const ResourceConfig *config, GPtrArray *hcas,
			      const Snapshot *shown)
{
	struct saved_resource *saved = saved_resource_new(
		g_strdup(config->full_name), g_strdup(config->bus), selectors_fingerprint(config));

	g_ptr_array_unref(saved->hcas);
	saved->hcas = hcas;
	for (guint i = 0; shown != NULL && i < shown->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(shown->slots, i);

		g_ptr_array_add(saved->ids, g_strdup(slot->id));
	}
	g_ptr_array_add(state->resources, saved);
}

const struct saved_bus *saved_state_bus(const SavedState *state, const char *name)
{
	for (guint i = 0; i < state->buses->len; i++) {
		const struct saved_bus *bus = g_ptr_array_index(state->buses, i);

		if (strcmp(bus->name, name) == 0)
			return bus;
	}
	return NULL;
}

struct saved_resource *saved_state_take_resource(SavedState *state, const char *name)
{
	for (guint i = 0; i < state->resources->len; i++) {
		const struct saved_resource *saved = g_ptr_array_index(state->resources, i);

		if (strcmp(saved->name, name) == 0)
			return g_ptr_array_steal_index(state->resources, i);
	}
	return NULL;
}
