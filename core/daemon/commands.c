/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/commands.h"

#include <stdio.h>

#include "edge/log.h"

static void print_findings(const char *path, GPtrArray *findings)
{
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);

		if (finding->level == FINDING_ERROR)
			fprintf(stderr, "%s: %s\n", path, finding->text);
	}
	g_ptr_array_set_size(findings, 0);
}

Survey *commands_survey(const Options *options, gboolean need_file)
{
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(Settings) settings = options_settings(options, findings);
	g_autoptr(ResourceFile) file = NULL;

	print_findings(options_config(options), findings);
	if (settings == NULL)
		return NULL;
	/* The answer is the table; a backend's remarks would only be in its way. */
	log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL);
	if (need_file || g_file_test(settings->resources, G_FILE_TEST_EXISTS)) {
		file = resource_file_read(settings->resources, findings);
		print_findings(settings->resources, findings);
		if (file == NULL)
			return NULL;
	}
	return survey_take(settings, file);
}
