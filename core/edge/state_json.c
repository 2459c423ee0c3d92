/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of the state file:
 *
 *	{"version": 1, "bootId": "…",
 *	 "buses": [{"name": "pci", "devices": [device_json, …]}],
 *	 "resources": [{"name": "rdma/hca", "bus": "pci", "selectors": "fingerprint",
 *			"hcas": [{"identity": "…" or "device": device_json,
 *				  "usable": true, "ready": true, "healthy": true, "wasGood": true,
 *				  "reason": "…"}],
 *			"slots": 8, "ids": ["…"]}]}
 *
 * An HCA that is as its bus knows it is named by its identity. "slots" stands for the ids
 * rdma/hca-0, rdma/hca-1, and so on, of which there can be very many. A later version that can
 * still be read by this one adds members only; one that cannot has another number.
 */
#include <string.h>

#include "edge/device_json.h"
#include "edge/state_file.h"

#define VERSION 1
/* More than any machine has; a list is searched from its start. */
#define MOST_DEVICES 16384
/* More than fit into the kubelet's largest message. */
#define MOST_SLOTS 1000000

#define refuse(error, ...)                                                                         \
	g_set_error(error, STATE_FILE_ERROR, STATE_FILE_ERROR_UNUSABLE, __VA_ARGS__)

/* --- writing --- */

static Device *find_device(const struct saved_bus *bus, const char *identity)
{
	for (guint i = 0; bus != NULL && i < bus->devices->len; i++)
		if (strcmp(device_identity(bus->devices->pdata[i]), identity) == 0)
			return bus->devices->pdata[i];
	return NULL;
}

static void write_hca(JsonWriter *writer, const struct saved_bus *bus, const struct saved_hca *hca)
{
	const Device *known = find_device(bus, device_identity(hca->device));

	json_begin_object(writer, NULL);
	if (known != NULL && device_equal(known, hca->device))
		json_add_string(writer, "identity", device_identity(hca->device));
	else
		device_json_write(writer, "device", hca->device);
	json_add_bool(writer, "usable", hca->usable);
	json_add_bool(writer, "ready", hca->ready);
	json_add_bool(writer, "healthy", hca->healthy);
	json_add_bool(writer, "wasGood", hca->was_good);
	if (hca->reason != NULL)
		json_add_string(writer, "reason", hca->reason);
	json_end_object(writer);
}

static char *slot_id(const char *resource, guint number)
{
	return g_strdup_printf("%s-%u", resource, number);
}

/* How many of the ids, from the first on, are those of slots. */
static guint count_slots(const struct saved_resource *resource)
{
	guint n = 0;

	for (; n < resource->ids->len; n++) {
		g_autofree char *id = slot_id(resource->name, n);

		if (strcmp(id, g_ptr_array_index(resource->ids, n)) != 0)
			break;
	}
	return n;
}

static void write_ids(JsonWriter *writer, const struct saved_resource *resource)
{
	guint n = count_slots(resource);

	json_add_int(writer, "slots", n);
	json_begin_array(writer, "ids");
	for (guint i = n; i < resource->ids->len; i++)
		json_add_string(writer, NULL, g_ptr_array_index(resource->ids, i));
	json_end_array(writer);
}

static void write_resource(JsonWriter *writer, const SavedState *state,
			   const struct saved_resource *resource)
{
	const struct saved_bus *bus = saved_state_bus(state, resource->bus);

	json_begin_object(writer, NULL);
	json_add_string(writer, "name", resource->name);
	json_add_string(writer, "bus", resource->bus);
	json_add_string(writer, "selectors", resource->fingerprint);
	json_begin_array(writer, "hcas");
	for (guint i = 0; i < resource->hcas->len; i++)
		write_hca(writer, bus, resource->hcas->pdata[i]);
	json_end_array(writer);
	write_ids(writer, resource);
	json_end_object(writer);
}

static void write_bus(JsonWriter *writer, const struct saved_bus *bus)
{
	json_begin_object(writer, NULL);
	json_add_string(writer, "name", bus->name);
	json_begin_array(writer, "devices");
	for (guint i = 0; i < bus->devices->len; i++)
		device_json_write(writer, NULL, bus->devices->pdata[i]);
	json_end_array(writer);
	json_end_object(writer);
}

char *state_file_text(const SavedState *state, const char *boot_id)
{
	g_autoptr(JsonWriter) writer = json_writer_new(FALSE);

	json_begin_object(writer, NULL);
	json_add_int(writer, "version", VERSION);
	json_add_string(writer, "bootId", boot_id);
	json_begin_array(writer, "buses");
	for (guint i = 0; i < state->buses->len; i++)
		write_bus(writer, state->buses->pdata[i]);
	json_end_array(writer);
	json_begin_array(writer, "resources");
	for (guint i = 0; i < state->resources->len; i++)
		write_resource(writer, state, state->resources->pdata[i]);
	json_end_array(writer);
	json_end_object(writer);
	return g_strconcat(json_writer_text(writer), "\n", NULL);
}

/* --- reading --- */

/* NULL and an error if the object has no such member of that kind. */
static const JsonValue *need(const JsonValue *object, const char *key, enum json_kind kind,
			     GError **error)
{
	const JsonValue *value = json_find(object, key);
	g_autofree char *path = json_path(object);

	if (value != NULL && value->kind == kind)
		return value;
	refuse(error, "%s%s%s is %s", path, path[0] == '\0' ? "" : ".", key,
	       value == NULL ? "missing" : "of the wrong kind");
	return NULL;
}

static const char *need_text(const JsonValue *object, const char *key, GError **error)
{
	const JsonValue *value = need(object, key, JSON_KIND_STRING, error);

	return value == NULL ? NULL : value->string;
}

static GPtrArray *need_list(const JsonValue *object, const char *key, GError **error)
{
	const JsonValue *value = need(object, key, JSON_KIND_ARRAY, error);

	if (value == NULL)
		return NULL;
	if (value->items->len <= MOST_DEVICES)
		return value->items;
	refuse(error, "%s has more than %d entries", key, MOST_DEVICES);
	return NULL;
}

static gboolean is_true(const JsonValue *object, const char *key)
{
	const JsonValue *value = json_find(object, key);

	return value != NULL && value->kind == JSON_KIND_BOOL && value->boolean;
}

/* Adds to a set of texts; FALSE and an error if it is there already. */
static gboolean add_once(GHashTable *seen, const char *text, GError **error)
{
	if (g_hash_table_add(seen, (gpointer)text))
		return TRUE;
	refuse(error, "\"%s\" is there twice", text);
	return FALSE;
}

static GPtrArray *read_devices(const JsonValue *bus, GError **error)
{
	g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *items = need_list(bus, "devices", error);

	for (guint i = 0; items != NULL && i < items->len; i++) {
		Device *device = device_json_read(items->pdata[i], error);

		if (device == NULL)
			return NULL;
		g_ptr_array_add(devices, device);
		if (!add_once(seen, device_identity(device), error))
			return NULL;
	}
	return items == NULL ? NULL : g_steal_pointer(&devices);
}

static gboolean read_bus(SavedState *state, const JsonValue *value, GError **error)
{
	const char *name = need_text(value, "name", error);
	GPtrArray *devices = name == NULL ? NULL : read_devices(value, error);

	if (devices != NULL)
		saved_state_add_bus(state, name, devices);
	return devices != NULL;
}

/* In full, or as its bus knows it. */
static Device *read_hca_device(const JsonValue *value, const struct saved_bus *bus, GError **error)
{
	const JsonValue *full = json_find(value, "device");
	const char *identity;
	Device *device;

	if (full != NULL)
		return device_json_read(full, error);
	identity = need_text(value, "identity", error);
	if (identity == NULL)
		return NULL;
	device = find_device(bus, identity);
	if (device != NULL)
		return device_ref(device);
	refuse(error, "nothing is known of the HCA \"%s\"", identity);
	return NULL;
}

static struct saved_hca *read_hca(const JsonValue *value, const struct saved_bus *bus,
				  GError **error)
{
	Device *device = read_hca_device(value, bus, error);
	const JsonValue *reason = json_find(value, "reason");
	struct saved_hca *hca;

	if (device == NULL)
		return NULL;
	hca = g_new0(struct saved_hca, 1);
	hca->device = device;
	hca->usable = is_true(value, "usable");
	hca->ready = is_true(value, "ready");
	hca->healthy = is_true(value, "healthy");
	hca->was_good = is_true(value, "wasGood");
	if (reason != NULL)
		hca->reason = g_strdup(reason->string);
	return hca;
}

static gboolean read_hcas(struct saved_resource *resource, const JsonValue *value,
			  const struct saved_bus *bus, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *items = need_list(value, "hcas", error);

	for (guint i = 0; items != NULL && i < items->len; i++) {
		struct saved_hca *hca = read_hca(items->pdata[i], bus, error);

		if (hca == NULL)
			return FALSE;
		g_ptr_array_add(resource->hcas, hca);
		if (!add_once(seen, device_identity(hca->device), error))
			return FALSE;
	}
	return items != NULL;
}

static gboolean read_slots(struct saved_resource *resource, const JsonValue *value, GError **error)
{
	const JsonValue *slots = need(value, "slots", JSON_KIND_INT, error);

	if (slots == NULL)
		return FALSE;
	if (slots->integer < 0 || slots->integer > MOST_SLOTS) {
		refuse(error, "%" G_GINT64_FORMAT " slots are more than there can be",
		       slots->integer);
		return FALSE;
	}
	for (guint i = 0; i < (guint)slots->integer; i++)
		g_ptr_array_add(resource->ids, slot_id(resource->name, i));
	return TRUE;
}

static gboolean read_ids(struct saved_resource *resource, const JsonValue *value, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *items = need_list(value, "ids", error);

	for (guint i = 0; items != NULL && items->len > 0 && i < resource->ids->len; i++)
		g_hash_table_add(seen, g_ptr_array_index(resource->ids, i));
	for (guint i = 0; items != NULL && i < items->len; i++) {
		const JsonValue *id = items->pdata[i];

		if (id->kind != JSON_KIND_STRING || id->string[0] == '\0') {
			refuse(error, "ids[%u] is no id", i);
			return FALSE;
		}
		if (!add_once(seen, id->string, error))
			return FALSE;
		g_ptr_array_add(resource->ids, g_strdup(id->string));
	}
	return items != NULL;
}

static gboolean read_resource(SavedState *state, const JsonValue *value, GError **error)
{
	struct saved_resource *resource;
	const char *name = need_text(value, "name", error);
	const char *bus = name == NULL ? NULL : need_text(value, "bus", error);
	const char *selectors = bus == NULL ? NULL : need_text(value, "selectors", error);

	if (selectors == NULL)
		return FALSE;
	resource = saved_resource_new(g_strdup(name), g_strdup(bus), g_strdup(selectors));
	g_ptr_array_add(state->resources, resource);
	return read_hcas(resource, value, saved_state_bus(state, bus), error) &&
	       read_slots(resource, value, error) && read_ids(resource, value, error);
}

static gboolean read_all(SavedState *state, const JsonValue *top, const char *key,
			 gboolean (*read)(SavedState *, const JsonValue *, GError **),
			 GError **error)
{
	GPtrArray *items = need_list(top, key, error);

	for (guint i = 0; items != NULL && i < items->len; i++)
		if (!read(state, items->pdata[i], error))
			return FALSE;
	return items != NULL;
}

static gboolean is_ours(const JsonValue *top, const char *boot_id, GError **error)
{
	const JsonValue *version = need(top, "version", JSON_KIND_INT, error);
	const char *boot = version == NULL ? NULL : need_text(top, "bootId", error);

	if (boot == NULL)
		return FALSE;
	if (version->integer != VERSION) {
		refuse(error, "it is of version %" G_GINT64_FORMAT ", this program knows %d",
		       version->integer, VERSION);
		return FALSE;
	}
	if (strcmp(boot, boot_id) == 0)
		return TRUE;
	g_set_error(error, STATE_FILE_ERROR, STATE_FILE_ERROR_STALE, "it is of another boot");
	return FALSE;
}

SavedState *state_file_parse(const char *text, gsize length, const char *boot_id, GError **error)
{
	g_autoptr(GError) problem = NULL;
	g_autoptr(JsonValue) top = json_parse(text, length, &problem);
	g_autoptr(SavedState) state = saved_state_new();

	if (top == NULL) {
		refuse(error, "%s", problem->message);
		return NULL;
	}
	if (is_ours(top, boot_id, error) && read_all(state, top, "buses", read_bus, error) &&
	    read_all(state, top, "resources", read_resource, error))
		return g_steal_pointer(&state);
	return NULL;
}
