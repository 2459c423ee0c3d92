/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The completion queue and the way of its events into the main loop. The thread knows
 * nothing of what it carries and touches no tag: it appends to a list and wakes the
 * loop, which runs what is in it. The list is an array behind a mutex rather than a
 * GAsyncQueue because the thread sanitizer sees pthread's locks, not GLib's.
 */
#include "edge/rpc.h"

#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "edge/log.h"
#include "edge/rpc_private.h"

struct event {
	struct rpc_tag *tag;
	gboolean ok;
};

struct event_list {
	struct event *events;
	gsize n, capacity;
};

struct rpc {
	grpc_completion_queue *queue;
	GMainContext *context;
	GSource *source;
	pthread_t thread;
	int wake; /* eventfd: the list is no longer empty */
	pthread_mutex_t lock; /* of 'arrived' */
	gboolean closing;
	struct event_list arrived;
	struct event_list running; /* the main loop's; the two change places */
};

static void log_library(gpr_log_func_args *args)
{
	/* What is said right before abort() must not depend on the log level. */
	gboolean fatal = g_str_has_prefix(args->message, "assertion failed");

	log_message(fatal ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG, "grpc", "%s:%d: %s", args->file,
		    args->line, args->message);
}

static void append(struct event_list *list, struct event event)
{
	if (list->n == list->capacity) {
		list->capacity = MAX(16, 2 * list->capacity);
		list->events = g_renew(struct event, list->events, list->capacity);
	}
	list->events[list->n++] = event;
}

void rpc_post(Rpc *rpc, struct rpc_tag *tag, gboolean ok)
{
	pthread_mutex_lock(&rpc->lock);
	gboolean was_empty = rpc->arrived.n == 0;

	append(&rpc->arrived, (struct event){tag, ok});
	pthread_mutex_unlock(&rpc->lock);
	if (was_empty && eventfd_write(rpc->wake, 1) < 0)
		g_error("rpc: cannot wake the main loop: %s", g_strerror(errno));
}

static void *carry_events(void *data)
{
	Rpc *rpc = data;

	for (;;) {
		grpc_event event = grpc_completion_queue_next(
			rpc->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		rpc_post(rpc, event.tag, event.success);
	}
}

static void run_tags(Rpc *rpc)
{
	pthread_mutex_lock(&rpc->lock);
	struct event_list list = rpc->arrived;

	rpc->arrived = rpc->running;
	rpc->arrived.n = 0;
	pthread_mutex_unlock(&rpc->lock);
	rpc->running = list;
	for (gsize i = 0; i < list.n; i++)
		list.events[i].tag->run(list.events[i].tag, list.events[i].ok);
}

struct rpc_source {
	GSource base;
	Rpc *rpc;
};

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	Rpc *rpc = ((struct rpc_source *)source)->rpc;
	eventfd_t count;

	(void)callback;
	(void)data;
	/* Before the list is taken: a tag that comes in between wakes once too often. */
	if (eventfd_read(rpc->wake, &count) < 0 && errno != EAGAIN)
		g_error("rpc: cannot read the eventfd: %s", g_strerror(errno));
	run_tags(rpc);
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs source_funcs = {.dispatch = dispatch};

static void attach_source(Rpc *rpc)
{
	rpc->source = g_source_new(&source_funcs, sizeof(struct rpc_source));
	((struct rpc_source *)rpc->source)->rpc = rpc;
	g_source_set_name(rpc->source, "rpc");
	g_source_add_unix_fd(rpc->source, rpc->wake, G_IO_IN);
	g_source_attach(rpc->source, rpc->context);
}

static void start_thread(Rpc *rpc)
{
	sigset_t all, before;

	/* The library's threads start here as well; signals are the program's affair. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	grpc_init();
	rpc->queue = grpc_completion_queue_create_for_next(NULL);
	int error = pthread_create(&rpc->thread, NULL, carry_events, rpc);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		g_error("rpc: cannot start a thread: %s", g_strerror(error));
	pthread_setname_np(rpc->thread, "rpc");
}

Rpc *rpc_new(void)
{
	Rpc *rpc = g_new0(Rpc, 1);

	rpc->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rpc->wake < 0)
		g_error("rpc: cannot make an eventfd: %s", g_strerror(errno));
	pthread_mutex_init(&rpc->lock, NULL);
	rpc->context = g_main_context_ref_thread_default();
	attach_source(rpc);
	gpr_set_log_function(log_library);
	start_thread(rpc);
	return rpc;
}

void rpc_free(Rpc *rpc)
{
	if (!rpc)
		return;
	rpc->closing = TRUE;
	grpc_completion_queue_shutdown(rpc->queue);
	pthread_join(rpc->thread, NULL);
	/* What was cancelled completes now. */
	run_tags(rpc);
	grpc_completion_queue_destroy(rpc->queue);
	grpc_shutdown_blocking();
	g_source_destroy(rpc->source);
	g_source_unref(rpc->source);
	g_main_context_unref(rpc->context);
	pthread_mutex_destroy(&rpc->lock);
	g_free(rpc->arrived.events);
	g_free(rpc->running.events);
	close(rpc->wake);
	g_free(rpc);
}

grpc_completion_queue *rpc_queue(const Rpc *rpc)
{
	return rpc->queue;
}

gboolean rpc_is_closing(const Rpc *rpc)
{
	return rpc->closing;
}

GMainContext *rpc_context(const Rpc *rpc)
{
	return rpc->context;
}

void rpc_start(grpc_call *call, const grpc_op *ops, gsize n_ops, struct rpc_tag *tag)
{
	grpc_call_error error = grpc_call_start_batch(call, ops, n_ops, tag, NULL);

	if (error != GRPC_CALL_OK)
		g_error("rpc: gRPC refused a batch: %s", grpc_call_error_to_string(error));
}

static void release_bytes(void *message)
{
	g_bytes_unref(message);
}

grpc_byte_buffer *rpc_pack(GBytes *message)
{
	gsize size;
	gconstpointer data = g_bytes_get_data(message, &size);
	grpc_slice slice = grpc_empty_slice();

	if (size > 0)
		slice = grpc_slice_new_with_user_data((gpointer)data, size, release_bytes,
						      g_bytes_ref(message));
	grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);

	grpc_slice_unref(slice);
	return buffer;
}

GBytes *rpc_unpack(grpc_byte_buffer *buffer)
{
	GByteArray *bytes = g_byte_array_sized_new((guint)grpc_byte_buffer_length(buffer));
	grpc_byte_buffer_reader reader;
	grpc_slice slice;

	grpc_byte_buffer_reader_init(&reader, buffer);
	while (grpc_byte_buffer_reader_next(&reader, &slice)) {
		g_byte_array_append(bytes, GRPC_SLICE_START_PTR(slice),
				    (guint)GRPC_SLICE_LENGTH(slice));
		grpc_slice_unref(slice);
	}
	grpc_byte_buffer_reader_destroy(&reader);
	return g_byte_array_free_to_bytes(bytes);
}

char *rpc_text(grpc_slice slice)
{
	return g_strndup((const char *)GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
}

grpc_arg rpc_int_arg(const char *key, int value)
{
	return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value};
}

gpr_timespec rpc_deadline(guint ms)
{
	if (ms == 0)
		return gpr_inf_future(GPR_CLOCK_MONOTONIC);
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN));
}
