/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <string.h>

#define SUMMARY                                                                                    \
	"Without a command: runs the device plugin.\n\n"                                           \
	"Commands:\n"                                                                              \
	"  check-config [FILE]      check both configuration files, and what they mean here\n"     \
	"  devices                  every RDMA device of this node and who takes it\n"             \
	"  explain [RESOURCE]       for every device, why a resource takes or refuses it"

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
	return g_steal_pointer(&options);
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

char *options_help(void)
{
	g_autoptr(Options) options = g_new0(Options, 1);
	g_autoptr(GOptionContext) context = options_context(options);

	return g_option_context_get_help(context, TRUE, NULL);
}

const char *options_config(const Options *options)
{
	return options->config != NULL ? options->config : SETTINGS_DEFAULT_PATH;
}

static void override(Settings *settings, const char *option, const char *path, const char *value,
		     GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;

	if (value != NULL && !settings_set(settings, path, value, &error))
		findings_add(findings, FINDING_ERROR, "--%s: %s", option, error->message);
}

/* The settings want absolute paths, a command line is typed somewhere. */
static void override_path(Settings *settings, const char *option, const char *path,
			  const char *value, GPtrArray *findings)
{
	g_autofree char *absolute = NULL;

	if (value != NULL && *value != '\0')
		absolute = g_canonicalize_filename(value, NULL);
	override(settings, option, path, absolute != NULL ? absolute : value, findings);
}

Settings *options_settings(const Options *options, GPtrArray *findings)
{
	g_autoptr(Settings) settings =
		settings_read(options_config(options), options->config != NULL, findings);

	if (settings == NULL)
		return NULL;
	override_path(settings, "resources", "resources", options->resources, findings);
	override_path(settings, "kubelet-dir", "kubelet.device_plugins_dir", options->kubelet_dir,
		      findings);
	override_path(settings, "backend-dir", "backend_dir", options->backend_dir, findings);
	override_path(settings, "sysfs", "sysfs_root", options->sysfs, findings);
	override(settings, "log-level", "log.level", options->log_level, findings);
	if (options->use_cdi)
		findings_add(findings, FINDING_ERROR,
			     "--use-cdi: CDI is not available in this version; without it "
			     "containers get their device files from the kubelet");
	return findings_have_error(findings) ? NULL : g_steal_pointer(&settings);
}
