/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/backend_private.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "edge/log.h"
#include "edge/rehearsal.h"
#include "edge/thread.h"

#define MS G_GINT64_CONSTANT(1000)
#define STUCK_US (1000 * MS)
/* While waiting for the threads to end. */
#define INTERRUPT_US (5 * MS)

static Backend *backend_ref(Backend *backend)
{
	atomic_fetch_add(&backend->refs, 1);
	return backend;
}

void backend_unref(Backend *backend)
{
	if (atomic_fetch_sub(&backend->refs, 1) != 1)
		return;
	if (backend->wake_fd >= 0)
		close(backend->wake_fd);
	inbox_unref(backend->inbox);
	workers_unref(backend->workers);
	g_hash_table_unref(backend->reads);
	g_clear_pointer(&backend->left_out, g_ptr_array_unref);
	pthread_cond_destroy(&backend->ended);
	pthread_mutex_destroy(&backend->lock);
	instance_clear(&backend->instance);
	g_free(backend);
}

static void report_free(gpointer data)
{
	struct report *report = data;

	g_clear_pointer(&report->devices, g_ptr_array_unref);
	g_clear_pointer(&report->left_out, g_ptr_array_unref);
	g_clear_error(&report->error);
	device_unref(report->device);
	if (report->backend)
		backend_unref(report->backend);
	g_free(report);
}

gboolean backend_is_stopping(Backend *backend)
{
	gboolean stopping;

	pthread_mutex_lock(&backend->lock);
	stopping = backend->stopping;
	pthread_mutex_unlock(&backend->lock);
	return stopping;
}

void backend_post_scan(Backend *backend, GPtrArray *devices, GPtrArray *left_out, GError *error,
		       gboolean event_driven)
{
	struct report *report = g_new0(struct report, 1);

	report->kind = REPORT_SCAN;
	report->devices = devices;
	report->left_out = left_out;
	report->error = error;
	report->event_driven = event_driven;
	inbox_post(backend->inbox, report);
}

/* --- health reads --- */

static void run_read(gpointer job)
{
	struct report *report = job;
	Backend *backend = report->backend;
	gboolean started;

	pthread_mutex_lock(&backend->lock);
	started = backend->started && !backend->stopping;
	pthread_mutex_unlock(&backend->lock);
	/* a device of an instance that is not there any more stays 'unknown' */
	if (started)
		instance_health(&backend->instance, report->device, &report->health);
	inbox_post(backend->inbox, report);
}

gboolean backend_check_health(Backend *backend, Device *device, gint64 *ret_age_ms)
{
	const struct report *running = g_hash_table_lookup(backend->reads, device_identity(device));
	struct report *report;

	if (running) {
		if (ret_age_ms)
			*ret_age_ms = (g_get_monotonic_time() - running->since) / MS;
		return FALSE;
	}
	report = g_new0(struct report, 1);
	report->kind = REPORT_HEALTH;
	report->backend = backend_ref(backend);
	report->device = device_ref(device);
	report->since = g_get_monotonic_time();
	report->health.size = sizeof(report->health);
	g_hash_table_insert(backend->reads, (gpointer)device_identity(device), report);
	workers_push(backend->workers, report);
	return TRUE;
}

guint backend_workers(Backend *backend, guint *ret_stuck)
{
	gint64 limit = g_get_monotonic_time() - STUCK_US;
	GHashTableIter iter;
	gpointer value;
	guint stuck = 0;

	g_hash_table_iter_init(&iter, backend->reads);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (((const struct report *)value)->since < limit)
			stuck++;
	if (ret_stuck)
		*ret_stuck = stuck;
	return workers_threads(backend->workers);
}

/* --- the owner's side --- */

static void receive(gpointer item, gpointer data)
{
	Backend *backend = data;
	struct report *report = item;
	const struct backend_callbacks *callbacks = &backend->callbacks;

	switch (report->kind) {
	case REPORT_SCAN:
		g_clear_pointer(&backend->left_out, g_ptr_array_unref);
		backend->left_out = g_steal_pointer(&report->left_out);
		callbacks->scanned(backend, report->devices, report->error, report->event_driven,
				   backend->data);
		break;
	case REPORT_HINT:
		pthread_mutex_lock(&backend->lock);
		backend->hinted = FALSE;
		pthread_mutex_unlock(&backend->lock);
		backend_watch_scan(backend);
		if (callbacks->hint)
			callbacks->hint(backend, backend->data);
		break;
	case REPORT_HEALTH:
		g_hash_table_remove(backend->reads, device_identity(report->device));
		callbacks->health(backend, report->device, &report->health, backend->data);
		break;
	}
	report_free(report);
}

/* 0 or a positive errno. */
static int start_thread(Backend *backend)
{
	int result;

	if (backend->wake_fd < 0)
		backend->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (backend->wake_fd < 0)
		return errno;
	result = thread_start(backend_scan_thread, backend_ref(backend), &backend->scanner);
	if (result != 0)
		atomic_fetch_sub(&backend->refs, 1); /* not the last one */
	return result;
}

static void start_scanner(Backend *backend)
{
	int result = start_thread(backend);

	backend->has_scanner = result == 0;
	if (!backend->has_scanner)
		backend_post_scan(backend, NULL, NULL,
				  g_error_new(BACKEND_ERROR, BACKEND_ERROR_INIT,
					      "backend '%s': no scan thread could be started: %s",
					      backend_name(backend), g_strerror(result)),
				  FALSE);
}

Backend *backend_new(const struct rdmadp_backend *vtable, const char *sysfs_root,
		     const char *dev_root, const struct backend_callbacks *callbacks, gpointer data)
{
	Backend *backend = g_new0(Backend, 1);

	atomic_init(&backend->refs, 1);
	instance_setup(&backend->instance, vtable, sysfs_root, dev_root);
	pthread_mutex_init(&backend->lock, NULL);
	thread_cond_init(&backend->ended);
	backend->wake_fd = -1;
	backend->scan_wanted = TRUE;
	backend->scan_since = g_get_monotonic_time();
	backend->inbox = inbox_new(receive, backend, report_free);
	backend->workers = workers_new(run_read, report_free);
	backend->callbacks = *callbacks;
	backend->data = data;
	backend->reads = g_hash_table_new(g_str_hash, g_str_equal);
	backend->scan_limit_ms = REHEARSAL_LIMIT_MS;
	start_scanner(backend);
	backend_watch_scan(backend);
	return backend;
}

static void request_scan(Backend *backend, gboolean is_event)
{
	pthread_mutex_lock(&backend->lock);
	backend->scan_wanted = TRUE;
	backend->scan_is_event |= is_event;
	if (backend->scan_since == 0)
		backend->scan_since = g_get_monotonic_time();
	pthread_mutex_unlock(&backend->lock);
	backend_watch_scan(backend);
	if (backend->has_scanner)
		(void)eventfd_write(backend->wake_fd, 1);
	else
		start_scanner(backend);
}

void backend_scan(Backend *backend)
{
	request_scan(backend, FALSE);
}

void backend_scan_event(Backend *backend)
{
	request_scan(backend, TRUE);
}

gint64 backend_scan_age(Backend *backend)
{
	gint64 since;

	pthread_mutex_lock(&backend->lock);
	since = backend->scan_since;
	pthread_mutex_unlock(&backend->lock);
	return since == 0 ? -1 : (g_get_monotonic_time() - since) / MS;
}

const GPtrArray *backend_left_out(const Backend *backend)
{
	return backend->left_out;
}

const char *backend_name(const Backend *backend)
{
	return backend->instance.vtable->name;
}

const struct rdmadp_backend *backend_vtable(const Backend *backend)
{
	return backend->instance.vtable;
}

int backend_match(const struct rdmadp_backend *vtable, const Device *device, const char *key,
		  const char *value)
{
	return instance_match(vtable, device, key, value);
}

static int emit_to_collector(void *sink, const struct rdmadp_device *device)
{
	return collector_add(sink, device);
}

GPtrArray *backend_scan_once(const struct rdmadp_backend *vtable, const char *sysfs_root,
			     const char *dev_root, GError **error)
{
	struct instance instance;
	g_autoptr(Collector) collector = NULL;
	GPtrArray *devices = NULL;

	instance_setup(&instance, vtable, sysfs_root, dev_root);
	collector = collector_new(instance.area);
	if (instance_init(&instance, error)) {
		devices = instance_discover(&instance, collector, emit_to_collector, collector,
					    error);
		instance_fini(&instance);
	}
	instance_clear(&instance);
	return devices;
}

void backend_stop(Backend *backend)
{
	if (backend_is_stopping(backend))
		return;
	backend_unwatch_scan(backend);
	inbox_close(backend->inbox);
	pthread_mutex_lock(&backend->lock);
	backend->stopping = TRUE;
	pthread_mutex_unlock(&backend->lock);
	g_hash_table_remove_all(backend->reads);
	workers_stop(backend->workers);
	if (backend->has_scanner)
		(void)eventfd_write(backend->wake_fd, 1);
}

/* A call that waits for hardware gets a signal again and again, since one that comes
 * just before the system call changes nothing. fini is left in peace. */
static gboolean wait_for_scanner(Backend *backend, guint wait_ms)
{
	gint64 limit = g_get_monotonic_time() + wait_ms * MS;
	gint64 now;
	gboolean finished;

	pthread_mutex_lock(&backend->lock);
	while (!backend->finished && (now = g_get_monotonic_time()) < limit) {
		if (!thread_cond_wait_until(&backend->ended, &backend->lock,
					    MIN(limit, now + INTERRUPT_US)) &&
		    !backend->closing) {
			workers_interrupt(backend->workers);
			thread_interrupt(backend->scanner);
		}
	}
	finished = backend->finished;
	pthread_mutex_unlock(&backend->lock);
	return finished;
}

void backend_free(Backend *backend, guint wait_ms)
{
	if (!backend)
		return;
	backend_stop(backend);
	if (backend->has_scanner && wait_for_scanner(backend, wait_ms)) {
		pthread_join(backend->scanner, NULL);
	} else if (backend->has_scanner) {
		pthread_detach(backend->scanner);
		if (wait_ms > 0)
			log_warning(backend->instance.area,
				    "a call into it has not come back and is left behind");
	}
	backend_unref(backend);
}
