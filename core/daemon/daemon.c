/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/bus.h"
#include "daemon/events.h"
#include "daemon/pool.h"
#include "edge/log.h"
#include "edge/resource_file.h"
#include "edge/startup.h"

/* How long the end waits for calls into backends that do not come back. */
#define BACKEND_WAIT_MS 500
/* And for the disk. */
#define STATE_WAIT_MS 500

/* Of what is wrong with a file. */
#define MOST_FINDINGS 100

/* Open files: without anything but one resource, and what is asked for so that even
 * a hundred HCAs that hang at once leave enough. */
#define LEAST_DESCRIPTORS 64
#define BASE_DESCRIPTORS 256
#define DESCRIPTORS_A_RESOURCE 16

struct daemon {
	Settings *settings;
	ResourceFile *file;
	GMainLoop *loop;
	Rpc *rpc;
	Kubelet *kubelet;
	NodeCheck *node_check;
	State *state;
	Holders *holders;
	Events *events;
	struct pool_host host;
	GPtrArray *buses; /* Bus * */
	GPtrArray *pools; /* Pool * */
	int signal_fd;
	guint signal_source;
	gboolean stopping;
};

static void findings_print(const char *path, GPtrArray *findings)
{
	for (guint i = 0; i < MIN(findings->len, MOST_FINDINGS); i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);
		enum log_level level =
			finding->level == FINDING_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING;

		log_message(level, path, "%s", finding->text);
	}
	if (findings->len > MOST_FINDINGS)
		log_warning(path, "and %u more: rdmadp check-config shows all",
			    findings->len - MOST_FINDINGS);
	g_ptr_array_set_size(findings, 0);
}

/* Modes that this version cannot serve are refused here: the file itself is right. */
static void refuse_modes(const ResourceFile *file, GPtrArray *findings)
{
	for (guint i = 0; i < file->resources->len; i++) {
		const ResourceConfig *config = g_ptr_array_index(file->resources, i);

		if (config->mode == RESOURCE_AUTO)
			findings_add(findings, FINDING_ERROR,
				     "configList[%u].mode: this version serves \"shared\" and "
				     "\"exclusive\" only",
				     i);
	}
}

/* Reads both files; FALSE after every error has been said. */
static gboolean daemon_configure(struct daemon *daemon, const Options *options)
{
	g_autoptr(GPtrArray) findings = findings_new();
	gboolean refused;

	daemon->settings = options_settings(options, findings);
	if (daemon->settings != NULL)
		log_setup(daemon->settings->log_level, daemon->settings->log_format,
			  g_getenv("NODE_NAME"));
	findings_print(options_config(options), findings);
	if (daemon->settings == NULL)
		return FALSE;
	daemon->file = resource_file_read(daemon->settings->resources, findings);
	if (daemon->file != NULL)
		refuse_modes(daemon->file, findings);
	refused = findings_have_error(findings);
	findings_print(daemon->settings->resources, findings);
	if (refused)
		log_error("rdmadp", "the configuration is refused; nothing is registered");
	return !refused;
}

static char *own_program(void)
{
	g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);

	return program != NULL ? g_steal_pointer(&program) : g_strdup("/proc/self/exe");
}

static Bus *daemon_find_bus(const struct daemon *daemon, const char *name)
{
	for (guint i = 0; i < daemon->buses->len; i++) {
		Bus *bus = g_ptr_array_index(daemon->buses, i);

		if (g_str_equal(bus_name(bus), name))
			return bus;
	}
	return NULL;
}

static Bus *daemon_bus(struct daemon *daemon, const char *program, const char *name)
{
	Bus *bus = daemon_find_bus(daemon, name);
	double poll_s = daemon->file->fault_detect_s >= 0 ? daemon->file->fault_detect_s
							  : daemon->settings->poll_s;

	if (bus != NULL)
		return bus;
	bus = bus_new(daemon->settings, daemon->state, program, name);
	bus_set_periods(bus, daemon->file->rescan_s, poll_s);
	g_ptr_array_add(daemon->buses, bus);
	return bus;
}

static void daemon_rescan(Pool *pool, gpointer data)
{
	Bus *bus = daemon_find_bus(data, pool_config(pool)->bus);

	if (bus != NULL)
		bus_rescan(bus);
}

static void daemon_build(struct daemon *daemon)
{
	g_autofree char *program = own_program();

	for (guint i = 0; i < daemon->file->resources->len; i++) {
		ResourceConfig *config = g_ptr_array_index(daemon->file->resources, i);
		Pool *pool = pool_new(&daemon->host, config);
		struct saved_resource *saved = state_take_resource(daemon->state, config);

		g_ptr_array_add(daemon->pools, pool);
		if (saved != NULL)
			pool_restore(pool, saved);
		saved_resource_free(saved);
		bus_add_pool(daemon_bus(daemon, program, config->bus), pool);
	}
}

static void daemon_link_changed(const char *interface, gpointer data)
{
	struct daemon *daemon = data;

	for (guint i = 0; i < daemon->buses->len; i++)
		bus_link_changed(g_ptr_array_index(daemon->buses, i), interface);
}

static void daemon_look(gpointer data)
{
	struct daemon *daemon = data;

	for (guint i = 0; i < daemon->buses->len; i++)
		bus_look(g_ptr_array_index(daemon->buses, i));
}

static void daemon_scan(gpointer data)
{
	struct daemon *daemon = data;

	for (guint i = 0; i < daemon->buses->len; i++)
		bus_scan_event(g_ptr_array_index(daemon->buses, i));
}

static const struct events_ops daemon_events = {
	.link = daemon_link_changed,
	.look = daemon_look,
	.scan = daemon_scan,
};

static void daemon_on_stopped(gpointer data)
{
	struct daemon *daemon = data;

	daemon->kubelet = NULL;
	g_main_loop_quit(daemon->loop);
}

static void daemon_stop(struct daemon *daemon)
{
	if (daemon->stopping)
		return;
	daemon->stopping = TRUE;
	g_clear_pointer(&daemon->events, events_free);
	state_stop(daemon->state);
	for (guint i = 0; i < daemon->buses->len; i++)
		for (guint j = 0; j < daemon->pools->len; j++)
			bus_remove_pool(g_ptr_array_index(daemon->buses, i),
					g_ptr_array_index(daemon->pools, j));
	g_ptr_array_set_size(daemon->pools, 0);
	kubelet_stop(daemon->kubelet, daemon_on_stopped, daemon);
}

static gboolean daemon_on_signal(gint fd, GIOCondition condition G_GNUC_UNUSED, gpointer data)
{
	struct daemon *daemon = data;
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			log_info("rdmadp", "SIGHUP: looking at every bus again");
			for (guint i = 0; i < daemon->buses->len; i++)
				bus_rescan(g_ptr_array_index(daemon->buses, i));
			continue;
		}
		log_info("rdmadp", "%s: stopping", strsignal((int)info.ssi_signo));
		daemon_stop(daemon);
	}
	return G_SOURCE_CONTINUE;
}

/* Before the first thread: all of them inherit the mask. signalfd rather than
 * GLib's signal source, which would need a thread of its own. */
static void daemon_take_signals(struct daemon *daemon)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	daemon->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	daemon->signal_source = g_unix_fd_add(daemon->signal_fd, G_IO_IN, daemon_on_signal, daemon);
}

static void daemon_collect_state(SavedState *state, gpointer data)
{
	struct daemon *daemon = data;

	for (guint i = 0; i < daemon->buses->len; i++)
		bus_save(g_ptr_array_index(daemon->buses, i), state);
	for (guint i = 0; i < daemon->pools->len; i++)
		pool_save(g_ptr_array_index(daemon->pools, i), state);
}

/* FALSE if there is no point in trying: gRPC ends the process without a word of help. */
static gboolean daemon_take_descriptors(const struct daemon *daemon)
{
	guint64 wanted =
		BASE_DESCRIPTORS + (guint64)DESCRIPTORS_A_RESOURCE * daemon->file->resources->len;
	guint64 limit = startup_raise_descriptors(wanted);

	if (limit >= wanted)
		return TRUE;
	log_message(limit < LEAST_DESCRIPTORS ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "rdmadp",
		    "only %" G_GUINT64_FORMAT " files may be open, %u resources may need "
		    "%" G_GUINT64_FORMAT ": raise the limit (ulimit -n, LimitNOFILE=)",
		    limit, daemon->file->resources->len, wanted);
	return limit >= LEAST_DESCRIPTORS;
}

static void daemon_open(struct daemon *daemon)
{
	const Settings *settings = daemon->settings;
	struct kubelet_options kubelet = {
		.device_plugins_dir = settings->kubelet_dir,
		.plugins_registry_dir = settings->plugins_registry_dir,
		.registration = (int)settings->registration,
		.unique_socket_names = settings->unique_socket_names,
	};

	daemon->loop = g_main_loop_new(NULL, FALSE);
	daemon->rpc = rpc_new();
	daemon->kubelet = kubelet_new(daemon->rpc, &kubelet);
	daemon->node_check = node_check_new(settings->sysfs_root, settings->dev_root);
	daemon->state =
		state_new(settings->state_dir, STATE_BOOT_ID_FILE, daemon_collect_state, daemon);
	daemon->holders = holders_new(daemon->rpc, settings->pod_resources_socket);
	daemon->host = (struct pool_host){
		.settings = settings,
		.kubelet = daemon->kubelet,
		.node_check = daemon->node_check,
		.state = daemon->state,
		.holders = daemon->holders,
		.rescan = daemon_rescan,
		.data = daemon,
	};
	daemon->buses = g_ptr_array_new();
	daemon->pools = g_ptr_array_new_with_free_func((GDestroyNotify)pool_free);
	daemon->events = events_new(&daemon_events, daemon);
}

/* All together have that time, and even those for whom none is left are said. */
static void daemon_close_buses(struct daemon *daemon)
{
	gint64 until = g_get_monotonic_time() + BACKEND_WAIT_MS * G_TIME_SPAN_MILLISECOND;

	for (guint i = 0; i < daemon->buses->len; i++)
		bus_stop(g_ptr_array_index(daemon->buses, i));
	for (guint i = 0; i < daemon->buses->len; i++) {
		gint64 left_ms = (until - g_get_monotonic_time()) / G_TIME_SPAN_MILLISECOND;

		bus_free(g_ptr_array_index(daemon->buses, i), (guint)MAX(left_ms, 1));
	}
	g_ptr_array_unref(daemon->buses);
}

static void daemon_close(struct daemon *daemon)
{
	daemon_close_buses(daemon);
	g_ptr_array_unref(daemon->pools);
	state_free(daemon->state, STATE_WAIT_MS);
	holders_free(daemon->holders);
	node_check_free(daemon->node_check);
	rpc_free(daemon->rpc);
	g_main_loop_unref(daemon->loop);
}

static gboolean is_running;

/* A backend that calls exit(0) must not look like an end that was wanted: nobody would
 * start the daemon again. */
static void daemon_on_exit(void)
{
	if (!is_running)
		return;
	log_error("rdmadp", "a backend or a library has ended the process");
	_exit(EXIT_FAILURE);
}

static void daemon_loop(struct daemon *daemon)
{
	(void)atexit(daemon_on_exit);
	is_running = TRUE;
	g_main_loop_run(daemon->loop);
	daemon_close(daemon);
	is_running = FALSE;
}

int daemon_run(const Options *options)
{
	struct daemon daemon = {0};
	gboolean usable;

	/* A signal that comes while the files are read is not lost, not even to PID 1. */
	daemon_take_signals(&daemon);
	usable = daemon_configure(&daemon, options) && daemon_take_descriptors(&daemon);
	if (usable) {
		log_info("rdmadp", "version " RDMADP_VERSION ", %u resources from %s",
			 daemon.file->resources->len, daemon.settings->resources);
		daemon_open(&daemon);
		daemon_build(&daemon);
		daemon_loop(&daemon);
	}
	g_source_remove(daemon.signal_source);
	close(daemon.signal_fd);
	resource_file_free(daemon.file);
	settings_free(daemon.settings);
	return usable ? 0 : 1;
}
