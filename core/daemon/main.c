/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "daemon/check_config.h"
#include "daemon/commands.h"
#include "daemon/daemon.h"
#include "daemon/options.h"
#include "edge/rehearsal.h"
#include "edge/startup.h"

/* Exit status of a command line that is wrong, as the peers' programs have it. */
#define EXIT_USAGE 2

static const struct command {
	const char *name;
	int (*run)(const Options *options);
	guint max_words; /* the command itself and its arguments */
} commands[] = {
	{"check-config", check_config_run, 2},
	{"devices", command_devices, 1},
	{"explain", command_explain, 2},
	{"status", command_status, 1},
};

static const struct command *command_find(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

static int dispatch(const Options *options)
{
	const struct command *command;

	if (options->version) {
		puts("rdmadp " RDMADP_VERSION);
		return 0;
	}
	if (options->words[0] == NULL)
		return daemon_run(options);
	command = command_find(options->words[0]);
	if (command != NULL && g_strv_length(options->words) <= command->max_words)
		return command->run(options);
	if (command != NULL)
		fprintf(stderr,
			"rdmadp: '%s' is an argument too many for '%s'; see rdmadp --help\n",
			options->words[command->max_words], command->name);
	else
		fprintf(stderr, "rdmadp: '%s' is no command; see rdmadp --help\n",
			options->words[0]);
	return EXIT_USAGE;
}

/* Who reads the output of a command must not take a part of it for the whole. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fputs("rdmadp: the output could not be written whole\n", stderr);
	return status == 0 ? 1 : status;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Options) options = NULL;

	startup_fill_descriptors();
	startup_set_umask();
	if (argc > 1 && strcmp(argv[1], "rehearse") == 0)
		return rehearsal_main(argc - 1, argv + 1);
	options = options_parse(argc, argv, &error);
	if (options == NULL) {
		fprintf(stderr, "rdmadp: %s; see rdmadp --help\n", error->message);
		return EXIT_USAGE;
	}
	return finish(dispatch(options));
}
