/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <string.h>

#define SUMMARY                                                                                    \
	"Without a command: runs the device plugin.\n\n"                                           \
	"Commands:\n"                                                                              \
	"  check-config [FILE]      check both configuration files, and what they mean here\n"     \
	"  devices                  every RDMA device of this node and who takes it\n"             \
	"  explain [RESOURCE]       for every device, why a resource takes or refuses it\n"        \
	"  status                   what the running daemon is doing, and which pods hold what"

static GOptionContext *options_context(Options *options)
{
	const GOptionEntry entries[] = {
		{"config", 'c', 0, G_OPTION_ARG_FILENAME, &options->config,
		 "settings file (default " SETTINGS_DEFAULT_PATH ")", "FILE"},
		{"resources", 'r', 0, G_OPTION_ARG_FILENAME, &options->resources,
		 "resource file, JSON", "FILE"},
		{"config-file", 0, 0, G_OPTION_ARG_FILENAME, &options->resources,
		 "the same as --resources", "FILE"},
		{"use-cdi", 0, 0, G_OPTION_ARG_NONE, &options->use_cdi,
		 "answer with CDI devices (not available yet)", NULL},
		{"kubelet-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->kubelet_dir,
		 "the kubelet's device-plugins directory", "DIR"},
		{"backend-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->backend_dir,
		 "where the backends are", "DIR"},
		{"log-level", 0, 0, G_OPTION_ARG_STRING, &options->log_level,
		 "error, warning, info or debug", "LEVEL"},
		{"sysfs", 0, 0, G_OPTION_ARG_FILENAME, &options->sysfs, "stands for /sys", "DIR"},
		{"from-sriov", 0, 0, G_OPTION_ARG_FILENAME, &options->from_sriov,
		 "check-config: print the resource file that a configuration of the SR-IOV "
		 "network device plugin makes",
		 "FILE"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "print JSON", NULL},
		{"no-node", 0, 0, G_OPTION_ARG_NONE, &options->no_node,
		 "check-config: look at the files only", NULL},
		{"version", 'v', 0, G_OPTION_ARG_NONE, &options->version, "print the version",
		 NULL},
		{G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->words, NULL,
		 "[COMMAND]"},
		G_OPTION_ENTRY_NULL,
	};
	GOptionContext *context = g_option_context_new(NULL);

	g_option_context_set_summary(context, SUMMARY);
	g_option_context_add_main_entries(context, entries, NULL);
	return context;
}

/* "-config-file" is the spelling of the peers' documentation. */
static char *argument_normalise(const char *argument)
{
	static const char *const long_names[] = {"config-file", "use-cdi", "version"};
	gsize length = strcspn(argument, "=");

	for (gsize i = 0; i < G_N_ELEMENTS(long_names); i++)
		if (argument[0] == '-' && length == strlen(long_names[i]) + 1 &&
		    strncmp(argument + 1, long_names[i], length - 1) == 0)
			return g_strconcat("-", argument, NULL);
	return g_strdup(argument);
}

static gboolean override(Settings *settings, const char *option, const char *path,
			 const char *value, GError **error)
{
	if (value == NULL || settings_set(settings, path, value, error))
		return TRUE;
	g_prefix_error(error, "--%s: ", option);
	return FALSE;
}

/* The settings want absolute paths, a command line is typed somewhere. */
static gboolean override_path(Settings *settings, const char *option, const char *path,
			      const char *value, GError **error)
{
	g_autofree char *absolute = NULL;

	if (value != NULL && *value != '\0')
		absolute = g_canonicalize_filename(value, NULL);
	return override(settings, option, path, absolute != NULL ? absolute : value, error);
}

static gboolean options_apply(const Options *options, Settings *settings, GError **error)
{
	return override_path(settings, "resources", "resources", options->resources, error) &&
	       override_path(settings, "kubelet-dir", "kubelet.device_plugins_dir",
			     options->kubelet_dir, error) &&
	       override_path(settings, "backend-dir", "backend_dir", options->backend_dir, error) &&
	       override_path(settings, "sysfs", "sysfs_root", options->sysfs, error) &&
	       override(settings, "log-level", "log.level", options->log_level, error);
}

/* An option that would have no effect was meant for something else. */
static gboolean options_fit(const Options *options, GError **error)
{
	gboolean checks = g_strcmp0(options->words[0], "check-config") == 0;
	const char *wrong = NULL;

	if (options->from_sriov != NULL && !checks)
		wrong = "--from-sriov is for the command check-config only";
	else if (options->no_node && !checks)
		wrong = "--no-node is for the command check-config only";
	else if (options->json && options->words[0] == NULL)
		wrong = "--json is for commands only";
	else if (options->from_sriov != NULL && options->words[1] != NULL)
		wrong = "--from-sriov has the file to read, no other one can be checked with it";
	if (wrong != NULL)
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, wrong);
	return wrong == NULL;
}

static gboolean options_check(const Options *options, GError **error)
{
	g_autoptr(Settings) settings = settings_new();

	if (options->use_cdi) {
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				    "--use-cdi: CDI is not available in this version; without it "
				    "containers get their device files from the kubelet");
		return FALSE;
	}
	return options_fit(options, error) && options_apply(options, settings, error);
}

Options *options_parse(int argc, char **argv, GError **error)
{
	g_autoptr(Options) options = g_new0(Options, 1);
	g_autoptr(GOptionContext) context = options_context(options);
	g_auto(GStrv) arguments = g_new0(char *, (gsize)argc + 1);

	for (int i = 0; i < argc; i++)
		arguments[i] = argument_normalise(argv[i]);
	if (!g_option_context_parse_strv(context, &arguments, error))
		return NULL;
	if (options->words == NULL)
		options->words = g_new0(char *, 1);
	return options_check(options, error) ? g_steal_pointer(&options) : NULL;
}

void options_free(Options *options)
{
	if (options == NULL)
		return;
	g_free(options->config);
	g_free(options->resources);
	g_free(options->kubelet_dir);
	g_free(options->backend_dir);
	g_free(options->log_level);
	g_free(options->sysfs);
	g_free(options->from_sriov);
	g_strfreev(options->words);
	g_free(options);
}

const char *options_config(const Options *options)
{
	return options->config != NULL ? options->config : SETTINGS_DEFAULT_PATH;
}

Settings *options_settings(const Options *options, gboolean must_exist, GPtrArray *findings)
{
	g_autoptr(Settings) settings = settings_read(
		options_config(options), must_exist || options->config != NULL, findings);

	/* options_parse has seen that they can be applied. */
	if (settings != NULL)
		options_apply(options, settings, NULL);
	return g_steal_pointer(&settings);
}
