/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/commands.h"

#include <stdio.h>

#include "edge/log.h"

void commands_print_errors(const char *path, GPtrArray *findings)
{
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);

		if (finding->level == FINDING_ERROR)
			fprintf(stderr, "%s: %s\n", path, finding->text);
	}
	g_ptr_array_set_size(findings, 0);
}

/* A backend's remarks would only be in its way. */
void commands_be_quiet(void)
{
	log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL);
}

Settings *commands_settings(const Options *options)
{
	g_autoptr(GPtrArray) findings = findings_new();
	Settings *settings = options_settings(options, FALSE, findings);

	commands_print_errors(options_config(options), findings);
	commands_be_quiet();
	if (settings != NULL && !g_file_test(settings->sysfs_root, G_FILE_TEST_IS_DIR)) {
		fprintf(stderr, "rdmadp: '%s' is no directory: there is no sysfs to look at\n",
			settings->sysfs_root);
		g_clear_pointer(&settings, settings_free);
	}
	return settings;
}

gboolean commands_use_state(const Options *options)
{
	return options->sysfs == NULL;
}

void commands_write_left_out(JsonWriter *json, const char *name, const struct survey_bus *bus)
{
	json_begin_array(json, name);
	for (guint i = 0; i < bus->left_out->len; i++)
		json_add_string(json, NULL, bus->left_out->pdata[i]);
	json_end_array(json);
}
