/* SPDX-License-Identifier: Apache-2.0 */
/* rdmadp-kubelet: the kubelet simulator as a program. */
#include <glib-unix.h>
#include <stdlib.h>
#include <unistd.h>

#include "kubelet/sim_commands.h"

#define DEFAULT_PROFILE "1.36"

enum { EXIT_BAD_VERDICT = 1, EXIT_USAGE = 2 };

struct program {
	gboolean ended;
	Sim *sim;
	SimCommands *commands;
	GIOChannel *input;
	guint input_watch;
};

struct arguments {
	struct sim_options options;
	char *dir, *dev_root, *profile, *registry_dir, *pod_resources;
	int seed, show_devices, answer_delay;
	double time_scale;
	gboolean text, list_profiles, version;
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

/* --- options --- */

static gboolean check_arguments(struct arguments *arguments, GError **error)
{
	const char *profile = arguments->profile ? arguments->profile : DEFAULT_PROFILE;
	arguments->options = sim_options_default(arguments->dir);
	arguments->options.time_scale = arguments->time_scale;
	arguments->options.profile = sim_profile_find(profile);
	arguments->options.dev_root = arguments->dev_root;
	arguments->options.registry_dir = arguments->registry_dir;
	arguments->options.pod_resources = arguments->pod_resources;
	arguments->options.seed = (guint32)arguments->seed;
	arguments->options.show_devices = (guint)arguments->show_devices;
	arguments->options.answer_delay_ms = (guint)arguments->answer_delay;
	if (!arguments->dir)
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--dir is missing");
	else if (!arguments->options.profile)
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "'%s' is no profile; --list-profiles shows them", profile);
	else if (arguments->time_scale <= 0)
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "--time-scale must be above 0");
	return *error == NULL;
}

static gboolean parse(int *argc, char ***argv, struct arguments *arguments, GError **error)
{
	const GOptionEntry entries[] = {
		{"dir", 0, 0, G_OPTION_ARG_FILENAME, &arguments->dir,
		 "device-plugins directory to serve in", "DIR"},
		{"dev-root", 0, 0, G_OPTION_ARG_FILENAME, &arguments->dev_root,
		 "look allocated devices up below DIR, which stands for /dev", "DIR"},
		{"registry-dir", 0, 0, G_OPTION_ARG_FILENAME, &arguments->registry_dir,
		 "plugins_registry directory to watch for sockets", "DIR"},
		{"pod-resources", 0, 0, G_OPTION_ARG_FILENAME, &arguments->pod_resources,
		 "serve the podresources service on this socket", "PATH"},
		{"profile", 0, 0, G_OPTION_ARG_STRING, &arguments->profile,
		 "kubelet version to behave like (1.36)", "VERSION"},
		{"seed", 0, 0, G_OPTION_ARG_INT, &arguments->seed, "of the random choices (1)",
		 "N"},
		{"time-scale", 0, 0, G_OPTION_ARG_DOUBLE, &arguments->time_scale,
		 "grace and status periods pass N times faster (1)", "N"},
		{"show-devices", 0, 0, G_OPTION_ARG_INT, &arguments->show_devices,
		 "show lists of up to N devices in full (32)", "N"},
		{"answer-delay", 0, 0, G_OPTION_ARG_INT, &arguments->answer_delay,
		 "answer each Register that much later (0)", "MS"},
		{"text", 0, 0, G_OPTION_ARG_NONE, &arguments->text, "lines for people", NULL},
		{"list-profiles", 0, 0, G_OPTION_ARG_NONE, &arguments->list_profiles,
		 "show the profiles", NULL},
		{"version", 0, 0, G_OPTION_ARG_NONE, &arguments->version, "show the version", NULL},
		G_OPTION_ENTRY_NULL};
	g_autoptr(GOptionContext) context = g_option_context_new("- a kubelet for device plugins");
	g_autofree char *help = sim_commands_help();
	g_option_context_set_description(context, help);
	g_option_context_add_main_entries(context, entries, NULL);
	return g_option_context_parse(context, argc, argv, error);
}

static void free_arguments(struct arguments *arguments)
{
	g_free(arguments->dir);
	g_free(arguments->dev_root);
	g_free(arguments->profile);
	g_free(arguments->registry_dir);
	g_free(arguments->pod_resources);
}

/* --- main --- */

static void emit_started(SimEvents *events, const struct arguments *arguments)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree char *time = g_date_time_format_iso8601(now);
	const char *profile = arguments->profile ? arguments->profile : DEFAULT_PROFILE;
	sim_emit(events, "started",
		 json_pack("{s:s, s:s, s:o, s:i}", "time", time, "profile", profile, "dir",
			   sim_json_text(arguments->dir), "seed", arguments->seed));
}

static int run(const struct arguments *arguments)
{
	enum sim_format format = arguments->text ? SIM_FORMAT_TEXT : SIM_FORMAT_JSON;
	g_autoptr(SimEvents) events = sim_events_new(stdout, format);
	g_autoptr(GError) error = NULL;
	struct program program = {0};
	Rpc *rpc = rpc_new();
	program.sim = sim_new(rpc, &arguments->options, events);
	program.commands = sim_commands_new(program.sim, quit, &program);
	guint signals[] = {g_unix_signal_add(SIGINT, on_signal, &program),
			   g_unix_signal_add(SIGTERM, on_signal, &program)};
	emit_started(events, arguments);
	if (!sim_start(program.sim, &error)) {
		g_printerr("rdmadp-kubelet: %s\n", error->message);
		quit(&program);
	} else {
		open_input(&program);
	}
	while (!program.ended)
		g_main_context_iteration(NULL, TRUE);
	for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
		g_source_remove(signals[i]);
	g_clear_pointer(&program.input, g_io_channel_unref);
	rpc_free(rpc);
	if (error)
		return EXIT_USAGE;
	return sim_events_bad_verdicts(events) > 0 ? EXIT_BAD_VERDICT : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.seed = 1, .show_devices = 32, .time_scale = 1.0};
	g_autoptr(GError) error = NULL;
	int status = EXIT_SUCCESS;
	if (!parse(&argc, &argv, &arguments, &error)) {
		status = EXIT_USAGE;
	} else if (arguments.version) {
		g_print("rdmadp-kubelet " RDMADP_VERSION "\n");
	} else if (arguments.list_profiles) {
		g_autofree char *table = sim_profile_table();
		g_print("%s", table);
	} else {
		status = check_arguments(&arguments, &error) ? run(&arguments) : EXIT_USAGE;
	}
	if (error)
		g_printerr("rdmadp-kubelet: %s\n", error->message);
	free_arguments(&arguments);
	return status;
}
