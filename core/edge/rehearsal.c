/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/rehearsal.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the child's output only the last line is kept, and of that so much. */
#define MAX_LINE_BYTES 512

struct rehearsal {
	char *name;
	guint limit_ms;
	rehearsal_done_fn done; /* NULL once called, or when nobody wants to know */
	gpointer data;
	pid_t pid;
	int output_fd;
	GString *line; /* under way */
	GString *last_line;
	GSource *child; /* NULL after the child was waited for */
	GSource *output;
	GSource *timer;
	gboolean owned; /* rehearsal_free was not called yet */
};

G_DEFINE_QUARK(rehearsal_error, rehearsal_error)

static void source_clear(GSource **source)
{
	if (*source)
		g_source_destroy(*source);
	g_clear_pointer(source, g_source_unref);
}

static void rehearsal_destroy(Rehearsal *rehearsal)
{
	source_clear(&rehearsal->output);
	source_clear(&rehearsal->timer);
	close(rehearsal->output_fd);
	g_string_free(rehearsal->line, TRUE);
	g_string_free(rehearsal->last_line, TRUE);
	g_free(rehearsal->name);
	g_free(rehearsal);
}

static void rehearsal_kill(const Rehearsal *rehearsal)
{
	/* the group: the backend may have started something, too */
	(void)kill(-rehearsal->pid, SIGKILL);
}

/* --- what the child says --- */

static void end_line(Rehearsal *rehearsal)
{
	if (rehearsal->line->len > 0)
		g_string_assign(rehearsal->last_line, rehearsal->line->str);
	g_string_truncate(rehearsal->line, 0);
}

static void take_output(Rehearsal *rehearsal, const char *bytes, gsize n)
{
	for (gsize i = 0; i < n; i++) {
		if (bytes[i] == '\n')
			end_line(rehearsal);
		else if (rehearsal->line->len < MAX_LINE_BYTES)
			g_string_append_c(rehearsal->line,
					  g_ascii_iscntrl(bytes[i]) ? ' ' : bytes[i]);
	}
}

/* FALSE when there will be no more. */
static gboolean read_output(Rehearsal *rehearsal)
{
	char bytes[4096];
	ssize_t n;

	do {
		n = read(rehearsal->output_fd, bytes, sizeof(bytes));
		if (n > 0)
			take_output(rehearsal, bytes, (gsize)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 && errno == EAGAIN;
}

static gboolean on_output(int fd, GIOCondition condition, gpointer data)
{
	(void)fd;
	(void)condition;
	return read_output(data) ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* --- how it ends --- */

static void finish(Rehearsal *rehearsal, const GError *error)
{
	rehearsal_done_fn done = g_steal_pointer(&rehearsal->done);

	source_clear(&rehearsal->output);
	source_clear(&rehearsal->timer);
	if (done)
		done(error, rehearsal->data);
}

/* The line as the end of a sentence, or nothing. */
static char *last_words(Rehearsal *rehearsal)
{
	g_autofree char *line = NULL;

	end_line(rehearsal);
	if (rehearsal->last_line->len == 0)
		return g_strdup("");
	line = g_utf8_make_valid(rehearsal->last_line->str, (gssize)rehearsal->last_line->len);
	return g_strdup_printf("; its last line was: %s", line);
}

static GError *judge_exit(const Rehearsal *rehearsal, int status, const char *words)
{
	switch (status) {
	case EXIT_SUCCESS:
		return NULL;
	/* the child has decided and said why */
	case REHEARSAL_EXIT_REFUSED:
		return g_error_new_literal(REHEARSAL_ERROR, REHEARSAL_ERROR_REFUSED,
					   rehearsal->last_line->str);
	case REHEARSAL_EXIT_LACK:
		return g_error_new_literal(REHEARSAL_ERROR, REHEARSAL_ERROR_LACK,
					   rehearsal->last_line->str);
	default:
		return g_error_new(REHEARSAL_ERROR, REHEARSAL_ERROR_REFUSED,
				   "backend '%s' is refused: it ended the process with status %d "
				   "during its first discovery%s",
				   rehearsal->name, status, words);
	}
}

static GError *judge_death(const Rehearsal *rehearsal, int signal_number, const char *words)
{
	const char *name = sigabbrev_np(signal_number);

	if (signal_number == SIGKILL)
		return g_error_new(REHEARSAL_ERROR, REHEARSAL_ERROR_LACK,
				   "backend '%s' cannot be rehearsed: the process was killed "
				   "(SIGKILL), as the kernel does where memory is short%s",
				   rehearsal->name, words);
	return g_error_new(REHEARSAL_ERROR, REHEARSAL_ERROR_REFUSED,
			   "backend '%s' is refused: it died of %s%s during its first discovery%s",
			   rehearsal->name, name ? "SIG" : "signal ", name ? name : "?", words);
}

/* NULL if the backend survived. */
static GError *judge(Rehearsal *rehearsal, int status)
{
	g_autofree char *words = last_words(rehearsal);

	return WIFEXITED(status) ? judge_exit(rehearsal, WEXITSTATUS(status), words)
				 : judge_death(rehearsal, WTERMSIG(status), words);
}

static void on_exit_of_child(GPid pid, int status, gpointer data)
{
	Rehearsal *rehearsal = data;
	g_autoptr(GError) error = NULL;

	(void)pid;
	/* nobody to kill any more, whatever 'done' does */
	rehearsal->pid = 0;
	(void)read_output(rehearsal);
	error = judge(rehearsal, status);
	finish(rehearsal, error);
}

/* The child may be stuck in the kernel, where no signal reaches it: nobody waits for
 * its end but the source that reaps it. */
static gboolean on_limit(gpointer data)
{
	Rehearsal *rehearsal = data;
	g_autofree char *words = NULL;
	g_autoptr(GError) error = NULL;

	rehearsal_kill(rehearsal);
	(void)read_output(rehearsal);
	words = last_words(rehearsal);
	error = g_error_new(
		REHEARSAL_ERROR, REHEARSAL_ERROR_REFUSED,
		"backend '%s' is refused: its first discovery did not end within %g s%s",
		rehearsal->name, rehearsal->limit_ms / 1000.0, words);
	finish(rehearsal, error);
	return G_SOURCE_REMOVE;
}

static void on_child_source_gone(gpointer data)
{
	Rehearsal *rehearsal = data;

	g_clear_pointer(&rehearsal->child, g_source_unref);
	if (!rehearsal->owned)
		rehearsal_destroy(rehearsal);
}

void rehearsal_free(Rehearsal *rehearsal)
{
	if (!rehearsal)
		return;
	rehearsal->owned = FALSE;
	rehearsal->done = NULL;
	source_clear(&rehearsal->output);
	source_clear(&rehearsal->timer);
	if (rehearsal->pid != 0)
		rehearsal_kill(rehearsal);
	/* otherwise the source that waits for the child frees it */
	if (!rehearsal->child)
		rehearsal_destroy(rehearsal);
}

/* --- the start --- */

static void fill_attributes(posix_spawnattr_t *attributes)
{
	static const int reset[] = {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2};
	sigset_t set;

	posix_spawnattr_init(attributes);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						     POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(attributes, 0);
	/* the daemon blocks signals that it takes from a descriptor */
	sigemptyset(&set);
	posix_spawnattr_setsigmask(attributes, &set);
	for (gsize i = 0; i < G_N_ELEMENTS(reset); i++)
		sigaddset(&set, reset[i]);
	posix_spawnattr_setsigdefault(attributes, &set);
}

/* The input has ended; to open /dev/null there would have to be a /dev. */
static void fill_actions(posix_spawn_file_actions_t *actions, int input, int output)
{
	posix_spawn_file_actions_init(actions);
	posix_spawn_file_actions_adddup2(actions, input, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
	posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
}

/* 0 or a positive errno. */
static int spawn_with(const struct rehearsal_plan *plan, int input, int output, pid_t *ret_pid)
{
	const char *const argv[] = {
		plan->program,	  "rehearse", "--backend-dir", plan->backend_dir, "--sysfs",
		plan->sysfs_root, "--dev",    plan->dev_root,  plan->name,	  NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int result;

	fill_attributes(&attributes);
	fill_actions(&actions, input, output);
	result = posix_spawn(ret_pid, plan->program, &actions, &attributes, (char *const *)argv,
			     environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return result;
}

static int spawn(const struct rehearsal_plan *plan, int output, pid_t *ret_pid)
{
	int input[2];
	int result;

	if (pipe2(input, O_CLOEXEC) < 0)
		return errno;
	close(input[1]);
	result = spawn_with(plan, input[0], output, ret_pid);
	close(input[0]);
	return result;
}

static GSource *attach(GSource *source, GSourceFunc callback, gpointer data, GDestroyNotify gone)
{
	g_autoptr(GMainContext) context = g_main_context_ref_thread_default();

	g_source_set_callback(source, callback, data, gone);
	g_source_attach(source, context);
	return source;
}

Rehearsal *rehearsal_start(const struct rehearsal_plan *plan, rehearsal_done_fn done, gpointer data,
			   GError **error)
{
	Rehearsal *rehearsal;
	int output[2];
	pid_t pid = 0;
	int result = pipe2(output, O_CLOEXEC) < 0 ? errno : 0;

	if (result == 0) {
		result = spawn(plan, output[1], &pid);
		close(output[1]);
		if (result != 0)
			close(output[0]);
	}
	if (result != 0) {
		g_set_error(error, REHEARSAL_ERROR, REHEARSAL_ERROR_LACK,
			    "backend '%s' cannot be rehearsed: '%s' does not start: %s", plan->name,
			    plan->program, g_strerror(result));
		return NULL;
	}
	(void)g_unix_set_fd_nonblocking(output[0], TRUE, NULL);
	rehearsal = g_new0(Rehearsal, 1);
	rehearsal->owned = TRUE;
	rehearsal->name = g_strdup(plan->name);
	rehearsal->limit_ms = plan->limit_ms ? plan->limit_ms : REHEARSAL_LIMIT_MS;
	rehearsal->done = done;
	rehearsal->data = data;
	rehearsal->pid = pid;
	rehearsal->output_fd = output[0];
	rehearsal->line = g_string_new(NULL);
	rehearsal->last_line = g_string_new(NULL);
	rehearsal->child = attach(g_child_watch_source_new(pid), G_SOURCE_FUNC(on_exit_of_child),
				  rehearsal, on_child_source_gone);
	rehearsal->output = attach(g_unix_fd_source_new(output[0], G_IO_IN | G_IO_HUP),
				   G_SOURCE_FUNC(on_output), rehearsal, NULL);
	rehearsal->timer =
		attach(g_timeout_source_new(rehearsal->limit_ms), on_limit, rehearsal, NULL);
	return rehearsal;
}
