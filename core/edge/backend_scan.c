/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/backend_private.h"

#include <errno.h>

#include "edge/event_watch.h"
#include "edge/log.h"

struct scanner {
	Backend *backend;
	Collector *collector;
	struct event_watch events;
};

static void post_hint(Backend *backend)
{
	struct report *report;
	gboolean under_way;

	pthread_mutex_lock(&backend->lock);
	under_way = backend->hinted;
	backend->hinted = TRUE;
	pthread_mutex_unlock(&backend->lock);
	if (under_way)
		return;
	report = g_new0(struct report, 1);
	report->kind = REPORT_HINT;
	inbox_post(backend->inbox, report);
}

static int emit_to_scanner(void *sink, const struct rdmadp_device *device)
{
	struct scanner *scanner = sink;

	return backend_is_stopping(scanner->backend) ? -ECANCELED
						     : collector_add(scanner->collector, device);
}

static gboolean scanner_start_instance(struct scanner *scanner, GError **error)
{
	Backend *backend = scanner->backend;

	if (backend->started)
		return TRUE;
	if (!instance_init(&backend->instance, error))
		return FALSE;
	pthread_mutex_lock(&backend->lock);
	backend->started = TRUE;
	pthread_mutex_unlock(&backend->lock);
	scanner->events.fd = instance_event_fd(&backend->instance);
	return TRUE;
}

static void scanner_scan(struct scanner *scanner, gboolean is_event)
{
	Backend *backend = scanner->backend;
	gboolean event_driven = scanner->events.first != 0 || is_event;
	GPtrArray *devices = NULL;
	GPtrArray *left_out = NULL;
	GError *error = NULL;

	scanner->events.first = 0;
	if (scanner_start_instance(scanner, &error))
		devices = instance_discover(&backend->instance, scanner->collector, emit_to_scanner,
					    scanner, &error);
	if (devices != NULL)
		left_out = collector_complaints(scanner->collector);
	pthread_mutex_lock(&backend->lock);
	backend->scan_since = 0;
	pthread_mutex_unlock(&backend->lock);
	backend_post_scan(backend, devices, left_out, error, event_driven);
}

static void scanner_take_event(struct scanner *scanner, short revents)
{
	const struct instance *instance = &scanner->backend->instance;
	int result = instance_event_ack(instance);

	if (!event_watch_note(&scanner->events, result, revents, g_get_monotonic_time()))
		log_warning(instance->area,
			    "its event descriptor keeps failing and is not used any more: until "
			    "the daemon starts again, changes are seen by polling only");
	if (result != 0)
		post_hint(scanner->backend);
}

/* Takes the request, if there is one. FALSE at the end. */
static gboolean scanner_next(struct scanner *scanner, gint64 now, gboolean *ret_scan,
			     gboolean *ret_is_event)
{
	Backend *backend = scanner->backend;
	gboolean stopping;

	pthread_mutex_lock(&backend->lock);
	stopping = backend->stopping;
	*ret_scan = backend->scan_wanted || event_watch_is_due(&scanner->events, now);
	*ret_is_event = backend->scan_is_event;
	backend->scan_wanted = FALSE;
	backend->scan_is_event = FALSE;
	backend->scan_since = *ret_scan ? now : scanner->events.first;
	pthread_mutex_unlock(&backend->lock);
	return !stopping;
}

static void scanner_loop(struct scanner *scanner)
{
	gint64 now = g_get_monotonic_time();
	gboolean scan, is_event;
	short revents;

	while (scanner_next(scanner, now, &scan, &is_event)) {
		if (scan)
			scanner_scan(scanner, is_event);
		else if (event_watch_wait(&scanner->events, scanner->backend->wake_fd, now,
					  &revents))
			scanner_take_event(scanner, revents);
		now = g_get_monotonic_time();
	}
}

static void scanner_end(Backend *backend)
{
	/* fini must not meet a health read */
	workers_wait(backend->workers);
	pthread_mutex_lock(&backend->lock);
	backend->closing = TRUE;
	pthread_mutex_unlock(&backend->lock);
	if (backend->started)
		instance_fini(&backend->instance);
	pthread_mutex_lock(&backend->lock);
	backend->finished = TRUE;
	pthread_cond_broadcast(&backend->ended);
	pthread_mutex_unlock(&backend->lock);
}

void *backend_scan_thread(void *data)
{
	Backend *backend = data;
	struct scanner scanner = {.backend = backend, .events = {.fd = -1}};

	(void)pthread_setname_np(pthread_self(), "scan");
	scanner.collector = collector_new(backend->instance.area);
	scanner_loop(&scanner);
	collector_free(scanner.collector);
	scanner_end(backend);
	backend_unref(backend);
	return NULL;
}
