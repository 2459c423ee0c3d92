/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admission of one container: plan, ask for a preference, Allocate, look at the
 * answer. One at a time, without a deadline, as in the kubelet.
 */
#include <string.h>

#include "kubelet/sim_answer.h"
#include "kubelet/sim_plan.h"
#include "kubelet/sim_private.h"
#include "kubelet/sim_validate.h"

#define METHOD_ALLOCATE "/v1beta1.DevicePlugin/Allocate"
#define METHOD_PREFERRED "/v1beta1.DevicePlugin/GetPreferredAllocation"
#define METHOD_PRE_START "/v1beta1.DevicePlugin/PreStartContainer"

struct sim_allocation {
	Sim *sim;
	char *pod, *container, *resource;
	int count;
	SimPlan *plan;
	GStrv available; /* what the plugin may prefer among */
	GStrv ids;
	RpcChannel *channel; /* of the request */
	RpcRequest *request;
	gint64 start_us;
	guint hang;
	sim_done_fn done;
	gpointer data;
};

static void allocation_free(struct sim_allocation *allocation)
{
	g_clear_handle_id(&allocation->hang, g_source_remove);
	sim_plan_free(allocation->plan);
	g_strfreev(allocation->available);
	g_strfreev(allocation->ids);
	g_free(allocation->pod);
	g_free(allocation->container);
	g_free(allocation->resource);
	g_free(allocation);
}

static void finish(struct sim_allocation *allocation, gboolean ok)
{
	Sim *sim = allocation->sim;
	sim_done_fn done = allocation->done;
	gpointer data = allocation->data;
	sim->allocation = NULL;
	allocation_free(allocation);
	if (done)
		done(sim, ok, data);
}

static json_t *subject(const struct sim_allocation *allocation)
{
	return json_pack("{s:o, s:o, s:o}", "pod", sim_json_text(allocation->pod), "container",
			 sim_json_text(allocation->container), "resource",
			 sim_json_text(allocation->resource));
}

/* The pod is Failed for good. */
static void reject_with(struct sim_allocation *allocation, const char *reason, const char *text)
{
	json_t *fields = subject(allocation);
	json_object_set_new(fields, "reason", json_string(reason));
	json_object_set_new(fields, "message", sim_json_text(text));
	sim_emit(allocation->sim->events, "rejected", fields);
	finish(allocation, FALSE);
}

static void reject(struct sim_allocation *allocation, const char *cause)
{
	g_autofree char *text =
		g_strdup_printf("Allocate failed due to %s, which is unexpected", cause);
	reject_with(allocation, "UnexpectedAdmissionError", text);
}

static gboolean on_hang(gpointer data)
{
	struct sim_allocation *allocation = data;
	allocation->hang = 0;
	sim_verdict(allocation->sim->events, FALSE, "hang", allocation->resource,
		    "a call has not been answered for long: no other pod of the node can start");
	return G_SOURCE_REMOVE;
}

/* --- the answer to Allocate --- */

static json_t *response_json(const struct sim_allocation *allocation,
			     const V1beta1__ContainerAllocateResponse *container)
{
	json_t *fields = subject(allocation);
	json_object_set_new(fields, "ids", sim_json_ids((const char *const *)allocation->ids));
	json_object_set_new(fields, "ms", json_real(sim_ms_since(allocation->start_us)));
	json_object_update_new(fields, sim_answer_json(container));
	return fields;
}

/* Since 1.34 the kubelet follows a pointer to each allocated device after the call. */
static void check_panic(const struct sim_allocation *allocation)
{
	const Sim *sim = allocation->sim;
	const struct sim_resource *resource = sim_state_find(sim->state, allocation->resource);
	if (!sim->options.profile->panics)
		return;
	for (gsize i = 0; allocation->ids[i]; i++) {
		if (resource && g_hash_table_contains(resource->devices, allocation->ids[i]))
			continue;
		g_autofree char *text = g_strdup_printf(
			"PANIC: id '%s' left the list while it was being allocated: nil pointer "
			"dereference, the kubelet dies",
			allocation->ids[i]);
		sim_verdict(sim->events, FALSE, "panic", allocation->resource, text);
		return;
	}
}

static void accept(struct sim_allocation *allocation,
		   const V1beta1__ContainerAllocateResponse *container)
{
	Sim *sim = allocation->sim;
	struct sim_grant *grant =
		sim_state_grant(sim->state, allocation->pod, allocation->container,
				allocation->resource, (const char *const *)allocation->ids);
	grant->response = sim_answer_pack(container);
	sim_checkpoint_write(sim);
	sim_emit(sim->events, "allocated", response_json(allocation, container));
	finish(allocation, TRUE);
}

static void on_answer(struct sim_allocation *allocation, const SimAllocated *response)
{
	Sim *sim = allocation->sim;
	g_autoptr(GPtrArray) problems = sim_problems_new();
	sim_validate_response(response, sim->options.profile, sim->options.dev_root, problems);
	if (response->n_container_responses > 0)
		sim_answer_conflicts(sim->state, allocation->pod, allocation->container,
				     response->container_responses[0], problems);
	sim_verdicts(sim->events, allocation->resource, problems);
	check_panic(allocation);
	if (response->n_container_responses == 0)
		reject(allocation, "no containers return in allocation response");
	else
		accept(allocation, response->container_responses[0]);
}

/* After an error the kubelet counts again, so that the ids are free at once. */
static void fail_call(struct sim_allocation *allocation, const char *error)
{
	sim_state_recount(allocation->sim->state);
	reject(allocation, error);
}

static void on_allocated(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct sim_allocation *allocation = data;
	allocation->request = NULL;
	if (status != RPC_OK) {
		g_autofree char *error = sim_error_text(status, message);
		fail_call(allocation, error);
		return;
	}
	const char *problem = NULL;
	g_autoptr(SimAllocated) response = sim_unpack_allocated(
		reply, allocation->sim->options.profile->checks_utf8, &problem);
	if (response) {
		on_answer(allocation, response);
		return;
	}
	g_autofree char *text =
		g_strdup_printf("grpc: failed to unmarshal the received message: %s", problem);
	g_autofree char *error = sim_error_text(RPC_INTERNAL, text);
	sim_verdict(allocation->sim->events, FALSE, "malformed", allocation->resource, text);
	fail_call(allocation, error);
}

/* --- calls --- */

/* TRUE if the plugin's connection is there; else the container is rejected. */
static gboolean connect_call(struct sim_allocation *allocation)
{
	allocation->channel = sim_client_channel(allocation->sim, allocation->resource);
	if (allocation->channel)
		return TRUE;
	fail_call(allocation, "endpoint has been stopped");
	return FALSE;
}

static void call_allocate(struct sim_allocation *allocation, const char *const *preferred)
{
	Sim *sim = allocation->sim;
	if (!connect_call(allocation))
		return;
	allocation->ids =
		sim_plan_choose(allocation->plan, sim_state_find(sim->state, allocation->resource),
				preferred, sim->random);
	g_autoptr(GBytes) message = sim_pack_allocate((const char *const *)allocation->ids);
	allocation->start_us = g_get_monotonic_time();
	allocation->request = rpc_channel_request(allocation->channel, METHOD_ALLOCATE, message, 0,
						  on_allocated, allocation);
}

static gboolean contains(GStrv list, const char *text)
{
	return g_strv_contains((const char *const *)list, text);
}

/* The kubelet copes with all of these; the plugin does not know what it is doing. */
static void check_preferred(const struct sim_allocation *allocation, GStrv ids)
{
	SimEvents *events = allocation->sim->events;
	guint n = ids ? g_strv_length(ids) : 0;
	for (guint i = 0; i < n; i++) {
		if (contains(allocation->available, ids[i]))
			continue;
		g_autofree char *text =
			g_strdup_printf("prefers '%s', which is not available", ids[i]);
		sim_verdict(events, FALSE, "preferred-foreign", allocation->resource, text);
		return;
	}
	if (n > 0 && (int)n != allocation->count)
		sim_verdict(events, FALSE, "preferred-count", allocation->resource,
			    "prefers another number of ids than the container wants");
}

static void on_preferred(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct sim_allocation *allocation = data;
	const char *problem = NULL;
	allocation->request = NULL;
	if (status != RPC_OK) {
		g_autofree char *error = sim_error_text(status, message);
		g_autofree char *text = g_strdup_printf(
			"device plugin GetPreferredAllocation rpc failed with err: %s", error);
		sim_verdict(allocation->sim->events, FALSE, "preferred-failed",
			    allocation->resource, text);
		reject(allocation, text);
		return;
	}
	g_auto(GStrv) ids = sim_unpack_preferred(
		reply, allocation->sim->options.profile->checks_utf8, &problem);
	check_preferred(allocation, ids);
	json_t *fields = subject(allocation);
	json_object_set_new(fields, "ids", sim_json_ids((const char *const *)ids));
	sim_emit(allocation->sim->events, "preferred", fields);
	call_allocate(allocation, (const char *const *)ids);
}

static gboolean call_preferred(struct sim_allocation *allocation)
{
	Sim *sim = allocation->sim;
	const struct sim_options_answer *options = sim_client_options(sim, allocation->resource);
	g_auto(GStrv) must = NULL;
	if (!sim_plan_asks(allocation->plan, sim->random, &allocation->available, &must) ||
	    !options || !options->preferred_available)
		return FALSE;
	g_autoptr(GBytes) message =
		sim_pack_preferred((const char *const *)allocation->available,
				   (const char *const *)must, allocation->count);
	allocation->channel = sim_client_channel(sim, allocation->resource);
	allocation->request = rpc_channel_request(allocation->channel, METHOD_PREFERRED, message, 0,
						  on_preferred, allocation);
	return TRUE;
}

/* --- begin and end --- */

static void skip(struct sim_allocation *allocation, const char *event, const char *text)
{
	json_t *fields = subject(allocation);
	json_object_set_new(fields, "text", json_string(text));
	sim_emit(allocation->sim->events, event, fields);
	finish(allocation, TRUE);
}

static void run_plan(struct sim_allocation *allocation)
{
	switch (allocation->plan->step) {
	case SIM_PLAN_UNKNOWN:
		skip(allocation, "skipped",
		     "the kubelet does not know the resource: the pod starts without it");
		break;
	case SIM_PLAN_HELD:
		skip(allocation, "held", "the container has its devices already: no call");
		break;
	case SIM_PLAN_REFUSED: {
		g_autofree char *text = g_strdup(allocation->plan->refusal);
		reject(allocation, text);
		break;
	}
	case SIM_PLAN_CHOOSE:
		allocation->hang =
			g_timeout_add(allocation->sim->options.hang_ms, on_hang, allocation);
		if (!call_preferred(allocation))
			call_allocate(allocation, NULL);
		break;
	}
}

static struct sim_allocation *allocation_new(Sim *sim, const char *pod, const char *container,
					     sim_done_fn done, gpointer data)
{
	struct sim_allocation *allocation = g_new0(struct sim_allocation, 1);
	allocation->sim = sim;
	allocation->pod = pod ? g_strdup(pod) : g_strdup_printf("pod-%u", ++sim->next_pod);
	allocation->container = g_strdup(container ? container : "main");
	allocation->start_us = g_get_monotonic_time();
	allocation->done = done;
	allocation->data = data;
	sim->allocation = allocation;
	return allocation;
}

static void emit_hints(const struct sim_allocation *allocation, const GArray *hints)
{
	json_t *fields = subject(allocation), *list = json_array();
	for (guint i = 0; hints && i < hints->len; i++) {
		const struct sim_hint *hint = &g_array_index(hints, struct sim_hint, i);
		json_array_append_new(list, json_pack("{s:I, s:b}", "mask", (json_int_t)hint->mask,
						      "preferred", hint->preferred));
	}
	json_object_set_new(fields, "preference", json_boolean(hints != NULL));
	json_object_set_new(fields, "hints", list);
	sim_emit(allocation->sim->events, "hints", fields);
}

/* Where the pod's devices have to be. FALSE: it has been rejected. */
static gboolean align(struct sim_allocation *allocation, guint64 *ret_mask)
{
	Sim *sim = allocation->sim;
	g_autoptr(GHashTable) reusable =
		sim_plan_reusable(sim->state, allocation->resource, allocation->pod);
	GArray *hints = sim_topology_hints(sim->state, allocation->resource,
					   sim->options.numa_nodes, reusable, allocation->count);
	gboolean admitted = sim_topology_admit(sim->options.policy, hints, ret_mask);
	emit_hints(allocation, hints);
	g_clear_pointer(&hints, g_array_unref);
	if (!admitted)
		reject_with(allocation, "TopologyAffinityError",
			    "Resources cannot be allocated with Topology locality");
	return admitted;
}

gboolean sim_allocate(Sim *sim, const struct sim_claim *claim, sim_done_fn done, gpointer data)
{
	if (sim->allocation || !sim->running)
		return FALSE;
	struct sim_allocation *allocation =
		allocation_new(sim, claim->pod, claim->container, done, data);
	allocation->resource = g_strdup(claim->resource);
	allocation->count = claim->count;
	guint64 mask = claim->numa >= 0 ? G_GUINT64_CONSTANT(1) << claim->numa : 0;
	if (mask == 0 && sim->options.policy != SIM_POLICY_NONE && !align(allocation, &mask))
		return TRUE;
	allocation->plan = sim_plan_new(sim->state, allocation->resource, allocation->pod,
					allocation->container, claim->count, mask);
	run_plan(allocation);
	return TRUE;
}

/* The kubelet has died: its pods are admitted by its successor, if they still exist. */
void sim_allocation_abort(Sim *sim)
{
	struct sim_allocation *allocation = sim->allocation;
	if (!allocation)
		return;
	rpc_request_cancel(allocation->request);
	sim_emit(sim->events, "aborted", subject(allocation));
	finish(allocation, FALSE);
}

void sim_allocation_closed(Sim *sim, const RpcChannel *channel)
{
	struct sim_allocation *allocation = sim->allocation;
	if (!allocation || !allocation->request || allocation->channel != channel)
		return;
	rpc_request_cancel(g_steal_pointer(&allocation->request));
	fail_call(allocation, "rpc error: code = Canceled desc = grpc: the client connection is "
			      "closing");
}

/* --- PreStartContainer --- */

static const struct sim_grant *find_grant(const Sim *sim, const char *pod, const char *container)
{
	for (guint i = 0; i < sim->state->grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(sim->state->grants, i);
		if (strcmp(grant->pod, pod) == 0 && strcmp(grant->container, container) == 0)
			return grant;
	}
	return NULL;
}

static void on_started(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct sim_allocation *allocation = data;
	(void)reply;
	allocation->request = NULL;
	if (status == RPC_OK) {
		skip(allocation, "container-started", "PreStartContainer was called");
		return;
	}
	g_autofree char *error = sim_error_text(status, message);
	g_autofree char *text =
		g_strdup_printf("device plugin PreStartContainer rpc failed with err: %s", error);
	reject_with(allocation, "CreateContainerConfigError", text);
}

gboolean sim_start_container(Sim *sim, const char *pod, const char *container, sim_done_fn done,
			     gpointer data)
{
	const struct sim_grant *grant = find_grant(sim, pod, container ? container : "main");
	if (!grant || sim->allocation || !sim->running)
		return FALSE;
	struct sim_allocation *allocation = allocation_new(sim, pod, container, done, data);
	allocation->resource = g_strdup(grant->resource);
	const struct sim_options_answer *options = sim_client_options(sim, grant->resource);
	if (!options || !options->pre_start_required) {
		skip(allocation, "container-started", "the plugin did not ask for a call");
		return TRUE;
	}
	g_autoptr(GBytes) message = sim_pack_pre_start((const char *const *)grant->ids);
	allocation->channel = sim_client_channel(sim, grant->resource);
	allocation->request = rpc_channel_request(allocation->channel, METHOD_PRE_START, message,
						  SIM_PRE_START_MS, on_started, allocation);
	return TRUE;
}
