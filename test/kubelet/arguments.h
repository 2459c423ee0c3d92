/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of rdmadp-kubelet. */
#pragma once

#include "kubelet/scenario.h"

struct arguments {
	struct sim_options options;
	char *dir, *dev_root, *profile, *policy, *registry_dir, *pod_resources;
	int seed, show_devices, answer_delay, numa_nodes, pods_late;
	double time_scale;
	gboolean no_fsync, text, list_profiles, list_scenarios, version;

	char *scenario;
	const struct scenario_entry *entry; /* of that name; NULL: no scenario */
	struct scenario_options scenario_options;
	int count;
	char **command; /* the plugin's; NULL-terminated, or NULL */
	gboolean temporary_dir; /* made for the scenario, removed at the end */
};

/* Defaults overlaid with the command line. */
gboolean arguments_parse(struct arguments *arguments, int *argc, char ***argv, GError **error);
/* For a run: what must be there is there. Fills in the structs of options. */
gboolean arguments_check(struct arguments *arguments, GError **error);
void arguments_clear(struct arguments *arguments);
