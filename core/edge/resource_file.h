/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource file (JSON): reads, checks all of it and reports every error, not
 * only the first. rdmadp-resources(5) describes the format for users.
 */
#pragma once

#include <glib.h>

#include "model/resource_config.h"

enum finding_level { FINDING_WARNING, FINDING_ERROR };

/* One thing wrong with a configuration file. The text names the path
 * (configList[0].selectors.deviceIDs[1]) or line and column, the value, the rule
 * and, where it can, the remedy. */
struct finding {
	enum finding_level level;
	char *text;
};

void finding_free(struct finding *finding);

/* Appends a finding; printf-like. */
void findings_add(GPtrArray *findings, enum finding_level level, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
gboolean findings_have_error(GPtrArray *findings);

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
