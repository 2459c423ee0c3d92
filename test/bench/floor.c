/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdmadp-bench-floor: the least that a device plugin can be on gRPC C-core and GLib,
 * without discovery, health, checks or care. What rdmadp costs above it is rdmadp's.
 * Written straight on the library: it shares only the messages and the CPU count.
 *
 * SIGUSR1 changes the health of one device and sends the list again.
 */
#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "deviceplugin.pb-c.h"

enum { HCAS = 8, HANDED_FILES = HCAS + 1 };

struct tag {
	void (*run)(struct tag *tag, gboolean ok);
};

struct event {
	struct tag *tag;
	gboolean ok;
};

enum method { OPTIONS, LIST_AND_WATCH, ALLOCATE, METHODS };
static const char *const method_names[METHODS] = {"/v1beta1.DevicePlugin/GetDevicePluginOptions",
						  "/v1beta1.DevicePlugin/ListAndWatch",
						  "/v1beta1.DevicePlugin/Allocate"};
static const guint armed[METHODS] = {1, 1, 4};

struct server {
	grpc_server *server;
	void *methods[METHODS];
	V1beta1__Device *devices;
	V1beta1__Device **list;
	GPtrArray *streams;
};

struct call {
	struct tag arrived, done, sent;
	struct server *server;
	enum method method;
	grpc_call *call;
	gpr_timespec deadline;
	grpc_metadata_array metadata;
	grpc_byte_buffer *payload, *sending;
	gboolean dirty, over;
	int cancelled;
};

struct registration {
	struct tag done;
	grpc_channel *channel;
	grpc_byte_buffer *request, *reply;
	grpc_metadata_array initial, trailing;
	grpc_status_code status;
	grpc_slice text;
};

static grpc_completion_queue *queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static GArray *arrived, *running; /* struct event */
static int wake;
static int n_devices = HCAS, n_resources = 1;
static char *dir, *kubelet;
static struct server *servers;

/* --- events --- */

static void *carry_events(void *data)
{
	(void)data;
	for (;;) {
		grpc_event event =
			grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
		struct event item = {event.tag, event.success};

		pthread_mutex_lock(&lock);
		gboolean was_empty = arrived->len == 0;

		g_array_append_val(arrived, item);
		pthread_mutex_unlock(&lock);
		if (was_empty)
			eventfd_write(wake, 1);
	}
	return NULL;
}

static gboolean run_events(int fd, GIOCondition condition, gpointer data)
{
	eventfd_t count;

	(void)condition;
	(void)data;
	eventfd_read(fd, &count);
	pthread_mutex_lock(&lock);
	GArray *events = arrived;

	arrived = running;
	pthread_mutex_unlock(&lock);
	running = events;
	for (guint i = 0; i < events->len; i++) {
		struct event event = g_array_index(events, struct event, i);

		event.tag->run(event.tag, event.ok);
	}
	g_array_set_size(events, 0);
	return G_SOURCE_CONTINUE;
}

/* --- messages --- */

static grpc_byte_buffer *pack(const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	grpc_slice slice = grpc_slice_malloc(size);

	protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
	grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);

	grpc_slice_unref(slice);
	return buffer;
}

static grpc_byte_buffer *pack_list(const struct server *server)
{
	V1beta1__ListAndWatchResponse response = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;

	response.n_devices = (size_t)n_devices;
	response.devices = server->list;
	return pack(&response.base);
}

static V1beta1__AllocateRequest *unpack_allocate(grpc_byte_buffer *payload)
{
	grpc_byte_buffer_reader reader;

	grpc_byte_buffer_reader_init(&reader, payload);
	grpc_slice slice = grpc_byte_buffer_reader_readall(&reader);
	V1beta1__AllocateRequest *request = v1beta1__allocate_request__unpack(
		NULL, GRPC_SLICE_LENGTH(slice), GRPC_SLICE_START_PTR(slice));

	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
	return request;
}

/* Every container gets the same nine files. */
static grpc_byte_buffer *pack_allocations(const V1beta1__AllocateRequest *request)
{
	V1beta1__AllocateResponse response = V1BETA1__ALLOCATE_RESPONSE__INIT;
	V1beta1__ContainerAllocateResponse container = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
	V1beta1__DeviceSpec specs[HANDED_FILES];
	V1beta1__DeviceSpec *pointers[HANDED_FILES];
	char paths[HANDED_FILES][40] = {{0}};

	for (int i = 0; i < HANDED_FILES; i++) {
		if (i < HCAS)
			g_snprintf(paths[i], sizeof(paths[i]), "/dev/infiniband/uverbs%d", i);
		else
			g_strlcpy(paths[i], "/dev/infiniband/rdma_cm", sizeof(paths[i]));
		v1beta1__device_spec__init(&specs[i]);
		specs[i].host_path = specs[i].container_path = paths[i];
		specs[i].permissions = (char *)"rw";
		pointers[i] = &specs[i];
	}
	container.n_devices = HANDED_FILES;
	container.devices = pointers;
	response.n_container_responses = request->n_container_requests;
	response.container_responses =
		g_new(V1beta1__ContainerAllocateResponse *, request->n_container_requests);
	for (size_t i = 0; i < request->n_container_requests; i++)
		response.container_responses[i] = &container;
	grpc_byte_buffer *buffer = pack(&response.base);

	g_free(response.container_responses);
	return buffer;
}

/* --- calls --- */

static void start(grpc_call *call, const grpc_op *ops, size_t n_ops, struct tag *tag)
{
	if (grpc_call_start_batch(call, ops, n_ops, tag, NULL) != GRPC_CALL_OK)
		g_error("gRPC refused a batch");
}

static void call_free(struct call *call)
{
	grpc_call_unref(call->call);
	grpc_metadata_array_destroy(&call->metadata);
	grpc_byte_buffer_destroy(call->payload);
	grpc_byte_buffer_destroy(call->sending);
	g_free(call);
}

static void on_answered(struct tag *tag, gboolean ok)
{
	(void)ok;
	call_free((struct call *)(void *)((char *)tag - G_STRUCT_OFFSET(struct call, done)));
}

static void answer(struct call *call, grpc_byte_buffer *message, grpc_status_code status)
{
	grpc_op ops[4] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
			  {.op = GRPC_OP_SEND_STATUS_FROM_SERVER},
			  {.op = GRPC_OP_RECV_CLOSE_ON_SERVER},
			  {.op = GRPC_OP_SEND_MESSAGE}};

	call->sending = message;
	call->done.run = on_answered;
	ops[1].data.send_status_from_server.status = status;
	ops[2].data.recv_close_on_server.cancelled = &call->cancelled;
	ops[3].data.send_message.send_message = message;
	start(call->call, ops, message ? 4 : 3, &call->done);
}

static void send_list(struct call *call)
{
	grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};

	call->dirty = FALSE;
	call->sending = pack_list(call->server);
	op.data.send_message.send_message = call->sending;
	start(call->call, &op, 1, &call->sent);
}

static void on_sent(struct tag *tag, gboolean ok)
{
	struct call *call =
		(struct call *)(void *)((char *)tag - G_STRUCT_OFFSET(struct call, sent));

	g_clear_pointer(&call->sending, grpc_byte_buffer_destroy);
	if (call->over)
		call_free(call);
	else if (ok && call->dirty)
		send_list(call);
}

static void on_stream_over(struct tag *tag, gboolean ok)
{
	struct call *call =
		(struct call *)(void *)((char *)tag - G_STRUCT_OFFSET(struct call, done));

	(void)ok;
	g_ptr_array_remove(call->server->streams, call);
	call->over = TRUE;
	if (!call->sending)
		call_free(call);
}

static void open_stream(struct call *call)
{
	grpc_op ops[] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
			 {.op = GRPC_OP_RECV_CLOSE_ON_SERVER}};

	call->done.run = on_stream_over;
	call->sent.run = on_sent;
	ops[1].data.recv_close_on_server.cancelled = &call->cancelled;
	start(call->call, ops, G_N_ELEMENTS(ops), &call->done);
	g_ptr_array_add(call->server->streams, call);
	send_list(call);
}

static void allocate(struct call *call)
{
	V1beta1__AllocateRequest *request = call->payload ? unpack_allocate(call->payload) : NULL;

	if (!request) {
		answer(call, NULL, GRPC_STATUS_INTERNAL);
		return;
	}
	answer(call, pack_allocations(request), GRPC_STATUS_OK);
	v1beta1__allocate_request__free_unpacked(request, NULL);
}

static void send_options(struct call *call)
{
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	answer(call, pack(&options.base), GRPC_STATUS_OK);
}

static void arm(struct server *server, enum method method);

static void on_arrived(struct tag *tag, gboolean ok)
{
	static void (*const handlers[METHODS])(struct call * call) = {send_options, open_stream,
								      allocate};
	struct call *call =
		(struct call *)(void *)((char *)tag - G_STRUCT_OFFSET(struct call, arrived));

	if (!ok)
		g_error("the server is gone");
	arm(call->server, call->method);
	handlers[call->method](call);
}

static void arm(struct server *server, enum method method)
{
	struct call *call = g_new0(struct call, 1);

	call->server = server;
	call->method = method;
	call->arrived.run = on_arrived;
	grpc_metadata_array_init(&call->metadata);
	grpc_server_request_registered_call(server->server, server->methods[method], &call->call,
					    &call->deadline, &call->metadata, &call->payload, queue,
					    queue, &call->arrived);
}

/* --- servers --- */

static void make_devices(struct server *server, int resource)
{
	server->devices = g_new(V1beta1__Device, n_devices);
	server->list = g_new(V1beta1__Device *, n_devices);
	for (int i = 0; i < n_devices; i++) {
		v1beta1__device__init(&server->devices[i]);
		server->devices[i].id = g_strdup_printf("rdma/bench_%d-%d", resource, i);
		server->devices[i].health = (char *)"Healthy";
		server->list[i] = &server->devices[i];
	}
}

static void serve(struct server *server, int resource)
{
	g_autofree char *address = g_strdup_printf("unix:%s/floor-%d.sock", dir, resource);
	grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();

	make_devices(server, resource);
	server->streams = g_ptr_array_new();
	server->server = grpc_server_create(NULL, NULL);
	grpc_server_register_completion_queue(server->server, queue, NULL);
	for (int i = 0; i < METHODS; i++)
		server->methods[i] =
			grpc_server_register_method(server->server, method_names[i], NULL,
						    GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
	if (!grpc_server_add_http2_port(server->server, address, credentials))
		g_error("cannot listen on %s", address);
	grpc_server_credentials_release(credentials);
	grpc_server_start(server->server);
	for (int i = 0; i < METHODS; i++)
		for (guint n = 0; n < armed[i]; n++)
			arm(server, (enum method)i);
}

static void on_registered(struct tag *tag, gboolean ok)
{
	struct registration *registration = (struct registration *)tag;

	(void)ok;
	if (registration->status != GRPC_STATUS_OK)
		g_error("Register failed with status %d", registration->status);
	grpc_channel_destroy(registration->channel);
}

static void send_register(struct registration *registration, grpc_call *call)
{
	grpc_op ops[6] = {
		{.op = GRPC_OP_SEND_INITIAL_METADATA},	{.op = GRPC_OP_SEND_MESSAGE},
		{.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}, {.op = GRPC_OP_RECV_INITIAL_METADATA},
		{.op = GRPC_OP_RECV_MESSAGE},		{.op = GRPC_OP_RECV_STATUS_ON_CLIENT}};

	ops[1].data.send_message.send_message = registration->request;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &registration->initial;
	ops[4].data.recv_message.recv_message = &registration->reply;
	ops[5].data.recv_status_on_client.trailing_metadata = &registration->trailing;
	ops[5].data.recv_status_on_client.status = &registration->status;
	ops[5].data.recv_status_on_client.status_details = &registration->text;
	start(call, ops, G_N_ELEMENTS(ops), &registration->done);
}

static void register_resource(int resource)
{
	V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;
	g_autofree char *endpoint = g_strdup_printf("floor-%d.sock", resource);
	g_autofree char *name = g_strdup_printf("rdma/bench_%d", resource);
	g_autofree char *target = g_strconcat("unix:", kubelet, NULL);
	struct registration *registration = g_new0(struct registration, 1);
	grpc_arg args[] = {
		{GRPC_ARG_INTEGER, (char *)GRPC_ARG_ENABLE_HTTP_PROXY, {.integer = 0}},
		{GRPC_ARG_INTEGER, (char *)GRPC_ARG_ENABLE_RETRIES, {.integer = 0}},
	};
	grpc_channel_args list = {G_N_ELEMENTS(args), args};
	grpc_channel_credentials *credentials = grpc_insecure_credentials_create();

	registration->channel = grpc_channel_create(target, credentials, &list);
	request.version = (char *)"v1beta1";
	request.endpoint = endpoint;
	request.resource_name = name;
	registration->done.run = on_registered;
	registration->request = pack(&request.base);
	grpc_metadata_array_init(&registration->initial);
	grpc_metadata_array_init(&registration->trailing);
	send_register(registration,
		      grpc_channel_create_call(
			      registration->channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue,
			      grpc_slice_from_static_string("/v1beta1.Registration/Register"), NULL,
			      gpr_inf_future(GPR_CLOCK_REALTIME), NULL));
	grpc_channel_credentials_release(credentials);
}

/* --- the process --- */

static void change_one(struct server *server)
{
	V1beta1__Device *device = &server->devices[0];

	device->health = (char *)(device->health[0] == 'H' ? "Unhealthy" : "Healthy");
	for (guint i = 0; i < server->streams->len; i++) {
		struct call *call = g_ptr_array_index(server->streams, i);

		if (call->sending)
			call->dirty = TRUE;
		else
			send_list(call);
	}
}

static gboolean on_signal(int fd, GIOCondition condition, gpointer data)
{
	struct signalfd_siginfo info;

	(void)condition;
	(void)data;
	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return G_SOURCE_CONTINUE;
	if (info.ssi_signo != SIGUSR1)
		_exit(0);
	change_one(&servers[0]);
	return G_SOURCE_CONTINUE;
}

static void watch_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	g_unix_fd_add(signalfd(-1, &signals, SFD_CLOEXEC), G_IO_IN, on_signal, NULL);
}

static void parse_options(int *argc, char ***argv)
{
	const GOptionEntry entries[] = {
		{"dir", 0, 0, G_OPTION_ARG_FILENAME, &dir, "where the sockets go", "DIR"},
		{"kubelet", 0, 0, G_OPTION_ARG_FILENAME, &kubelet, "register there", "SOCKET"},
		{"devices", 0, 0, G_OPTION_ARG_INT, &n_devices, "length of each list", "N"},
		{"resources", 0, 0, G_OPTION_ARG_INT, &n_resources, "number of servers", "N"},
		{NULL, 0, 0, 0, NULL, NULL, NULL}};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, argc, argv, &error) || !dir || n_devices < 1) {
		g_printerr("rdmadp-bench-floor: %s\n", error ? error->message : "--dir is needed");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	parse_options(&argc, &argv);
	watch_signals();
	arrived = g_array_new(FALSE, FALSE, sizeof(struct event));
	running = g_array_new(FALSE, FALSE, sizeof(struct event));
	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	grpc_init();
	queue = grpc_completion_queue_create_for_next(NULL);
	servers = g_new0(struct server, n_resources);
	for (int i = 0; i < n_resources; i++)
		serve(&servers[i], i);
	g_unix_fd_add(wake, G_IO_IN, run_events, NULL);
	if (pthread_create(&thread, NULL, carry_events, NULL))
		g_error("cannot start a thread");
	for (int i = 0; kubelet && i < n_resources; i++)
		register_resource(i);
	g_main_loop_run(g_main_loop_new(NULL, FALSE));
}
