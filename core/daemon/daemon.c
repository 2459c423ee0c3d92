/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"

#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/configuration.h"
#include "daemon/roster.h"
#include "daemon/status.h"
#include "edge/log.h"
#include "edge/startup.h"
#include "model/text.h"

/* How long the end waits for calls into backends that do not come back. */
#define BACKEND_WAIT_MS 500
/* And for the disk. */
#define STATE_WAIT_MS 500

/* And for all of it: a library that cannot start a thread, as where memory or processes are
 * limited, may wait for it for ever. */
#define END_LIMIT_S 5

/* Open files: without anything but one resource, and what is asked for so that even
 * a hundred HCAs that hang at once leave enough. */
#define LEAST_DESCRIPTORS 64
#define BASE_DESCRIPTORS 256
#define DESCRIPTORS_A_RESOURCE 40

/* What gRPC starts for itself, and the one that carries its events. */
#define LEAST_THREADS 7

struct daemon {
	Configuration *configuration;
	GMainLoop *loop;
	Rpc *rpc;
	Kubelet *kubelet;
	NodeCheck *node_check;
	State *state;
	Holders *holders;
	Roster *roster;
	Status *status;
	int signal_fd;
	guint signal_source;
	gboolean stopping;
};

static void daemon_on_stopped(gpointer data)
{
	struct daemon *daemon = data;

	daemon->kubelet = NULL;
	g_main_loop_quit(daemon->loop);
}

static void daemon_on_end_limit(int signal_number G_GNUC_UNUSED)
{
	static const char text[] = "rdmadp: the end takes too long: something hangs and is left\n";
	struct pollfd target = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (poll(&target, 1, 0) > 0)
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_FAILURE);
}

static void daemon_limit_end(void)
{
	signal(SIGALRM, daemon_on_end_limit);
	alarm(END_LIMIT_S);
}

static void daemon_stop(struct daemon *daemon)
{
	if (daemon->stopping)
		return;
	daemon->stopping = TRUE;
	daemon_limit_end();
	g_clear_pointer(&daemon->status, status_free);
	state_stop(daemon->state);
	roster_stop(daemon->roster);
	kubelet_stop(daemon->kubelet, daemon_on_stopped, daemon);
}

static void daemon_hang_up(struct daemon *daemon)
{
	if (daemon->stopping)
		return;
	log_info("rdmadp", "SIGHUP: reading the configuration and looking at every bus again");
	configuration_reload(daemon->configuration);
	roster_rescan(daemon->roster);
}

static gboolean daemon_on_signal(gint fd, GIOCondition condition G_GNUC_UNUSED, gpointer data)
{
	struct daemon *daemon = data;
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			daemon_hang_up(daemon);
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

	roster_save(daemon->roster, state);
}

/* FALSE if there is no point in trying: gRPC ends the process without a word of help. */
static gboolean daemon_take_descriptors(const struct daemon *daemon)
{
	guint n_resources = configuration_file(daemon->configuration)->resources->len;
	guint64 wanted = BASE_DESCRIPTORS + (guint64)DESCRIPTORS_A_RESOURCE * n_resources;
	guint64 limit = startup_raise_descriptors(wanted);
	g_autofree char *files = text_count(limit, "file");
	g_autofree char *resources = text_count(n_resources, "resource");

	if (limit >= wanted)
		return TRUE;
	log_message(limit < LEAST_DESCRIPTORS ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "rdmadp",
		    "only %s may be open, %s may need %" G_GUINT64_FORMAT
		    ": raise the limit (ulimit -n, LimitNOFILE=)",
		    files, resources, wanted);
	return limit >= LEAST_DESCRIPTORS;
}

/* FALSE as for descriptors; and what the library does without some of its threads is to hang. */
static gboolean daemon_check_threads(void)
{
	int error;
	guint n = startup_probe_threads(LEAST_THREADS, &error);
	g_autofree char *threads = text_count(n, "thread");

	if (n == LEAST_THREADS)
		return TRUE;
	log_error(
		"rdmadp", "only %s can be started, %d are needed from the beginning: %s: %s",
		threads, LEAST_THREADS, g_strerror(error),
		error == EPERM
			? "the container's seccomp profile refuses clone3, as that of a container "
			  "runtime does which is older than it: take a newer one"
			: "raise the limit of processes (ulimit -u, TasksMax=, pids.max) or of "
			  "memory (ulimit -v, LimitAS=)");
	return FALSE;
}

static void daemon_on_configured(gpointer data)
{
	struct daemon *daemon = data;

	if (daemon->stopping)
		return;
	daemon_take_descriptors(daemon);
	status_configured(daemon->status);
	roster_apply(daemon->roster);
}

static void daemon_on_changed(gpointer data)
{
	struct daemon *daemon = data;

	status_touch(daemon->status);
}

static void daemon_open(struct daemon *daemon)
{
	const Settings *settings = configuration_settings(daemon->configuration);
	struct kubelet_options kubelet = {
		.device_plugins_dir = settings->kubelet_dir,
		.plugins_registry_dir = settings->plugins_registry_dir,
		.registration = (int)settings->registration,
		.unique_socket_names = settings->unique_socket_names,
	};
	struct roster_host host;

	daemon->loop = g_main_loop_new(NULL, FALSE);
	daemon->rpc = rpc_new();
	daemon->kubelet = kubelet_new(daemon->rpc, &kubelet);
	daemon->node_check = node_check_new(settings->sysfs_root, settings->dev_root);
	daemon->state =
		state_new(settings->state_dir, STATE_BOOT_ID_FILE, daemon_collect_state, daemon);
	daemon->holders = holders_new(daemon->rpc, settings->pod_resources_socket);
	holders_set_settle_time(daemon->holders, settings->settle_time_s);
	host = (struct roster_host){
		.configuration = daemon->configuration,
		.kubelet = daemon->kubelet,
		.node_check = daemon->node_check,
		.state = daemon->state,
		.holders = daemon->holders,
		.changed = daemon_on_changed,
		.data = daemon,
	};
	daemon->roster = roster_new(&host);
	daemon->status = status_new(daemon->configuration, daemon->roster, daemon->holders);
	configuration_on_change(daemon->configuration, daemon_on_configured, daemon_on_changed,
				daemon);
	roster_apply(daemon->roster);
}

static void daemon_close(struct daemon *daemon)
{
	roster_free(daemon->roster, BACKEND_WAIT_MS);
	state_free(daemon->state, STATE_WAIT_MS);
	holders_free(daemon->holders);
	node_check_free(daemon->node_check);
	rpc_free(daemon->rpc);
	g_main_loop_unref(daemon->loop);
}

static void daemon_say_start(const struct daemon *daemon)
{
	g_autofree char *resources =
		text_count(configuration_file(daemon->configuration)->resources->len, "resource");

	log_info("rdmadp", "version " RDMADP_VERSION ", %s from %s", resources,
		 configuration_settings(daemon->configuration)->resources);
}

static void daemon_check_sysfs(const struct daemon *daemon)
{
	const char *root = configuration_settings(daemon->configuration)->sysfs_root;

	if (!g_file_test(root, G_FILE_TEST_IS_DIR))
		log_warning("rdmadp",
			    "sysfs_root '%s' is no directory: no device is found before it is one "
			    "(mount the host's /sys there)",
			    root);
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
	daemon.configuration = configuration_read(options);
	usable = daemon.configuration != NULL && daemon_take_descriptors(&daemon) &&
		 daemon_check_threads();
	if (usable) {
		daemon_say_start(&daemon);
		daemon_check_sysfs(&daemon);
		daemon_open(&daemon);
		daemon_loop(&daemon);
	}
	g_source_remove(daemon.signal_source);
	close(daemon.signal_fd);
	configuration_free(daemon.configuration);
	return usable ? 0 : 1;
}
