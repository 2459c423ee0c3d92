/* SPDX-License-Identifier: Apache-2.0 */
/* rdmadp-kubelet: the kubelet simulator as a program. */
#include <glib-unix.h>
#include <stdlib.h>
#include <unistd.h>

#include "kubelet/arguments.h"
#include "kubelet/sim_commands.h"

enum { EXIT_BAD_VERDICT = 1, EXIT_USAGE = 2 };

struct program {
	gboolean ended;
	Sim *sim;
	SimCommands *commands;
	GIOChannel *input;
	guint input_watch;
};

/* --- standard input --- */

static gboolean on_input(GIOChannel *channel, GIOCondition condition, gpointer data)
{
	struct program *program = data;
	g_autofree char *line = NULL;
	(void)condition;
	GIOStatus status = g_io_channel_read_line(channel, &line, NULL, NULL, NULL);
	if (line)
		sim_commands_add(program->commands, g_strchomp(line));
	/* The end of the commands is not the end of the kubelet: "quit" is, or a signal. */
	if (status == G_IO_STATUS_NORMAL || status == G_IO_STATUS_AGAIN)
		return G_SOURCE_CONTINUE;
	program->input_watch = 0;
	return G_SOURCE_REMOVE;
}

static void open_input(struct program *program)
{
	program->input = g_io_channel_unix_new(STDIN_FILENO);
	g_io_channel_set_encoding(program->input, NULL, NULL);
	program->input_watch =
		g_io_add_watch(program->input, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, program);
}

/* --- the end --- */

static void on_freed(gpointer data)
{
	struct program *program = data;
	program->ended = TRUE;
}

static void quit(gpointer data)
{
	struct program *program = data;
	if (!program->sim)
		return;
	g_clear_handle_id(&program->input_watch, g_source_remove);
	g_clear_pointer(&program->commands, sim_commands_free);
	sim_free(g_steal_pointer(&program->sim), on_freed, program);
}

static gboolean on_signal(gpointer data)
{
	quit(data);
	return G_SOURCE_CONTINUE;
}

/* --- main --- */

static void emit_started(SimEvents *events, const struct arguments *arguments)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree char *time = g_date_time_format_iso8601(now);
	sim_emit(events, "started",
		 json_pack("{s:s, s:s, s:o, s:i}", "time", time, "profile", arguments->profile,
			   "dir", sim_json_text(arguments->dir), "seed", arguments->seed));
}

/* Commands from standard input until "quit" or a signal. */
static gboolean serve(struct program *program, GError **error)
{
	program->commands = sim_commands_new(program->sim, quit, program);
	guint signals[] = {g_unix_signal_add(SIGINT, on_signal, program),
			   g_unix_signal_add(SIGTERM, on_signal, program)};
	gboolean started = sim_start(program->sim, error);
	if (started)
		open_input(program);
	while (started && !program->ended)
		g_main_context_iteration(NULL, TRUE);
	for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
		g_source_remove(signals[i]);
	g_clear_pointer(&program->input, g_io_channel_unref);
	return started;
}

static int run(const struct arguments *arguments, GError **error)
{
	enum sim_format format = arguments->text ? SIM_FORMAT_TEXT : SIM_FORMAT_JSON;
	g_autoptr(SimEvents) events = sim_events_new(stdout, format);
	struct program program = {0};
	gboolean started = TRUE;
	Rpc *rpc = rpc_new();
	program.sim = sim_new(rpc, &arguments->options, events);
	emit_started(events, arguments);
	if (arguments->entry)
		scenario_run(arguments->entry, program.sim, &arguments->scenario_options);
	else
		started = serve(&program, error);
	quit(&program);
	while (!program.ended)
		g_main_context_iteration(NULL, TRUE);
	rpc_free(rpc);
	if (!started)
		return EXIT_USAGE;
	return sim_events_bad_verdicts(events) > 0 ? EXIT_BAD_VERDICT : EXIT_SUCCESS;
}

/* FALSE: there is something to run. */
static gboolean show(const struct arguments *arguments)
{
	g_autofree char *text = NULL;
	if (arguments->version)
		text = g_strdup("rdmadp-kubelet " RDMADP_VERSION "\n");
	else if (arguments->list_profiles)
		text = sim_profile_table();
	else if (arguments->list_scenarios)
		text = scenario_list();
	if (text)
		g_print("%s", text);
	return text != NULL;
}

int main(int argc, char **argv)
{
	struct arguments arguments;
	g_autoptr(GError) error = NULL;
	int status = EXIT_USAGE;
	if (arguments_parse(&arguments, &argc, &argv, &error)) {
		if (show(&arguments))
			status = EXIT_SUCCESS;
		else if (arguments_check(&arguments, &error))
			status = run(&arguments, &error);
	}
	if (error)
		g_printerr("rdmadp-kubelet: %s\n", error->message);
	arguments_clear(&arguments);
	return status;
}
