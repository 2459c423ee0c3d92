/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/arguments.h"

#include <math.h>

#include "kubelet/sim_commands.h"
#include "support/fixture.h"

#define DEFAULT_PROFILE "1.36"
#define DEFAULT_LIMIT_S 10
/* The kubelet's own limit for its topology policies. */
#define NUMA_NODES_MAX 8

gboolean arguments_parse(struct arguments *arguments, int *argc, char ***argv, GError **error)
{
	*arguments = (struct arguments){
		.seed = 1, .show_devices = 32, .numa_nodes = 2, .time_scale = 1.0};
	arguments->scenario_options.limit_s = DEFAULT_LIMIT_S;
	arguments->scenario_options.max_growth_kib = -1;
	const GOptionEntry entries[] = {
		{"dir", 0, 0, G_OPTION_ARG_FILENAME, &arguments->dir,
		 "device-plugins directory to serve in", "DIR"},
		{"dev-root", 0, 0, G_OPTION_ARG_FILENAME, &arguments->dev_root,
		 "look allocated devices up below DIR, which stands for /dev", "DIR"},
		{"registry-dir", 0, 0, G_OPTION_ARG_FILENAME, &arguments->registry_dir,
		 "plugins_registry directory to watch for sockets", "DIR"},
		{"pod-resources", 0, 0, G_OPTION_ARG_FILENAME, &arguments->pod_resources,
		 "serve the podresources service on this socket", "PATH"},
		{"pods-late", 0, 0, G_OPTION_ARG_INT, &arguments->pods_late,
		 "podresources names no pod for so long after each start (0)", "MS"},
		{"profile", 0, 0, G_OPTION_ARG_STRING, &arguments->profile,
		 "kubelet version to behave like (1.36)", "VERSION"},
		{"topology-policy", 0, 0, G_OPTION_ARG_STRING, &arguments->policy,
		 "none, best-effort, restricted or single-numa-node (none)", "POLICY"},
		{"numa-nodes", 0, 0, G_OPTION_ARG_INT, &arguments->numa_nodes,
		 "NUMA nodes of the machine (2)", "N"},
		{"seed", 0, 0, G_OPTION_ARG_INT, &arguments->seed, "of the random choices (1)",
		 "N"},
		{"time-scale", 0, 0, G_OPTION_ARG_DOUBLE, &arguments->time_scale,
		 "grace and status periods pass N times faster (1)", "N"},
		{"show-devices", 0, 0, G_OPTION_ARG_INT, &arguments->show_devices,
		 "show lists of up to N devices in full (32)", "N"},
		{"answer-delay", 0, 0, G_OPTION_ARG_INT, &arguments->answer_delay,
		 "answer each Register that much later (0)", "MS"},
		{"no-fsync", 0, 0, G_OPTION_ARG_NONE, &arguments->no_fsync,
		 "do not wait for the disk when the checkpoint is written", NULL},
		{"text", 0, 0, G_OPTION_ARG_NONE, &arguments->text, "lines for people", NULL},
		{"list-profiles", 0, 0, G_OPTION_ARG_NONE, &arguments->list_profiles,
		 "show the profiles", NULL},
		{"list-scenarios", 0, 0, G_OPTION_ARG_NONE, &arguments->list_scenarios,
		 "show the scenarios", NULL},
		{"scenario", 0, 0, G_OPTION_ARG_STRING, &arguments->scenario,
		 "run a scenario against the plugin whose command line follows --", "NAME"},
		{"count", 0, 0, G_OPTION_ARG_INT, &arguments->count, "repetitions of the scenario",
		 "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &arguments->scenario_options.duration_s,
		 "how long the scenario's states last", "SECONDS"},
		{"limit", 0, 0, G_OPTION_ARG_DOUBLE, &arguments->scenario_options.limit_s,
		 "how long the plugin may take to be back (10)", "SECONDS"},
		{"max-growth", 0, 0, G_OPTION_ARG_INT64,
		 &arguments->scenario_options.max_growth_kib,
		 "how much the plugin's memory may grow (any)", "KIB"},
		{"version", 0, 0, G_OPTION_ARG_NONE, &arguments->version, "show the version", NULL},
		{G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &arguments->command, NULL,
		 NULL},
		G_OPTION_ENTRY_NULL};
	g_autoptr(GOptionContext) context =
		g_option_context_new("[-- PLUGIN ARGUMENTS…] - a kubelet for device plugins");
	g_autofree char *help = sim_commands_help();
	g_option_context_set_description(context, help);
	g_option_context_add_main_entries(context, entries, NULL);
	return g_option_context_parse(context, argc, argv, error);
}

#define REFUSE(error, ...)                                                                         \
	(g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, __VA_ARGS__), FALSE)

static gboolean check_scenario(struct arguments *arguments, GError **error)
{
	struct scenario_options *options = &arguments->scenario_options;
	if (!arguments->scenario)
		return arguments->command ? REFUSE(error, "'%s' is not expected without --scenario",
						   arguments->command[0])
					  : TRUE;
	arguments->entry = scenario_find(arguments->scenario);
	if (!arguments->entry)
		return REFUSE(error, "'%s' is no scenario; --list-scenarios shows them",
			      arguments->scenario);
	if (!arguments->command)
		return REFUSE(error, "'%s' needs a plugin: its command line after --",
			      arguments->scenario);
	options->command = (const char *const *)arguments->command;
	options->count = (guint)MAX(0, arguments->count);
	if (!arguments->dir) {
		arguments->dir = g_dir_make_tmp("rdmadp-kubelet-XXXXXX", error);
		arguments->temporary_dir = arguments->dir != NULL;
	}
	return arguments->dir != NULL;
}

static void make_absolute(char **path)
{
	char *absolute = *path ? g_canonicalize_filename(*path, NULL) : NULL;
	g_free(*path);
	*path = absolute;
}

static void fill_options(struct arguments *arguments, enum sim_policy policy)
{
	struct sim_options *options = &arguments->options;
	make_absolute(&arguments->dir);
	make_absolute(&arguments->registry_dir);
	*options = sim_options_default(arguments->dir);
	options->profile = sim_profile_find(arguments->profile);
	options->dev_root = arguments->dev_root;
	options->registry_dir = arguments->registry_dir;
	options->pod_resources = arguments->pod_resources;
	options->pods_late_ms = (guint)MAX(0, arguments->pods_late);
	options->seed = (guint32)arguments->seed;
	options->policy = policy;
	options->numa_nodes = (guint)arguments->numa_nodes;
	options->fsync = !arguments->no_fsync;
	options->time_scale = arguments->time_scale;
	options->show_devices = (guint)MAX(0, arguments->show_devices);
	options->answer_delay_ms = (guint)MAX(0, arguments->answer_delay);
}

gboolean arguments_check(struct arguments *arguments, GError **error)
{
	enum sim_policy policy = SIM_POLICY_NONE;
	if (!arguments->profile)
		arguments->profile = g_strdup(DEFAULT_PROFILE);
	if (!check_scenario(arguments, error))
		return FALSE;
	if (!arguments->dir)
		return REFUSE(error, "--dir is missing");
	if (!sim_profile_find(arguments->profile))
		return REFUSE(error, "'%s' is no profile; --list-profiles shows them",
			      arguments->profile);
	if (!isfinite(arguments->time_scale) || arguments->time_scale <= 0)
		return REFUSE(error, "--time-scale must be a number above 0");
	if (arguments->policy && !sim_policy_find(arguments->policy, &policy))
		return REFUSE(error, "'%s' is no policy of the topology manager",
			      arguments->policy);
	if (arguments->numa_nodes < 1 || arguments->numa_nodes > NUMA_NODES_MAX)
		return REFUSE(error, "--numa-nodes must be from 1 to %d", NUMA_NODES_MAX);
	fill_options(arguments, policy);
	return TRUE;
}

void arguments_clear(struct arguments *arguments)
{
	if (arguments->temporary_dir)
		fixture_remove(arguments->dir);
	g_free(arguments->dir);
	g_free(arguments->dev_root);
	g_free(arguments->profile);
	g_free(arguments->policy);
	g_free(arguments->registry_dir);
	g_free(arguments->pod_resources);
	g_free(arguments->scenario);
	g_strfreev(arguments->command);
}
