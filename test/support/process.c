/* SPDX-License-Identifier: Apache-2.0 */
#include "support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/json_match.h"

/* How long one poll takes at most: an exit is noticed by looking. */
#define STEP_MS 10

struct output {
	int fd;
	GString *rest; /* a line that is not complete yet */
};

struct process {
	char *name;
	pid_t pid;
	int input;
	struct output outputs[2]; /* standard output and error */
	GPtrArray *lines; /* char *, of both */
	guint cursor; /* lines before it were waited for */
	gboolean exited;
	int status;
};

static GPtrArray *all; /* struct process *, those that were started and not freed */

static guint limit_ms(void)
{
	const char *patience = g_getenv("RDMADP_TEST_PATIENCE");
	guint64 times = patience == NULL ? 1 : g_ascii_strtoull(patience, NULL, 10);

	return PROCESS_LIMIT_MS * (guint)CLAMP(times, 1, 100);
}

/* --- start and end --- */

static void in_child(gpointer data)
{
	(void)data;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void set_output(struct output *output, int fd)
{
	output->fd = fd;
	output->rest = g_string_new(NULL);
	(void)g_unix_set_fd_nonblocking(fd, TRUE, NULL);
}

Process *process_start(const char *name, const char *const *argv)
{
	Process *process = g_new0(Process, 1);
	g_autoptr(GError) error = NULL;
	int out, err;
	if (!g_spawn_async_with_pipes(NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD,
				      in_child, NULL, &process->pid, &process->input, &out, &err,
				      &error))
		g_error("%s: %s", name, error->message);
	process->name = g_strdup(name);
	set_output(&process->outputs[0], out);
	set_output(&process->outputs[1], err);
	process->lines = g_ptr_array_new_with_free_func(g_free);
	if (!all)
		all = g_ptr_array_new();
	g_ptr_array_add(all, process);
	/* Writing to one that has died is that test's failure, not this process's end. */
	(void)signal(SIGPIPE, SIG_IGN);
	return process;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static gboolean has_exited(Process *process)
{
	int status;
	if (process->exited || waitpid(process->pid, &status, WNOHANG) != process->pid)
		return process->exited;
	process->exited = TRUE;
	process->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return TRUE;
}

void process_free(Process *process)
{
	if (!process)
		return;
	if (!has_exited(process)) {
		kill(process->pid, SIGKILL);
		while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	g_ptr_array_remove(all, process);
	if (all->len == 0)
		g_clear_pointer(&all, g_ptr_array_unref);
	close_fd(&process->input);
	for (gsize i = 0; i < G_N_ELEMENTS(process->outputs); i++) {
		close_fd(&process->outputs[i].fd);
		g_string_free(process->outputs[i].rest, TRUE);
	}
	g_ptr_array_unref(process->lines);
	g_free(process->name);
	g_free(process);
}

void process_signal(Process *process, int number)
{
	if (!has_exited(process))
		kill(process->pid, number);
}

pid_t process_pid(const Process *process)
{
	return process->pid;
}

/* --- input --- */

void process_write(Process *process, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	g_autofree char *text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_autofree char *line = g_strconcat(text, "\n", NULL);
	gsize length = strlen(line);
	if (write(process->input, line, length) != (gssize)length)
		g_printerr("%s: cannot write '%s': %s\n", process->name, text, g_strerror(errno));
}

void process_close_input(Process *process)
{
	close_fd(&process->input);
}

/* --- output --- */

static void take_lines(Process *process, struct output *output)
{
	char *newline;
	while ((newline = strchr(output->rest->str, '\n'))) {
		gsize length = (gsize)(newline - output->rest->str);
		g_ptr_array_add(process->lines, g_strndup(output->rest->str, length));
		g_string_erase(output->rest, 0, (gssize)length + 1);
	}
}

static void read_output(Process *process, struct output *output)
{
	char buffer[16384];
	gssize n;
	while (output->fd >= 0 && (n = read(output->fd, buffer, sizeof(buffer))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		g_string_append_len(output->rest, buffer, n);
		take_lines(process, output);
	}
	close_fd(&output->fd);
}

static void read_all(int timeout_ms)
{
	GArray *fds = g_array_new(FALSE, FALSE, sizeof(struct pollfd));
	for (guint i = 0; i < all->len; i++) {
		Process *process = g_ptr_array_index(all, i);
		for (gsize j = 0; j < G_N_ELEMENTS(process->outputs); j++) {
			struct pollfd fd = {.fd = process->outputs[j].fd, .events = POLLIN};
			g_array_append_val(fds, fd);
		}
	}
	(void)poll((struct pollfd *)(void *)fds->data, fds->len, timeout_ms);
	g_array_unref(fds);
	for (guint i = 0; i < all->len; i++) {
		Process *process = g_ptr_array_index(all, i);
		for (gsize j = 0; j < G_N_ELEMENTS(process->outputs); j++)
			read_output(process, &process->outputs[j]);
	}
}

char *process_output(Process *process)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < process->lines->len; i++)
		g_string_append_printf(text, "%s: %s\n", process->name,
				       (const char *)g_ptr_array_index(process->lines, i));
	return g_string_free(text, FALSE);
}

static void complain(const Process *process, const char *what)
{
	g_printerr("%s: waited in vain for %s; this is what was written:\n", process->name, what);
	for (guint i = 0; i < all->len; i++) {
		g_autofree char *text = process_output(g_ptr_array_index(all, i));
		g_printerr("%s", text);
	}
}

/* --- waiting --- */

static gboolean line_matches(const char *line, const char *text, const json_t *pattern)
{
	if (!pattern)
		return strstr(line, text) != NULL;
	if (*line != '{')
		return FALSE;
	json_t *value = json_loads(line, 0, NULL);
	gboolean matches = value && json_match(value, pattern);
	json_decref(value);
	return matches;
}

/* Index of the first such line from 'start' on; the number of lines if there is none. */
static guint find_line(const Process *process, guint start, const char *text, const json_t *pattern)
{
	guint i = start;
	while (i < process->lines->len &&
	       !line_matches(g_ptr_array_index(process->lines, i), text, pattern))
		i++;
	return i;
}

static json_t *pattern_of(const char *text)
{
	return *text == '{' ? json_pattern(text) : NULL;
}

const char *process_await(Process *process, const char *text)
{
	json_t *pattern = pattern_of(text);
	gint64 end = g_get_monotonic_time() + (gint64)limit_ms() * 1000;
	guint next = process->cursor;
	const char *found = NULL;
	for (;;) {
		gboolean over = has_exited(process) || g_get_monotonic_time() > end;
		read_all(over ? 0 : STEP_MS);
		next = find_line(process, next, text, pattern);
		if (next < process->lines->len) {
			found = g_ptr_array_index(process->lines, next);
			process->cursor = next + 1;
			break;
		}
		if (over)
			break;
	}
	json_decref(pattern);
	if (!found)
		complain(process, text);
	return found;
}

guint process_count(Process *process, const char *text)
{
	json_t *pattern = pattern_of(text);
	guint n = 0;
	read_all(0);
	for (guint i = find_line(process, 0, text, pattern); i < process->lines->len;
	     i = find_line(process, i + 1, text, pattern))
		n++;
	json_decref(pattern);
	return n;
}

gboolean process_has_said(Process *process, const char *text)
{
	return process_count(process, text) > 0;
}

void process_mark(Process *process)
{
	read_all(0);
	process->cursor = process->lines->len;
}

gboolean process_await_exit_within(Process *process, guint limit_ms, int *ret_status)
{
	gint64 end = g_get_monotonic_time() + (gint64)limit_ms * 1000;
	while (!has_exited(process) && g_get_monotonic_time() < end)
		read_all(STEP_MS);
	read_all(0);
	if (!process->exited) {
		complain(process, "its end");
		return FALSE;
	}
	if (ret_status)
		*ret_status = process->status;
	return TRUE;
}

gboolean process_await_exit(Process *process, int *ret_status)
{
	return process_await_exit_within(process, limit_ms(), ret_status);
}
