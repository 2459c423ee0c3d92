/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "daemon/check_config.h"
#include "edge/small_file.h"
#include "edge/sriov_file.h"
#include "model/finding.h"
#include "model/text.h"

#define LONGEST_PATH 4096

static char *convert(const char *path, GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	gsize length;

	text = small_file_read(path, SMALL_FILE_MIB, &length, &error);
	if (text != NULL)
		return sriov_file_convert(text, length, findings);
	findings_add(findings, FINDING_ERROR, "cannot be read: %s", error->message);
	return NULL;
}

/* Beside the resource file, which may go into a file of its own. */
static void print_findings(const char *path, GPtrArray *findings)
{
	g_autofree char *name = text_escape(path, LONGEST_PATH);

	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);

		fprintf(stderr, "%s: %s: %s\n", name,
			finding->level == FINDING_ERROR ? "error" : "warning", finding->text);
	}
}

int check_config_from_sriov(const char *path)
{
	g_autoptr(GPtrArray) findings = findings_new();
	g_autofree char *text = convert(path, findings);

	print_findings(path, findings);
	if (text != NULL)
		fputs(text, stdout);
	return findings_have_error(findings) ? 1 : 0;
}
