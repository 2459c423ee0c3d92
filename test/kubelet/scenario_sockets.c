/* SPDX-License-Identifier: Apache-2.0 */
/* What can happen to the directory, to kubelet.sock and to the plugin's socket. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kubelet/scenario.h"

/* How often a directory is emptied before that is given up. */
#define REMOVE_MAX 1000

static char *kubelet_socket(const struct scenario *scenario)
{
	return g_build_filename(scenario->sim->options.dir, "kubelet.sock", NULL);
}

/* --- kubelet.sock --- */

static void run_refused(struct scenario *scenario)
{
	sim_stop(scenario->sim);
	scenario_sleep(scenario, scenario_duration_ms(scenario, 2000));
	scenario_start_kubelet(scenario);
	scenario_await_back(scenario, "a kubelet.sock that refused connections");
}

static void on_ignored(int fd, gpointer data)
{
	GArray *fds = data;
	g_array_append_val(fds, fd);
}

/* Something listens on kubelet.sock, accepts, and never says a word. */
static void run_silent(struct scenario *scenario)
{
	g_autofree char *path = kubelet_socket(scenario);
	g_autoptr(GArray) fds = g_array_new(FALSE, FALSE, sizeof(int));
	g_autoptr(GError) error = NULL;
	sim_stop(scenario->sim);
	unlink(path);
	SimListener *listener = sim_listener_new(path, on_ignored, fds, &error);
	if (!listener) {
		scenario_fail(scenario, "%s", error->message);
		return;
	}
	scenario_sleep(scenario, scenario_duration_ms(scenario, 2000));
	sim_listener_free(listener, FALSE);
	gboolean still_connected = fds->len > 0;
	scenario_start_kubelet(scenario);
	scenario_await_back(scenario, "a kubelet that accepted and said nothing");
	for (guint i = 0; i < fds->len; i++)
		close(g_array_index(fds, int, i));
	if (!still_connected)
		scenario_fail(scenario, "the plugin has not tried to connect");
}

/* The socket's times jump, the plugin sleeps meanwhile and misses the moment. */
static void run_clock_jump(struct scenario *scenario)
{
	static const time_t seconds[] = {0, 4102444800}; /* 1970, 2100 */
	for (gsize i = 0; i < G_N_ELEMENTS(seconds) && !scenario->failed; i++) {
		g_autofree char *path = kubelet_socket(scenario);
		struct timespec times[2] = {{.tv_sec = seconds[i]}, {.tv_sec = seconds[i]}};
		scenario_signal_plugin(scenario, SIGSTOP);
		scenario_restart_kubelet(scenario, 0);
		(void)utimensat(AT_FDCWD, path, times, 0);
		scenario_sleep(scenario, scenario_duration_ms(scenario, 1000));
		scenario_signal_plugin(scenario, SIGCONT);
		scenario_await_back(scenario, "a jump of the clock");
	}
}

/* --- the directory --- */

/* Whatever is made meanwhile goes as well. */
static void remove_dir(const char *path)
{
	for (int i = 0; i < REMOVE_MAX && rmdir(path) != 0; i++) {
		g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
		const char *name;
		while (dir && (name = g_dir_read_name(dir))) {
			g_autofree char *entry = g_build_filename(path, name, NULL);
			unlink(entry);
		}
	}
}

static void run_directory_gone(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 3);
	for (guint i = 0; i < count && !scenario->failed; i++) {
		sim_stop(scenario->sim);
		remove_dir(scenario->sim->options.dir);
		scenario_sleep(scenario, scenario_duration_ms(scenario, i * 300));
		scenario_start_kubelet(scenario);
		scenario_await_back(scenario, "a directory that was removed and made again");
	}
}

/* Root writes where it may not: for root the directory becomes a read-only mount. */
static gboolean set_read_only(const char *dir, gboolean read_only)
{
	if (geteuid() != 0)
		return chmod(dir, read_only ? 0500 : 0750) == 0;
	if (!read_only)
		return umount2(dir, MNT_DETACH) == 0;
	return mount(dir, dir, NULL, MS_BIND, NULL) == 0 &&
	       mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

static void run_read_only(struct scenario *scenario)
{
	const char *dir = scenario->sim->options.dir;
	scenario_signal_plugin(scenario, SIGSTOP);
	scenario_restart_kubelet(scenario, 0);
	gboolean set = set_read_only(dir, TRUE);
	int error = errno;
	scenario_signal_plugin(scenario, SIGCONT);
	if (!set) {
		sim_emit(scenario->events, "not-possible",
			 json_pack("{s:s}", "text", g_strerror(error)));
		scenario_await_back(scenario, "a restart of the kubelet");
		return;
	}
	scenario_sleep(scenario, scenario_duration_ms(scenario, 1500));
	(void)set_read_only(dir, FALSE);
	scenario_await_back(scenario, "a directory that could not be written");
}

/* --- the plugin's socket --- */

static gboolean socket_is_there(struct scenario *scenario, gpointer path)
{
	struct stat info;
	(void)scenario;
	return lstat(path, &info) == 0 && S_ISSOCK(info.st_mode);
}

static void run_socket_unlinked(struct scenario *scenario)
{
	char *path = scenario->socket;
	guint count = scenario_count(scenario, 3);
	for (guint i = 0; i < count && !scenario->failed; i++) {
		unlink(path);
		if (!scenario_await(scenario, socket_is_there, path)) {
			scenario_fail(scenario, "the plugin has not made its socket again");
			return;
		}
		scenario_await_back(scenario, "the removal of the plugin's socket");
	}
}

/* A plugin that was killed has left its socket, and nothing answers there. */
static void run_stale_socket(struct scenario *scenario)
{
	scenario_signal_plugin(scenario, SIGKILL);
	scenario_sleep(scenario, scenario_duration_ms(scenario, 100));
	scenario_start_plugin(scenario);
	scenario_await_back(scenario, "a socket that was left behind");
}

const struct scenario_entry scenario_sockets[] = {
	{"refused", "kubelet.sock is there and refuses connections", run_refused},
	{"silent", "kubelet.sock accepts connections and says nothing", run_silent},
	{"clock-jump", "times jump to 1970 and 2100 while the plugin is stopped", run_clock_jump},
	{"directory-gone", "the directory is removed and made again", run_directory_gone},
	{"read-only", "the directory cannot be written for a while", run_read_only},
	{"socket-unlinked", "somebody removes the plugin's socket", run_socket_unlinked},
	{"stale-socket", "the plugin was killed and left its socket", run_stale_socket},
	{NULL, NULL, NULL},
};
