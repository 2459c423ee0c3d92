/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/status_text.h"

#include <unistd.h>

#include "daemon/readiness.h"
#include "edge/json_writer.h"
#include "kubelet/registration.h"

#define FORMAT_VERSION 1

/* Real time, in microseconds; 0 is none. */
static void add_time(JsonWriter *json, const char *key, gint64 real_us)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(real_us / G_USEC_PER_SEC);
	g_autofree char *text = NULL;

	if (real_us == 0 || time == NULL) {
		json_add_null(json, key);
		return;
	}
	text = g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ");
	json_add_string(json, key, text);
}

static void add_since(JsonWriter *json, const struct status_source *source, gint64 monotonic_us)
{
	add_time(json, "since", monotonic_us == 0 ? 0 : monotonic_us + source->real_offset_us);
}

static void add_count(JsonWriter *json, const char *key, guint64 value)
{
	json_add_int(json, key, (gint64)value);
}

/* --- an HCA --- */

static void add_names(JsonWriter *json, const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	json_begin_array(json, "rdmaDevices");
	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		json_add_string(json, NULL, abi->rdma_devices[i]->name);
	json_end_array(json);
	json_begin_array(json, "interfaces");
	for (guint32 i = 0; i < abi->n_netdevs; i++)
		if (!(abi->netdevs[i]->flags & RDMADP_NET_REPRESENTOR))
			json_add_string(json, NULL, abi->netdevs[i]->name);
	json_end_array(json);
}

/* Why it is not good; what it lacks counts before anybody has looked at it. */
static void add_reason(JsonWriter *json, const struct hca *hca, const struct health *health)
{
	if (health != NULL && !health_is_good(health)) {
		json_begin_object(json, "reason");
		json_add_string(json, "code", health_code_name(health->code));
		json_add_string(json, "text", health->text);
		json_end_object(json);
	} else if (!hca_is_complete(hca)) {
		json_begin_object(json, "reason");
		json_add_string(
			json, "code",
			health_code_name(hca->present ? HEALTH_CODE_FILES : HEALTH_CODE_GONE));
		json_add_string(json, "text", hca_problem(hca));
		json_end_object(json);
	} else {
		json_add_null(json, "reason");
	}
}

static void add_hca(JsonWriter *json, const struct status_source *source, const Offer *offer,
		    const struct hca *hca)
{
	const char *identity = device_identity(hca->device);
	const struct health *health = health_board_find(offer_health(offer), identity);
	enum health_state state = health != NULL ? health->state : HEALTH_STATE_UNKNOWN;

	json_begin_object(json, NULL);
	json_add_string(json, "id", device_id(hca->device));
	json_add_string(json, "identity", identity);
	json_add_int(json, "ordinal", hca->ordinal);
	add_names(json, hca->device);
	json_add_int(json, "numaNode", device_abi(hca->device)->numa_node);
	json_add_bool(json, "present", hca->present);
	json_add_bool(json, "counts", hca_counts(hca));
	json_add_bool(json, "healthy", hca_is_good(hca));
	json_add_string(json, "state", health_state_name(state));
	add_since(json, source, health != NULL ? health->since_us : 0);
	add_reason(json, hca, health);
	json_add_int(json, "flaps", health != NULL ? health->flaps : 0);
	json_add_int(json, "linkDowns", health != NULL ? (gint64)health->link_downs : 0);
	json_end_object(json);
}

/* --- a resource --- */

static const char *mode_name(const Pool *pool)
{
	return resource_is_exclusive(pool_resource(pool)) ? "exclusive" : "shared";
}

/* NULL while the resource is in the mode that is wanted. */
static void add_mode_wait(JsonWriter *json, const Pool *pool)
{
	g_autofree char *text = mode_switch_text(offer_mode(pool_offer(pool)));

	json_add_string(json, "modeWait", g_str_equal(text, mode_name(pool)) ? NULL : text);
}

static const char *policy_name(enum health_policy policy)
{
	static const char *const names[] = {"perDevice", "anyDevice", "allDevices", "off"};

	return names[policy];
}

static void add_stale(const char *id, const char *why, gpointer json)
{
	json_begin_object(json, NULL);
	json_add_string(json, "id", id);
	json_add_string(json, "text", why);
	json_end_object(json);
}

static void add_devices(JsonWriter *json, const Offer *offer)
{
	const Snapshot *shown = offer_shown(offer);

	json_begin_object(json, "devices");
	json_add_int(json, "total", shown != NULL ? shown->slots->len : 0);
	add_count(json, "healthy", shown != NULL ? snapshot_n_healthy(shown) : 0);
	json_add_int(json, "retiring", offer_n_retiring(offer));
	json_begin_array(json, "renumbered");
	renumber_each_stale(offer_renumber(offer), add_stale, json);
	json_end_array(json);
	json_end_object(json);
}

static void add_registration(JsonWriter *json, const struct status_source *source, const Pool *pool)
{
	struct plugin_status status;

	plugin_get_status(pool_plugin(pool), &status);
	json_begin_object(json, "registration");
	json_add_string(json, "state", registration_state_name(status.state));
	add_since(json, source, status.since_us);
	json_add_int(json, "streams", status.streams);
	json_add_string(json, "socket", status.socket_path);
	json_add_string(json, "error", status.last_error);
	add_count(json, "registrations", status.registrations);
	add_count(json, "lists", status.lists_sent);
	add_count(json, "allocations", status.allocations);
	add_count(json, "failedAllocations", status.failed_allocations);
	json_end_object(json);
}

static void add_resource(JsonWriter *json, const struct status_source *source, const char *key,
			 const Pool *pool)
{
	GPtrArray *hcas = resource_hcas(pool_resource(pool));
	g_autofree char *trouble = pool_trouble(pool);

	json_begin_object(json, key);
	json_add_string(json, "name", pool_config(pool)->full_name);
	json_add_string(json, "bus", pool_config(pool)->bus);
	json_add_string(json, "mode", mode_name(pool));
	add_mode_wait(json, pool);
	json_add_string(json, "healthPolicy", policy_name(pool_config(pool)->health_policy));
	json_add_bool(json, "leaving", pool_is_leaving(pool));
	json_add_string(json, "trouble", trouble);
	add_devices(json, pool_offer(pool));
	add_registration(json, source, pool);
	json_begin_array(json, "hcas");
	for (guint i = 0; i < hcas->len; i++)
		add_hca(json, source, pool_offer(pool), g_ptr_array_index(hcas, i));
	json_end_array(json);
	json_end_object(json);
}

/* --- the rest --- */

static void add_bus(JsonWriter *json, const char *key, const Bus *bus)
{
	struct bus_status status;
	const char *state = "starting";

	bus_get_status(bus, &status);
	if (status.refusal != NULL)
		state = "refused";
	else if (status.has_scanned)
		state = "running";
	json_begin_object(json, key);
	json_add_string(json, "name", bus_name(bus));
	json_add_string(json, "state", state);
	json_add_string(json, "refusal", status.refusal);
	json_add_string(json, "version", status.version);
	json_add_string(json, "trouble", status.scan_trouble);
	json_add_int(json, "devices", status.devices);
	add_count(json, "scans", status.scans);
	add_count(json, "failedScans", status.failed_scans);
	json_add_int(json, "healthThreads", status.workers);
	json_add_int(json, "stuckHealthThreads", status.stuck);
	json_end_object(json);
}

static void add_configuration(JsonWriter *json, const char *key, const Configuration *configuration)
{
	struct configuration_status status;

	configuration_get_status(configuration, &status);
	json_begin_object(json, key);
	json_add_string(json, "resources", configuration_settings(configuration)->resources);
	add_time(json, "since", status.changed_us);
	add_count(json, "reloads", status.reloads);
	add_count(json, "refused", status.refused);
	add_time(json, "refusedAt", status.refused_us);
	json_add_string(json, "error", status.error);
	json_end_object(json);
}

static void add_daemon(JsonWriter *json, const struct status_source *source)
{
	json_begin_object(json, "daemon");
	json_add_string(json, "version", RDMADP_VERSION);
	json_add_int(json, "pid", getpid());
	json_add_string(json, "node", g_getenv("NODE_NAME"));
	add_time(json, "since", source->started_us);
	json_end_object(json);
}

static void add_readiness(JsonWriter *json, const struct status_source *source)
{
	g_autoptr(GPtrArray) lacks = readiness_lacks(source->configuration, source->roster);

	json_add_bool(json, "ready", lacks->len == 0);
	json_begin_array(json, "notReady");
	for (guint i = 0; i < lacks->len; i++)
		json_add_string(json, NULL, g_ptr_array_index(lacks, i));
	json_end_array(json);
}

static void add_holding(JsonWriter *json, const struct holding *holding)
{
	json_begin_object(json, NULL);
	json_add_string(json, "namespace", holding->name_space);
	json_add_string(json, "pod", holding->pod);
	json_add_string(json, "container", holding->container);
	json_add_string(json, "resource", holding->resource);
	json_begin_array(json, "devices");
	for (guint i = 0; i < holding->ids->len; i++)
		json_add_string(json, NULL, g_ptr_array_index(holding->ids, i));
	json_end_array(json);
	json_end_object(json);
}

static void add_pods(JsonWriter *json, const struct status_source *source,
		     const struct status_pods *pods)
{
	const GPtrArray *list;

	json_add_string(json, "podsError", pods == NULL ? NULL : pods->trouble);
	if (pods == NULL || pods->holdings == NULL) {
		json_add_null(json, "pods");
		return;
	}
	list = holdings_list(pods->holdings);
	json_begin_array(json, "pods");
	for (guint i = 0; i < list->len; i++) {
		const struct holding *holding = g_ptr_array_index(list, i);

		if (roster_find_pool(source->roster, holding->resource) != NULL)
			add_holding(json, holding);
	}
	json_end_array(json);
}

/* --- lines --- */

static JsonWriter *begin(const char *type)
{
	JsonWriter *json = json_writer_new(FALSE);

	json_begin_object(json, NULL);
	json_add_string(json, "type", type);
	return json;
}

/* Frees the writer. */
static char *finish(JsonWriter *json)
{
	char *text;

	json_end_object(json);
	text = g_strdup(json_writer_text(json));
	json_writer_free(json);
	return text;
}

char *status_snapshot_text(const struct status_source *source, const struct status_pods *pods)
{
	const GPtrArray *buses = roster_buses(source->roster);
	const GPtrArray *pools = roster_pools(source->roster);
	JsonWriter *json = begin("snapshot");

	json_add_int(json, "formatVersion", FORMAT_VERSION);
	add_time(json, "time", g_get_real_time());
	add_readiness(json, source);
	add_daemon(json, source);
	add_configuration(json, "configuration", source->configuration);
	json_begin_array(json, "buses");
	for (guint i = 0; i < buses->len; i++)
		add_bus(json, NULL, g_ptr_array_index(buses, i));
	json_end_array(json);
	json_begin_array(json, "resources");
	for (guint i = 0; i < pools->len; i++)
		add_resource(json, source, NULL, g_ptr_array_index(pools, i));
	json_end_array(json);
	add_pods(json, source, pods);
	return finish(json);
}

char *status_resource_text(const struct status_source *source, const Pool *pool)
{
	JsonWriter *json = begin("resource");

	add_resource(json, source, "resource", pool);
	return finish(json);
}

char *status_bus_text(const struct status_source *source G_GNUC_UNUSED, const Bus *bus)
{
	JsonWriter *json = begin("bus");

	add_bus(json, "bus", bus);
	return finish(json);
}

char *status_readiness_text(const struct status_source *source)
{
	JsonWriter *json = begin("ready");

	add_readiness(json, source);
	return finish(json);
}

char *status_configuration_text(const struct status_source *source)
{
	JsonWriter *json = begin("configuration");

	add_configuration(json, "configuration", source->configuration);
	return finish(json);
}

char *status_removed_text(const char *kind, const char *name)
{
	JsonWriter *json = begin("removed");

	json_add_string(json, "kind", kind);
	json_add_string(json, "name", name);
	return finish(json);
}
