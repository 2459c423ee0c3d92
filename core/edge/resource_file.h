/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource file (JSON): reads, checks all of it and reports every error, not
 * only the first. rdmadp-resources(5) describes the format for users.
 */
#pragma once

#include <glib.h>

#include "model/finding.h"
#include "model/resource_config.h"

typedef struct resource_file ResourceFile;

struct resource_file {
	int rescan_s; /* periodicUpdateInterval: default 60, 0 = none */
	int fault_detect_s; /* faultDetectPeriod: -1 = the daemon's setting, 0 = none */
	GPtrArray *resources; /* ResourceConfig *, in file order */
};

/* NULL if the file cannot be used; then at least one finding is an error.
 * 'findings' (struct finding *, with finding_free) collects errors and warnings. */
ResourceFile *resource_file_read(const char *path, GPtrArray *findings);
ResourceFile *resource_file_parse(const char *text, gsize length, GPtrArray *findings);
void resource_file_free(ResourceFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResourceFile, resource_file_free)
