/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Straight on gRPC C-core and without a main loop, so that the client's share of the
 * figures is small: each caller asks again as soon as it has its answer, all of them on
 * one completion queue and one thread.
 */
#include "bench/load.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include "deviceplugin.pb-c.h"

struct caller {
	grpc_call *call;
	grpc_byte_buffer *request, *reply;
	grpc_metadata_array initial, trailing;
	grpc_status_code status;
	grpc_slice text;
	gint64 began_ns;
};

struct run {
	grpc_completion_queue *queue;
	grpc_channel *channel;
	grpc_slice method, message;
	guint started, limit;
	GArray *latencies;
};

/* g_get_monotonic_time has microseconds only. */
static gint64 now_ns(void)
{
	gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);

	return now.tv_sec * 1000000000 + now.tv_nsec;
}

GBytes *load_pack_allocate(const char *device)
{
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = {&container};
	char *ids[] = {(char *)device};

	container.n_devices_ids = 1;
	container.devices_ids = ids;
	request.n_container_requests = 1;
	request.container_requests = containers;
	gsize size = v1beta1__allocate_request__get_packed_size(&request);
	guint8 *bytes = g_malloc(size);

	v1beta1__allocate_request__pack(&request, bytes);
	return g_bytes_new_take(bytes, size);
}

GBytes *load_pack_preferred(char *const *devices, guint n_devices, guint size)
{
	V1beta1__PreferredAllocationRequest request = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest container =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest *containers[] = {&container};

	container.n_available_deviceids = n_devices;
	container.available_deviceids = (char **)devices;
	container.allocation_size = (gint32)size;
	request.n_container_requests = 1;
	request.container_requests = containers;
	gsize length = v1beta1__preferred_allocation_request__get_packed_size(&request);
	guint8 *bytes = g_malloc(length);

	v1beta1__preferred_allocation_request__pack(&request, bytes);
	return g_bytes_new_take(bytes, length);
}

static grpc_slice slice_of(GBytes *bytes)
{
	gsize size;
	const char *data = g_bytes_get_data(bytes, &size);

	return grpc_slice_from_copied_buffer(data, size);
}

static void caller_begin(struct run *run, struct caller *caller)
{
	grpc_op ops[6] = {
		{.op = GRPC_OP_SEND_INITIAL_METADATA},	{.op = GRPC_OP_SEND_MESSAGE},
		{.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}, {.op = GRPC_OP_RECV_INITIAL_METADATA},
		{.op = GRPC_OP_RECV_MESSAGE},		{.op = GRPC_OP_RECV_STATUS_ON_CLIENT}};

	run->started++;
	*caller = (struct caller){.began_ns = now_ns(), .text = grpc_empty_slice()};
	grpc_metadata_array_init(&caller->initial);
	grpc_metadata_array_init(&caller->trailing);
	caller->request = grpc_raw_byte_buffer_create(&run->message, 1);
	caller->call = grpc_channel_create_call(run->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
						run->queue, run->method, NULL,
						gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
	ops[1].data.send_message.send_message = caller->request;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &caller->initial;
	ops[4].data.recv_message.recv_message = &caller->reply;
	ops[5].data.recv_status_on_client.trailing_metadata = &caller->trailing;
	ops[5].data.recv_status_on_client.status = &caller->status;
	ops[5].data.recv_status_on_client.status_details = &caller->text;
	if (grpc_call_start_batch(caller->call, ops, G_N_ELEMENTS(ops), caller, NULL) !=
	    GRPC_CALL_OK)
		g_error("gRPC refused a batch");
}

static void caller_end(struct run *run, struct caller *caller)
{
	double latency_us = (double)(now_ns() - caller->began_ns) / 1000;

	if (caller->status != GRPC_STATUS_OK || !caller->reply) {
		g_autofree char *text = g_strndup((const char *)GRPC_SLICE_START_PTR(caller->text),
						  GRPC_SLICE_LENGTH(caller->text));

		g_error("a call failed with status %d: %s", caller->status, text);
	}
	g_array_append_val(run->latencies, latency_us);
	grpc_call_unref(caller->call);
	grpc_byte_buffer_destroy(caller->request);
	grpc_byte_buffer_destroy(caller->reply);
	grpc_metadata_array_destroy(&caller->initial);
	grpc_metadata_array_destroy(&caller->trailing);
	grpc_slice_unref(caller->text);
}

static struct caller *next_answer(struct run *run)
{
	grpc_event event =
		grpc_completion_queue_next(run->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

	return event.type == GRPC_OP_COMPLETE ? event.tag : NULL;
}

static void call_all(struct run *run, struct caller *callers, guint n_callers)
{
	for (guint i = 0; i < n_callers && run->started < run->limit; i++)
		caller_begin(run, &callers[i]);
	while (run->latencies->len < run->limit) {
		struct caller *caller = next_answer(run);

		if (!caller)
			return;
		caller_end(run, caller);
		if (run->started < run->limit)
			caller_begin(run, caller);
	}
}

static grpc_channel *dial(const char *socket)
{
	g_autofree char *target = g_strconcat("unix:", socket, NULL);
	grpc_arg args[] = {
		{GRPC_ARG_INTEGER, (char *)GRPC_ARG_ENABLE_RETRIES, {.integer = 0}},
		{GRPC_ARG_INTEGER, (char *)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, {.integer = 1}},
	};
	grpc_channel_args list = {G_N_ELEMENTS(args), args};
	grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
	grpc_channel *channel = grpc_channel_create(target, credentials, &list);

	grpc_channel_credentials_release(credentials);
	return channel;
}

GArray *load_run(const struct load *load, double *ret_calls_per_s)
{
	struct run run = {
		.queue = grpc_completion_queue_create_for_next(NULL),
		.channel = dial(load->socket),
		.method = grpc_slice_from_static_string(load->method),
		.message = slice_of(load->request),
		.limit = load->callers,
		.latencies = g_array_new(FALSE, FALSE, sizeof(double)),
	};

	struct caller *callers = g_new0(struct caller, load->callers);

	/* The first calls pay for the connection. */
	call_all(&run, callers, load->callers);
	g_array_set_size(run.latencies, 0);
	run.started = 0;
	run.limit = load->calls;
	gint64 began_ns = now_ns();

	call_all(&run, callers, load->callers);
	*ret_calls_per_s = load->calls / ((double)(now_ns() - began_ns) / 1e9);
	g_free(callers);
	grpc_slice_unref(run.message);
	grpc_channel_destroy(run.channel);
	grpc_completion_queue_shutdown(run.queue);
	while (next_answer(&run))
		g_assert_not_reached();
	grpc_completion_queue_destroy(run.queue);
	return run.latencies;
}
