/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin of a scenario, as a process. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kubelet/scenario.h"

/* Descriptors and threads that may come and go by themselves. gRPC's C library keeps the
 * threads of a burst for as long as there is something to do each second or so, some
 * twenty at most; a thread that is lost with each restart makes more. */
#define SLACK_FDS 2
#define SLACK_THREADS 20

/* Its standard output would be taken for ours. */
static void in_child(gpointer data)
{
	(void)data;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
}

static char *substitute(const struct scenario *scenario, const char *word)
{
	const struct sim_options *options = &scenario->sim->options;
	const char *registry = options->registry_dir ? options->registry_dir : "";
	GString *text = g_string_new(word);
	g_string_replace(text, "{dir}", options->dir, 0);
	g_string_replace(text, "{registry}", registry, 0);
	return g_string_free(text, FALSE);
}

/* Nobody asked it to end. */
static void on_exit_seen(GPid pid, gint status, gpointer data)
{
	struct scenario *scenario = data;
	scenario->plugin = 0;
	scenario->watch = 0;
	g_spawn_close_pid(pid);
	if (WIFSIGNALED(status))
		scenario_fail(scenario, "the plugin has died of signal %d", WTERMSIG(status));
	else
		scenario_fail(scenario, "the plugin has ended with status %d", WEXITSTATUS(status));
}

void scenario_start_plugin(struct scenario *scenario)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	for (gsize i = 0; scenario->options->command[i]; i++)
		g_ptr_array_add(argv, substitute(scenario, scenario->options->command[i]));
	g_ptr_array_add(argv, NULL);
	if (!g_spawn_async(NULL, (char **)argv->pdata, NULL,
			   G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, in_child, NULL,
			   &scenario->plugin, &error)) {
		scenario_fail(scenario, "the plugin does not start: %s", error->message);
		return;
	}
	scenario->watch = g_child_watch_add(scenario->plugin, on_exit_seen, scenario);
	sim_emit(scenario->events, "plugin-started",
		 json_pack("{s:i}", "pid", (int)scenario->plugin));
}

struct ending {
	GPid pid;
	int status;
};

static gboolean has_gone(struct scenario *scenario, gpointer data)
{
	struct ending *ending = data;
	(void)scenario;
	return waitpid(ending->pid, &ending->status, WNOHANG) == ending->pid;
}

void scenario_end_process(struct scenario *scenario, GPid pid, int number)
{
	struct ending ending = {.pid = pid};
	kill(pid, number);
	if (!scenario_await(scenario, has_gone, &ending)) {
		scenario_fail(scenario, "the plugin does not end on signal %d", number);
		kill(pid, SIGKILL);
		waitpid(pid, &ending.status, 0);
	}
	g_spawn_close_pid(pid);
	sim_emit(scenario->events, "plugin-ended",
		 json_pack("{s:i, s:i}", "signal", number, "status",
			   WIFEXITED(ending.status) ? WEXITSTATUS(ending.status)
						    : 128 + WTERMSIG(ending.status)));
}

GPid scenario_release_plugin(struct scenario *scenario)
{
	GPid pid = scenario->plugin;
	g_clear_handle_id(&scenario->watch, g_source_remove);
	scenario->plugin = 0;
	return pid;
}

static gboolean has_no_stream(struct scenario *scenario, gpointer data)
{
	(void)data;
	return sim_n_streams(scenario->sim) == 0;
}

void scenario_signal_plugin(struct scenario *scenario, int number)
{
	if (!scenario->plugin)
		return;
	if (number != SIGKILL && number != SIGTERM) {
		kill(scenario->plugin, number);
		return;
	}
	scenario_end_process(scenario, scenario_release_plugin(scenario), number);
	if (!scenario_await(scenario, has_no_stream, NULL))
		scenario_fail(scenario, "a stream outlives its plugin");
}

/* --- what it uses --- */

static guint count_fds(GPid pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fd", (int)pid);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	guint n = 0;
	while (dir && g_dir_read_name(dir))
		n++;
	return n;
}

static gint64 status_number(const char *status, const char *key)
{
	const char *line = strstr(status, key);
	return line ? g_ascii_strtoll(line + strlen(key), NULL, 10) : 0;
}

struct scenario_usage scenario_usage(const struct scenario *scenario)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)scenario->plugin);
	g_autofree char *status = NULL;
	if (!g_file_get_contents(path, &status, NULL, NULL))
		return (struct scenario_usage){0};
	return (struct scenario_usage){.fds = count_fds(scenario->plugin),
				       .threads = (guint)status_number(status, "\nThreads:"),
				       .rss_kib = status_number(status, "\nVmRSS:")};
}

/* What is on its way out may still count: it is looked at until it is gone. */
static gboolean is_as_before(struct scenario *scenario, gpointer data)
{
	const struct scenario_usage *before = data;
	struct scenario_usage now = scenario_usage(scenario);
	return now.fds <= before->fds + SLACK_FDS && now.threads <= before->threads + SLACK_THREADS;
}

gboolean scenario_check_usage(struct scenario *scenario, const struct scenario_usage *before)
{
	gint64 limit = scenario->options->max_growth_kib;
	gboolean as_before = scenario_await(scenario, is_as_before, (gpointer)before);
	struct scenario_usage now = scenario_usage(scenario);
	sim_emit(scenario->events, "usage",
		 json_pack("{s:[ii], s:[ii], s:[II]}", "fds", (int)before->fds, (int)now.fds,
			   "threads", (int)before->threads, (int)now.threads, "rss_kib",
			   (json_int_t)before->rss_kib, (json_int_t)now.rss_kib));
	if (!as_before)
		return scenario_fail(scenario,
				     "the plugin had %u descriptors and %u threads and has %u and "
				     "%u now",
				     before->fds, before->threads, now.fds, now.threads);
	if (limit >= 0 && now.rss_kib - before->rss_kib > limit)
		return scenario_fail(scenario, "the plugin's memory has grown by %ld KiB",
				     (long)(now.rss_kib - before->rss_kib));
	return TRUE;
}
