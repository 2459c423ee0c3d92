/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <stdint.h>

#include "edge/resource_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_finding(const struct finding *finding)
{
	g_assert_true(g_utf8_validate(finding->text, -1, NULL));
	for (const char *at = finding->text; *at != '\0'; at++)
		g_assert_false(g_ascii_iscntrl(*at));
}

static void check_resource(ResourceConfig *config)
{
	g_assert_nonnull(config->full_name);
	g_assert_nonnull(config->bus);
	g_assert_cmpuint(config->selectors->len, >, 0);
	g_assert_true(resource_config_equal(config, config));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GPtrArray) findings = findings_new();
	g_autoptr(ResourceFile) file =
		resource_file_parse((const char *)data, (gsize)size, findings);
	g_assert_cmpint(file == NULL, ==, findings_have_error(findings));
	for (guint i = 0; i < findings->len; i++)
		check_finding(g_ptr_array_index(findings, i));
	for (guint i = 0; file != NULL && i < file->resources->len; i++)
		check_resource(g_ptr_array_index(file->resources, i));
	return 0;
}
