/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that no good kubelet makes, or makes only on a bad day. */
#include <string.h>

#include "kubelet/scenario.h"

#define SERVICE "/v1beta1.DevicePlugin/"
#define HUGE_COUNT 100000

/* --- one call --- */

struct result {
	gboolean done;
	enum rpc_status status;
	char *message;
	GBytes *reply;
};

static void on_done(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct result *result = data;
	result->done = TRUE;
	result->status = status;
	result->message = g_strdup(message);
	result->reply = reply ? g_bytes_ref(reply) : NULL;
}

static gboolean is_done(struct scenario *scenario, gpointer data)
{
	const struct result *result = data;
	(void)scenario;
	return result->done;
}

static void result_clear(struct result *result)
{
	g_free(result->message);
	g_clear_pointer(&result->reply, g_bytes_unref);
	*result = (struct result){0};
}

/* FALSE and failed if there is no answer. deadline_ms 0 = the limit of the options. */
static gboolean call(struct scenario *scenario, const char *method, GBytes *message,
		     guint deadline_ms, struct result *ret)
{
	RpcChannel *channel = sim_client_channel(scenario->sim, scenario_resource(scenario));
	*ret = (struct result){0};
	if (!channel)
		return scenario_fail(scenario, "the plugin is not connected");
	RpcRequest *request =
		rpc_channel_request(channel, method, message, deadline_ms, on_done, ret);
	if (scenario_await(scenario, is_done, ret))
		return TRUE;
	rpc_request_cancel(request);
	return scenario_fail(scenario, "'%s' has not been answered in %.1f s", method,
			     scenario->options->limit_s);
}

/* The plugin still does what it should. */
static gboolean check_alive(struct scenario *scenario, const char *after_what)
{
	struct result result;
	g_autoptr(GBytes) empty = sim_pack_empty();
	if (scenario->failed ||
	    !call(scenario, SERVICE "GetDevicePluginOptions", empty, 0, &result))
		return FALSE;
	if (result.status != RPC_OK)
		scenario_fail(scenario, "after %s GetDevicePluginOptions fails: %s", after_what,
			      result.message);
	result_clear(&result);
	return scenario_await_back(scenario, after_what);
}

/* --- scenarios --- */

static void run_unknown_methods(struct scenario *scenario)
{
	static const char *const methods[] = {SERVICE "NoSuchMethod", "/no.such.Service/Method",
					      "/v1.DevicePlugin/Allocate"};
	g_autoptr(GBytes) empty = sim_pack_empty();
	for (gsize i = 0; i < G_N_ELEMENTS(methods); i++) {
		struct result result;
		if (!call(scenario, methods[i], empty, 0, &result))
			return;
		if (result.status != RPC_UNIMPLEMENTED)
			scenario_fail(scenario, "'%s' is answered %s instead of Unimplemented",
				      methods[i], sim_code_name(result.status));
		result_clear(&result);
	}
	check_alive(scenario, "unknown methods");
}

/* Fields 99 (varint), 100 (text) and 101 (fixed64). */
static const guint8 unknown_fields[] = {0x98, 0x06, 0x01, 0xa2, 0x06, 0x01, 'x', 0xa9, 0x06,
					0,    0,    0,	  0,	0,    0,    0,	 0};

static void run_unknown_fields(struct scenario *scenario)
{
	struct result result;
	g_autoptr(GBytes) bytes = g_bytes_new_static(unknown_fields, sizeof(unknown_fields));
	if (!call(scenario, SERVICE "GetDevicePluginOptions", bytes, 0, &result))
		return;
	if (result.status != RPC_OK)
		scenario_fail(scenario, "unknown fields are refused: %s", result.message);
	result_clear(&result);
	check_alive(scenario, "unknown fields");
}

static void run_malformed(struct scenario *scenario)
{
	static const guint8 junk[] = {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x01};
	static const char *const methods[] = {SERVICE "Allocate", SERVICE "GetPreferredAllocation",
					      SERVICE "PreStartContainer"};
	g_autoptr(GBytes) bytes = g_bytes_new_static(junk, sizeof(junk));
	for (gsize i = 0; i < G_N_ELEMENTS(methods); i++) {
		struct result result;
		if (!call(scenario, methods[i], bytes, 0, &result))
			return;
		/* The other two may have no use for their message. */
		if (i == 0 && result.status == RPC_OK)
			scenario_fail(scenario, "'%s' accepts a malformed message", methods[i]);
		result_clear(&result);
	}
	check_alive(scenario, "malformed messages");
}

static void run_deadline(struct scenario *scenario)
{
	static const char *const ids[] = {"no-such-id", NULL};
	guint count = scenario_count(scenario, 200);
	struct scenario_usage before = scenario_usage(scenario);
	g_autoptr(GBytes) message = sim_pack_allocate(ids);
	for (guint i = 0; i < count; i++) {
		struct result result;
		if (!call(scenario, SERVICE "Allocate", message, 1, &result))
			return;
		result_clear(&result);
	}
	if (check_alive(scenario, "deadlines of 1 ms"))
		scenario_check_usage(scenario, &before);
}

static GStrv many_ids(void)
{
	GStrv ids = g_new0(char *, HUGE_COUNT + 1);
	for (guint i = 0; i < HUGE_COUNT; i++)
		ids[i] = g_strdup_printf("no-such-id-%u", i);
	return ids;
}

static void run_huge(struct scenario *scenario)
{
	static const char *const none[] = {NULL};
	g_auto(GStrv) ids = many_ids();
	g_autoptr(GBytes) allocate = sim_pack_allocate((const char *const *)ids);
	g_autoptr(GBytes) preferred = sim_pack_preferred((const char *const *)ids, none, 1);
	const struct sim_options_answer *options =
		sim_client_options(scenario->sim, scenario_resource(scenario));
	gboolean offered = options && options->preferred_available;
	struct result result;
	if (!call(scenario, SERVICE "Allocate", allocate, 0, &result))
		return;
	result_clear(&result);
	if (!call(scenario, SERVICE "GetPreferredAllocation", preferred, 0, &result))
		return;
	if (offered && result.status != RPC_OK)
		scenario_fail(scenario,
			      "GetPreferredAllocation fails with %d ids, so no pod can start: "
			      "%s",
			      HUGE_COUNT, result.message);
	result_clear(&result);
	check_alive(scenario, "huge requests");
}

/* An init container's ids are offered again: the answer must be the same. */
static void run_same_ids(struct scenario *scenario)
{
	const struct sim_resource *resource =
		sim_state_find(scenario->sim->state, scenario_resource(scenario));
	g_autoptr(GPtrArray) ids = sim_set_sorted(resource->healthy);
	struct result first, second;
	if (ids->len < 2) {
		sim_emit(scenario->events, "not-possible",
			 json_pack("{s:s}", "text", "the resource has no healthy device"));
		return;
	}
	const char *const one[] = {g_ptr_array_index(ids, 0), NULL};
	g_autoptr(GBytes) message = sim_pack_allocate(one);
	if (!call(scenario, SERVICE "Allocate", message, 0, &first))
		return;
	if (call(scenario, SERVICE "Allocate", message, 0, &second)) {
		gboolean same = first.status == RPC_OK && second.status == RPC_OK &&
				g_bytes_equal(first.reply, second.reply);
		if (!same)
			scenario_fail(scenario,
				      "the same ids are answered differently the second "
				      "time: %s",
				      second.message);
		result_clear(&second);
	}
	result_clear(&first);
	check_alive(scenario, "the same ids twice");
}

static void on_event(const json_t *event, gpointer data)
{
	guint *registers = data;
	if (strcmp(json_string_value(json_object_get(event, "event")), "register") == 0)
		(*registers)++;
}

/* Nobody registers a second time because the first answer is slow. */
static void run_slow_register(struct scenario *scenario)
{
	guint registers = 0, expected = g_hash_table_size(scenario->baseline);
	guint delay_ms = scenario_duration_ms(scenario, 3000);
	sim_stop(scenario->sim);
	scenario->sim->options.answer_delay_ms = delay_ms;
	sim_events_observe(scenario->events, on_event, &registers);
	if (scenario_start_kubelet(scenario)) {
		scenario_await_back(scenario, "a Register that is answered late");
		scenario_sleep(scenario, delay_ms + delay_ms / 2);
	}
	sim_events_ignore(scenario->events, on_event, &registers);
	scenario->sim->options.answer_delay_ms = 0;
	if (!scenario->failed && registers != expected)
		scenario_fail(scenario,
			      "%u calls of Register instead of %u while the answer was "
			      "pending",
			      registers, expected);
	scenario_await_back(scenario, "late answers to Register");
}

const struct scenario_entry scenario_calls[] = {
	{"unknown-methods", "methods and services that do not exist", run_unknown_methods},
	{"unknown-fields", "messages of a later version of the API", run_unknown_fields},
	{"malformed", "messages that do not decode", run_malformed},
	{"deadline-1ms", "callers that wait for 1 ms", run_deadline},
	{"huge-requests", "100,000 ids in one request", run_huge},
	{"same-ids", "the same ids are allocated twice", run_same_ids},
	{"slow-register", "Register is answered seconds late", run_slow_register},
	{NULL, NULL, NULL},
};
