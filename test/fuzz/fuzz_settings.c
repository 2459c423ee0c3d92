/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <stdint.h>

#include "edge/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* The library forgets the text before a syntax error. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autoptr(GPtrArray) findings = findings_new();
	/* Nothing can be included from there. */
	g_autoptr(Settings) settings = settings_parse(text, size, "/nonexistent", findings);
	g_assert_cmpint(settings == NULL, ==, findings_have_error(findings));
	if (settings == NULL)
		return 0;
	g_assert_cmpint(settings->sysfs_root[0], ==, '/');
	g_assert_true(settings->poll_s >= 0 && settings->poll_s <= 86400);
	g_assert_cmpint(settings->missing_scans, >=, 1);
	return 0;
}
