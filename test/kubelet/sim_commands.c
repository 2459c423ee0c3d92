/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_commands.h"

#include <string.h>

#include "kubelet/sim_wait.h"

#define MAX_WORDS 6

struct sim_commands {
	Sim *sim;
	void (*quit)(gpointer data);
	gpointer quit_data;
	GQueue *lines; /* char * */
	gboolean busy; /* a command is under way */
	guint next; /* idle source */
	guint timer; /* of a restart that pauses, or of a sleep */
	SimWait *wait;
};

/* TRUE: finished; FALSE: resume is called later. Words are NULL-terminated. */
typedef gboolean (*command_fn)(SimCommands *commands, GStrv words, GError **error);

static void resume(SimCommands *commands);

/* --- helpers --- */

#define COMMAND_ERROR g_quark_from_static_string("command")

static gboolean fail(GError **error, const char *text)
{
	g_set_error_literal(error, COMMAND_ERROR, 0, text);
	return TRUE;
}

static gboolean read_number(const char *word, guint64 max, guint64 *ret, GError **error)
{
	return g_ascii_string_to_unsigned(word, 10, 0, max, ret, error);
}

static void on_done(Sim *sim, gboolean ok, gpointer data)
{
	(void)sim;
	(void)ok;
	resume(data);
}

/* --- commands --- */

/* POD[/CONTAINER] */
static void split_pod(const char *word, char **ret_pod, char **ret_container)
{
	const char *slash = word ? strchr(word, '/') : NULL;
	*ret_pod = slash ? g_strndup(word, (gsize)(slash - word)) : g_strdup(word);
	*ret_container = slash ? g_strdup(slash + 1) : NULL;
}

static gboolean run_allocate(SimCommands *commands, GStrv words, GError **error)
{
	guint64 count, numa = 0;
	g_autofree char *pod = NULL, *container = NULL;
	if (!read_number(words[2], G_MAXINT, &count, error))
		return TRUE;
	gboolean has_numa = words[3] && words[4];
	if (has_numa && !read_number(words[4], 63, &numa, error))
		return TRUE;
	split_pod(words[3], &pod, &container);
	struct sim_claim claim = {.pod = pod,
				  .container = container,
				  .resource = words[1],
				  .count = (int)count,
				  .numa = has_numa ? (int)numa : -1};
	if (!sim_allocate(commands->sim, &claim, on_done, commands))
		return fail(error, "the kubelet does not run");
	return FALSE;
}

static gboolean run_start(SimCommands *commands, GStrv words, GError **error)
{
	g_autofree char *pod = NULL, *container = NULL;
	split_pod(words[1], &pod, &container);
	if (!sim_start_container(commands->sim, pod, container, on_done, commands))
		return fail(error, "no such container holds a device");
	return FALSE;
}

static gboolean run_free(SimCommands *commands, GStrv words, GError **error)
{
	if (!sim_free_pod(commands->sim, words[1]))
		return fail(error, "no such pod holds a device");
	return TRUE;
}

static gboolean on_pause_over(gpointer data)
{
	SimCommands *commands = data;
	g_autoptr(GError) error = NULL;
	commands->timer = 0;
	if (!sim_is_running(commands->sim) && !sim_start(commands->sim, &error))
		sim_verdict(sim_get_events(commands->sim), FALSE, "command", NULL, error->message);
	resume(commands);
	return G_SOURCE_REMOVE;
}

static gboolean run_restart(SimCommands *commands, GStrv words, GError **error)
{
	guint64 pause = 0;
	if (words[1] && !read_number(words[1], G_MAXINT, &pause, error))
		return TRUE;
	sim_stop(commands->sim);
	if (pause == 0) {
		(void)sim_start(commands->sim, error);
		return TRUE;
	}
	commands->timer = g_timeout_add((guint)pause, on_pause_over, commands);
	return FALSE;
}

static gboolean run_stop(SimCommands *commands, GStrv words, GError **error)
{
	(void)words;
	(void)error;
	sim_stop(commands->sim);
	return TRUE;
}

static gboolean run_serve(SimCommands *commands, GStrv words, GError **error)
{
	(void)words;
	if (sim_is_running(commands->sim))
		return fail(error, "the kubelet runs already");
	(void)sim_start(commands->sim, error);
	return TRUE;
}

static gboolean run_resources(SimCommands *commands, GStrv words, GError **error)
{
	(void)words;
	(void)error;
	sim_report_resources(commands->sim);
	return TRUE;
}

static gboolean run_disconnect(SimCommands *commands, GStrv words, GError **error)
{
	if (!sim_disconnect(commands->sim, words[1]))
		return fail(error, "the resource has no stream");
	return TRUE;
}

static gboolean on_sleep_over(gpointer data)
{
	SimCommands *commands = data;
	commands->timer = 0;
	resume(commands);
	return G_SOURCE_REMOVE;
}

static gboolean run_sleep(SimCommands *commands, GStrv words, GError **error)
{
	guint64 ms;
	if (!read_number(words[1], G_MAXINT, &ms, error))
		return TRUE;
	commands->timer = g_timeout_add((guint)ms, on_sleep_over, commands);
	return FALSE;
}

static void on_wait_over(gpointer data)
{
	SimCommands *commands = data;
	commands->wait = NULL;
	resume(commands);
}

static gboolean run_wait(SimCommands *commands, GStrv words, GError **error)
{
	commands->wait = sim_wait_new(commands->sim, words + 1, on_wait_over, commands, error);
	return commands->wait == NULL;
}

static gboolean run_quit(SimCommands *commands, GStrv words, GError **error)
{
	(void)words;
	(void)error;
	commands->quit(commands->quit_data);
	return FALSE;
}

static const struct {
	const char *name;
	guint min_words, max_words; /* arguments */
	command_fn run;
	const char *help;
} table[] = {
	{"allocate", 2, 4, run_allocate,
	 "allocate RESOURCE N [POD[/CONTAINER] [NUMA]]  admit a container"},
	{"start", 1, 1, run_start, "start POD[/CONTAINER]  start a container again"},
	{"free", 1, 1, run_free, "free POD  the pod ends"},
	{"restart", 0, 1, run_restart, "restart [MS]  the kubelet dies and starts, MS later"},
	{"stop-serving", 0, 0, run_stop, "stop-serving  the kubelet dies"},
	{"serve", 0, 0, run_serve, "serve  the kubelet starts"},
	{"disconnect", 1, 1, run_disconnect, "disconnect RESOURCE  its stream breaks"},
	{"resources", 0, 0, run_resources, "resources  show the counts"},
	{"wait", 2, 4, run_wait,
	 "wait registered|stopped|unknown RESOURCE [SECONDS]\n"
	 "  wait allocatable|capacity RESOURCE N [SECONDS]"},
	{"sleep", 1, 1, run_sleep, "sleep MS"},
	{"quit", 0, 0, run_quit, "quit"},
};

char *sim_commands_help(void)
{
	GString *text = g_string_new("Commands on standard input:\n");
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
		g_string_append_printf(text, "  %s\n", table[i].help);
	return g_string_free(text, FALSE);
}

/* --- the queue --- */

static GStrv split_words(const char *line)
{
	g_auto(GStrv) raw = g_strsplit_set(line, " \t\r\n", -1);
	GPtrArray *words = g_ptr_array_new();
	for (gsize i = 0; raw[i] && words->len < MAX_WORDS; i++) {
		if (*raw[i])
			g_ptr_array_add(words, g_strdup(raw[i]));
	}
	g_ptr_array_add(words, NULL);
	return (GStrv)g_ptr_array_free(words, FALSE);
}

static gboolean run_words(SimCommands *commands, GStrv words, GError **error)
{
	guint n = g_strv_length(words) - 1;
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		if (strcmp(table[i].name, words[0]) != 0)
			continue;
		if (n < table[i].min_words || n > table[i].max_words)
			return fail(error, table[i].help);
		return table[i].run(commands, words, error);
	}
	return fail(error, "no such command");
}

/* As command_fn. */
static gboolean run_line(SimCommands *commands, const char *line)
{
	g_auto(GStrv) words = split_words(line);
	g_autoptr(GError) error = NULL;
	if (!words[0] || words[0][0] == '#')
		return TRUE;
	gboolean finished = run_words(commands, words, &error);
	if (error) {
		g_autofree char *text = g_strdup_printf("'%s': %s", line, error->message);
		sim_verdict(sim_get_events(commands->sim), FALSE, "command", NULL, text);
	}
	return finished;
}

static gboolean on_next(gpointer data)
{
	SimCommands *commands = data;
	g_autofree char *line = g_queue_pop_head(commands->lines);
	commands->next = 0;
	commands->busy = TRUE;
	if (run_line(commands, line))
		resume(commands);
	return G_SOURCE_REMOVE;
}

static void resume(SimCommands *commands)
{
	commands->busy = FALSE;
	if (!g_queue_is_empty(commands->lines) && commands->next == 0)
		commands->next = g_idle_add(on_next, commands);
}

SimCommands *sim_commands_new(Sim *sim, void (*quit)(gpointer data), gpointer data)
{
	SimCommands *commands = g_new0(SimCommands, 1);
	commands->sim = sim;
	commands->quit = quit;
	commands->quit_data = data;
	commands->lines = g_queue_new();
	return commands;
}

void sim_commands_free(SimCommands *commands)
{
	if (!commands)
		return;
	g_clear_handle_id(&commands->next, g_source_remove);
	g_clear_handle_id(&commands->timer, g_source_remove);
	sim_wait_free(commands->wait);
	g_queue_free_full(commands->lines, g_free);
	g_free(commands);
}

void sim_commands_add(SimCommands *commands, const char *line)
{
	g_queue_push_tail(commands->lines, g_strdup(line));
	if (!commands->busy)
		resume(commands);
}
