/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's checkpoint file, in its own JSON and with its checksum.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kubelet/sim_checksum.h"
#include "kubelet/sim_private.h"

#define NO_NODE "-1"

static char *checkpoint_path(const Sim *sim)
{
	return g_build_filename(sim->options.dir, "kubelet_internal_checkpoint", NULL);
}

/* --- write --- */

static void add_id(json_t *by_node, const char *node, const char *id)
{
	json_t *ids = json_object_get(by_node, node);
	if (!ids) {
		ids = json_array();
		json_object_set_new(by_node, node, ids);
	}
	json_array_append_new(ids, sim_json_text(id));
}

static json_t *device_ids(const struct sim_resource *resource, GStrv ids)
{
	json_t *by_node = json_object();
	for (gsize i = 0; ids[i]; i++) {
		const struct sim_device *device =
			resource ? g_hash_table_lookup(resource->devices, ids[i]) : NULL;
		if (!device || device->nodes->len == 0)
			add_id(by_node, NO_NODE, ids[i]);
		for (guint j = 0; device && j < device->nodes->len; j++) {
			g_autofree char *node = g_strdup_printf(
				"%" G_GINT64_FORMAT, g_array_index(device->nodes, gint64, j));
			add_id(by_node, node, ids[i]);
		}
	}
	return by_node;
}

static json_t *entry(const SimState *state, const struct sim_grant *grant)
{
	g_autofree char *response = NULL;
	if (grant->response) {
		gsize size;
		gconstpointer data = g_bytes_get_data(grant->response, &size);
		response = g_base64_encode(data, size);
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:s}", "PodUID", sim_json_text(grant->pod),
			 "ContainerName", sim_json_text(grant->container), "ResourceName",
			 sim_json_text(grant->resource), "DeviceIDs",
			 device_ids(sim_state_find(state, grant->resource), grant->ids),
			 "AllocResp", response ? response : "");
}

static json_t *registered(const SimState *state)
{
	json_t *devices = json_object();
	g_autoptr(GPtrArray) names = sim_state_names(state);
	for (guint i = 0; i < names->len; i++) {
		const struct sim_resource *resource =
			sim_state_find(state, g_ptr_array_index(names, i));
		if (!resource->healthy)
			continue;
		g_autoptr(GPtrArray) ids = sim_set_sorted(resource->healthy);
		json_object_set_new(devices, resource->name,
				    sim_json_ids((const char *const *)ids->pdata));
	}
	return devices;
}

static json_t *checkpoint_data(const SimState *state)
{
	json_t *entries = json_array();
	for (guint i = 0; i < state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(state->grants, i);
		/* A kubelet drops these after its start, because the pod is no more. */
		if (!grant->ended)
			json_array_append_new(entries, entry(state, grant));
	}
	/* Go's empty slice. */
	if (json_array_size(entries) == 0) {
		json_decref(entries);
		entries = json_null();
	}
	return json_pack("{s:o, s:o}", "PodDeviceEntries", entries, "RegisteredDevices",
			 registered(state));
}

/* Temporary file, fsync, rename: as the kubelet does on every list. */
static gboolean replace_file(const char *path, const char *text, gboolean sync)
{
	g_autofree char *temporary = g_strconcat(path, ".tmp", NULL);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return FALSE;
	gsize length = strlen(text);
	gboolean written = write(fd, text, length) == (gssize)length && (!sync || fsync(fd) == 0);
	close(fd);
	return written && rename(temporary, path) == 0;
}

void sim_checkpoint_write(Sim *sim)
{
	g_autofree char *path = checkpoint_path(sim);
	json_t *data = checkpoint_data(sim->state);
	json_t *whole =
		json_pack("{s:o, s:I}", "Data", data, "Checksum", (json_int_t)sim_checksum(data));
	char *text = json_dumps(whole, JSON_COMPACT);
	if (!replace_file(path, text, sim->options.fsync))
		sim_emit(sim->events, "checkpoint-failed",
			 json_pack("{s:s}", "text", g_strerror(errno)));
	free(text); /* jansson's, not GLib's */
	json_decref(whole);
}

/* --- read --- */

static GStrv ids_of(const json_t *by_node)
{
	g_autoptr(GHashTable) ids = sim_set_new();
	const char *node;
	const json_t *list, *id;
	size_t index;
	json_object_foreach((json_t *)by_node, node, list)
	{
		json_array_foreach(list, index, id)
			g_hash_table_add(ids, g_strdup(json_string_value(id)));
	}
	g_autoptr(GPtrArray) sorted = sim_set_sorted(ids);
	return g_strdupv((char **)sorted->pdata);
}

static void restore_entry(SimState *state, json_t *object)
{
	const char *pod, *container, *resource, *response;
	const json_t *by_node;
	if (json_unpack(object, "{s:s, s:s, s:s, s:o, s:s}", "PodUID", &pod, "ContainerName",
			&container, "ResourceName", &resource, "DeviceIDs", &by_node, "AllocResp",
			&response) != 0)
		return;
	g_auto(GStrv) ids = ids_of(by_node);
	struct sim_grant *grant =
		sim_state_grant(state, pod, container, resource, (const char *const *)ids);
	gsize size;
	guchar *data = g_base64_decode(response, &size);
	grant->response = g_bytes_new_take(data, size);
}

static void restore(Sim *sim, SimState *state, const json_t *data)
{
	const char *resource;
	json_t *value;
	size_t index;
	json_object_foreach(json_object_get(data, "RegisteredDevices"), resource, value)
		sim_state_remember(state, resource, sim_clock(sim));
	json_array_foreach(json_object_get(data, "PodDeviceEntries"), index, value)
		restore_entry(state, value);
	sim_state_recount(state);
}

static gboolean is_sound(const json_t *whole)
{
	const json_t *data = json_object_get(whole, "Data");
	return json_is_object(data) &&
	       json_integer_value(json_object_get(whole, "Checksum")) == sim_checksum(data);
}

void sim_checkpoint_read(Sim *sim)
{
	g_autofree char *path = checkpoint_path(sim);
	SimState *state = sim_state_new(sim->options.profile);
	/* The node's status is in the API server: it survives. */
	GHashTable *node = state->node;
	state->node = sim->state->node;
	sim->state->node = node;
	json_error_t error;
	json_t *whole = json_load_file(path, 0, &error);
	if (whole && is_sound(whole))
		restore(sim, state, json_object_get(whole, "Data"));
	else if (whole || g_file_test(path, G_FILE_TEST_EXISTS))
		sim_emit(sim->events, "checkpoint-ignored",
			 json_pack("{s:s}", "text",
				   "Continue after failing to read checkpoint file: it is "
				   "corrupt, so nothing is known"));
	json_decref(whole);
	sim_state_free(sim->state);
	sim->state = state;
}
