/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdmadp-backend-check: runs the contract of <rdmadp/backend.h> against a backend and
 * says what breaks it. rdmadp-backend-check(1) describes it.
 */
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "support/dump.h"

static const struct {
	const char *name;
	check_fn check;
} checks[] = {
	{"empty bus", check_empty}, {"scan", check_scan},	    {"devices", check_devices},
	{"emit", check_emit},	    {"match", check_match},	    {"health", check_health},
	{"events", check_events},   {"instances", check_instances}, {"fini", check_fini},
};

static char *scan_text(const struct options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) log = g_string_new(NULL);
	const struct rdmadp_backend *backend = subject_load(options, &error);
	char *text = NULL;

	report_step("a scan and the health of each device");
	if (backend)
		text = dump_scan(backend, options->sysfs_root, options->dev_root, log, &error);
	fputs(log->str, stderr);
	if (!text)
		report_fail("%s", error->message);
	return text;
}

static void print_dump(const struct options *options)
{
	g_autofree char *text = scan_text(options);

	if (text)
		fputs(text, stdout);
}

static void check_expected(const struct options *options)
{
	g_autofree char *text = scan_text(options);
	g_autoptr(GError) error = NULL;

	if (!text)
		return;
	if (dump_expect(text, options->expect, &error))
		report_ok("the devices are those of '%s'", options->expect);
	else
		report_fail("%s", error->message);
}

static void run_all(const struct options *options)
{
	report_run("file", check_file, options);
	/* What cannot be loaded cannot be checked further. */
	if (!report_run("load", check_load, options))
		return;
	for (gsize i = 0; i < G_N_ELEMENTS(checks); i++)
		report_run(checks[i].name, checks[i].check, options);
	if (options->expect)
		report_run("expected devices", check_expected, options);
}

/* Splits 'x/foo.so' in the directory and the name that the core would be given. */
static gboolean set_path(struct options *options, const char *path)
{
	g_autofree char *file = g_path_get_basename(path);

	if (!g_str_has_suffix(file, ".so"))
		return FALSE;
	options->path = g_canonicalize_filename(path, NULL);
	options->directory = g_path_get_dirname(options->path);
	options->name = g_strndup(file, strlen(file) - strlen(".so"));
	return TRUE;
}

/* One that was named must be there: a tree without devices would pass in silence. */
static gboolean set_root(char **root, const char *option, const char *fallback, GError **error)
{
	char *full = g_canonicalize_filename(*root ? *root : fallback, NULL);
	gboolean is_usable = *root == NULL || g_file_test(full, G_FILE_TEST_IS_DIR);

	g_free(*root);
	*root = full;
	if (!is_usable)
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "%s '%s' is no directory: there is nothing to look at", option, full);
	return is_usable;
}

static gboolean parse_options(int *argc, char ***argv, struct options *options, gboolean *dump,
			      GError **error)
{
	int limit_s = 60;
	const GOptionEntry entries[] = {{"sysfs", 0, 0, G_OPTION_ARG_FILENAME, &options->sysfs_root,
					 "Directory that stands for /sys", "DIR"},
					{"dev", 0, 0, G_OPTION_ARG_FILENAME, &options->dev_root,
					 "Directory that stands for /dev", "DIR"},
					{"expect", 0, 0, G_OPTION_ARG_FILENAME, &options->expect,
					 "Compare the devices with this file, too", "FILE"},
					{"dump", 0, 0, G_OPTION_ARG_NONE, dump,
					 "Print the devices and check nothing", NULL},
					{"limit", 0, 0, G_OPTION_ARG_INT, &limit_s,
					 "Seconds that a check may take", "SECONDS"},
					{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL}};
	g_autoptr(GOptionContext) context = g_option_context_new("FILE.so");

	g_option_context_set_summary(context,
				     "Runs the contract of rdmadp's backends against one.");
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, argc, argv, error))
		return FALSE;
	if (*argc != 2 || !set_path(options, (*argv)[1])) {
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				    "give one backend, a file whose name ends in .so");
		return FALSE;
	}
	if (limit_s <= 0) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "--limit %d is less than one second", limit_s);
		return FALSE;
	}
	options->limit_s = (guint)limit_s;
	return set_root(&options->sysfs_root, "--sysfs", "/sys", error) &&
	       set_root(&options->dev_root, "--dev", "/dev", error);
}

static void clear_options(struct options *options)
{
	g_free(options->directory);
	g_free(options->name);
	g_free(options->path);
	g_free(options->sysfs_root);
	g_free(options->dev_root);
	g_free(options->empty_root);
	g_free(options->expect);
}

static int run(struct options *options, gboolean dump)
{
	if (dump)
		return report_run("dump", print_dump, options) ? EXIT_SUCCESS : EXIT_FAILURE;
	options->empty_root = g_dir_make_tmp("rdmadp-check-XXXXXX", NULL);
	if (!options->empty_root) {
		fputs("rdmadp-backend-check: there is no temporary directory\n", stderr);
		return 2;
	}
	run_all(options);
	g_rmdir(options->empty_root);
	return report_end() ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Who reads the report must not take a part of it for the whole. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fputs("rdmadp-backend-check: the output could not be written whole\n", stderr);
	return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	g_autoptr(GError) error = NULL;
	gboolean dump = FALSE;
	int status = 2;

	if (parse_options(&argc, &argv, &options, &dump, &error))
		status = run(&options, dump);
	else
		fprintf(stderr, "rdmadp-backend-check: %s; see rdmadp-backend-check --help\n",
			error->message);
	clear_options(&options);
	return finish(status);
}
