/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. rdmadp(8) describes it. */
#pragma once

#include <glib.h>

#include "edge/settings.h"

typedef struct options Options;

struct options {
	char *config; /* --config; NULL = the default path, which may be missing */
	char *resources; /* --resources or --config-file */
	char *kubelet_dir;
	char *backend_dir;
	char *log_level;
	char *sysfs; /* --sysfs */
	char *from_sriov; /* --from-sriov */
	gboolean json;
	gboolean no_node; /* --no-node: check-config looks at the files only */
	gboolean use_cdi;
	gboolean version;
	GStrv words; /* command and its arguments; may be empty */
};

/* Accepts the single-dash long forms of the peers, too (-config-file). NULL and an
 * error that says what is wrong with the command line. */
Options *options_parse(int argc, char **argv, GError **error);
void options_free(Options *options);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Options, options_free)

/* The settings file that is read. */
const char *options_config(const Options *options);

/* Settings with the command line on top. NULL if a finding is an error. The options
 * themselves were checked when they were parsed. A file that is missing counts as empty,
 * unless --config names it or 'must_exist'. */
Settings *options_settings(const Options *options, gboolean must_exist, GPtrArray *findings);
