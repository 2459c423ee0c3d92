/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct process {
	pid_t pid;
	char *name;
	char *log;
	gboolean has_ended;
};

Process *process_start(const char *const *argv, const char *log)
{
	posix_spawn_file_actions_t actions;
	Process *process = g_new0(Process, 1);

	process->name = g_path_get_basename(argv[0]);
	process->log = g_strdup(log);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	int error =
		posix_spawn(&process->pid, argv[0], &actions, NULL, (char *const *)argv, environ);

	posix_spawn_file_actions_destroy(&actions);
	if (error)
		g_error("cannot start '%s': %s", argv[0], g_strerror(error));
	return process;
}

static void print_log(const Process *process)
{
	g_autofree char *text = NULL;

	if (g_file_get_contents(process->log, &text, NULL, NULL))
		g_printerr("%s", text);
}

gboolean process_is_alive(Process *process)
{
	int status;

	if (!process->has_ended && waitpid(process->pid, &status, WNOHANG) == process->pid) {
		process->has_ended = TRUE;
		g_printerr("%s ended by itself, wait status %d; it had said:\n", process->name,
			   status);
		print_log(process);
	}
	return !process->has_ended;
}

void process_stop(Process *process)
{
	if (process_is_alive(process)) {
		kill(process->pid, SIGTERM);
		waitpid(process->pid, NULL, 0);
	}
	g_free(process->name);
	g_free(process->log);
	g_free(process);
}

GPid process_pid(const Process *process)
{
	return process->pid;
}

/* The number after "key:" in a status file of /proc; 0 when there is none. */
static double read_status(const char *path, const char *key)
{
	g_autofree char *text = NULL;
	g_autofree char *label = g_strconcat("\n", key, ":", NULL);

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	const char *line = strstr(text, label);

	return line ? g_ascii_strtod(line + strlen(label), NULL) : 0;
}

double process_status(const Process *process, const char *key)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/status", process->pid);

	return read_status(path, key);
}

/* Adds up what 'read' finds in a file of every thread. */
static double sum_threads(const Process *process, const char *file,
			  double (*read)(const char *path, const char *key), const char *key)
{
	g_autofree char *folder = g_strdup_printf("/proc/%d/task", process->pid);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	double sum = 0;
	const char *task;

	while (dir && (task = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(folder, task, file, NULL);

		sum += read(path, key);
	}
	return sum;
}

double process_sleeps(const Process *process)
{
	return sum_threads(process, "status", read_status, "voluntary_ctxt_switches");
}

/* The first number of a file. */
static double read_first(const char *path, const char *key)
{
	g_autofree char *text = NULL;

	(void)key;
	return g_file_get_contents(path, &text, NULL, NULL) ? g_ascii_strtod(text, NULL) : 0;
}

double process_cpu_us(const Process *process)
{
	return sum_threads(process, "schedstat", read_first, NULL) / 1000;
}
