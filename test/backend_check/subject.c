/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "edge/module.h"
#include "support/dump.h"

/* --- log --- */

static GMutex log_mutex;
static GPtrArray *log_lines;
static const struct rdmadp_host *log_hosts[8]; /* those that a live instance has */

GPtrArray *subject_log(void)
{
	if (!log_lines)
		log_lines = g_ptr_array_new_with_free_func(g_free);
	return log_lines;
}

static const char *log_problem(const struct rdmadp_host *host, int level, const char *message)
{
	gboolean known = FALSE; /* and not NULL, which is a free place */

	for (guint i = 0; i < G_N_ELEMENTS(log_hosts); i++)
		known |= host && log_hosts[i] == host;
	if (!known)
		return "with another host than the one that init got";
	if (level != RDMADP_LOG_ERROR && level != RDMADP_LOG_WARNING && level != RDMADP_LOG_INFO &&
	    level != RDMADP_LOG_DEBUG)
		return "with a level that is not in enum rdmadp_log_level";
	if (!message || !g_utf8_validate(message, -1, NULL))
		return "a text that is not UTF-8";
	if (*message == '\0' || strpbrk(message, "\n\r"))
		return "a text that is not one line";
	return NULL;
}

static void report_log(const char *problem, const char *message)
{
	g_autofree char *printable = g_strescape(message ? message : "", NULL);

	report_fail("log: it logs %s: \"%s\"", problem, printable);
}

static void host_log(const struct rdmadp_host *host, int level, const char *message)
{
	const char *problem;

	g_mutex_lock(&log_mutex);
	problem = log_problem(host, level, message);
	if (problem)
		report_log(problem, message);
	else
		g_ptr_array_add(subject_log(), g_strdup(message));
	g_mutex_unlock(&log_mutex);
}

/* --- life --- */

const struct rdmadp_backend *subject_load(const struct options *options, GError **error)
{
	report_step("loading it");
	return module_load(options->directory, options->name, error);
}

static void lend_host(struct subject *subject, const struct options *options,
		      const char *sysfs_root)
{
	subject->memory = guard_new();
	subject->host = guard_take(subject->memory, sizeof(*subject->host));
	subject->host->size = sizeof(*subject->host);
	subject->host->sysfs_root = guard_text(subject->memory, sysfs_root);
	subject->host->dev_root = guard_text(subject->memory, options->dev_root);
	subject->host->log = host_log;
	guard_make_readable(subject->memory);
}

static void swap_host(const struct rdmadp_host *from, const struct rdmadp_host *to)
{
	g_mutex_lock(&log_mutex);
	for (guint i = 0; i < G_N_ELEMENTS(log_hosts); i++) {
		if (log_hosts[i] == from) {
			log_hosts[i] = to;
			break;
		}
	}
	g_mutex_unlock(&log_mutex);
}

gboolean subject_init(struct subject *subject, const struct options *options,
		      const char *sysfs_root)
{
	static int nowhere;
	int result;

	subject->backend = subject_load(options, NULL);
	if (!subject->backend)
		return FALSE;
	lend_host(subject, options, sysfs_root);
	subject->instance = &nowhere;
	swap_host(NULL, subject->host);
	report_step("init for '%s'", sysfs_root);
	result = subject->backend->init(subject->host, &subject->instance);
	if (result == 0)
		return TRUE;
	report_fail("init for '%s' returns %d (%s) instead of 0", sysfs_root, result,
		    g_strerror(-result));
	if (subject->instance != &nowhere)
		report_fail("init fails, but sets *ret_instance all the same");
	return FALSE;
}

void subject_fini(struct subject *subject)
{
	report_step("fini");
	subject->backend->fini(subject->instance);
	swap_host(subject->host, NULL);
	guard_make_void(subject->memory);
}

/* --- scans --- */

struct scan {
	GPtrArray *devices;
	guint n_refused;
	gboolean quiet;
};

static int scan_emit(void *sink, const struct rdmadp_device *device)
{
	struct scan *scan = sink;
	g_autoptr(GError) error = NULL;
	Device *copy = device_copy(device, &error);

	scan->n_refused += copy == NULL;
	if (copy)
		g_ptr_array_add(scan->devices, copy);
	else if (!scan->quiet)
		report_fail("the core refuses a device: %s", error->message);
	return 0;
}

int subject_discover(struct subject *subject, rdmadp_emit_fn emit, void *sink)
{
	report_step("discover in '%s'", subject->host->sysfs_root);
	return subject->backend->discover(subject->instance, emit, sink);
}

static int compare_devices(gconstpointer a, gconstpointer b)
{
	return device_compare(*(Device *const *)a, *(Device *const *)b);
}

GPtrArray *subject_scan(struct subject *subject, gboolean quiet)
{
	struct scan scan = {g_ptr_array_new_with_free_func((GDestroyNotify)device_unref), 0, quiet};
	int result = subject_discover(subject, scan_emit, &scan);

	subject->n_refused = scan.n_refused;
	if (result != 0) {
		report_fail("discover returns %d (%s) instead of 0", result, g_strerror(-result));
		g_ptr_array_unref(scan.devices);
		return NULL;
	}
	g_ptr_array_sort(scan.devices, compare_devices);
	return scan.devices;
}

char *subject_text(GPtrArray *devices)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < devices->len; i++)
		dump_emit(texts, device_abi(devices->pdata[i]));
	return dump_join(texts);
}
