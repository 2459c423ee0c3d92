/* SPDX-License-Identifier: Apache-2.0 */
/* What a check of the configuration found: errors and warnings, in order. */
#pragma once

#include <glib.h>

enum finding_level { FINDING_WARNING, FINDING_ERROR };

/* One thing wrong with a configuration file. The text names the path
 * (configList[0].selectors.deviceIDs[1]) or line and column, the value, the rule
 * and, where it can, the remedy; the file it does not name. One line, safe to print. */
struct finding {
	enum finding_level level;
	char *where; /* the path or line with which the text begins; NULL if it has none */
	char *text;
};

/* An empty list of findings. */
GPtrArray *findings_new(void);
void finding_free(struct finding *finding);

/* Appends a finding; printf-like. */
void findings_add(GPtrArray *findings, enum finding_level level, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
/* Appends one about a place; its text is "where: …". */
void findings_add_at(GPtrArray *findings, enum finding_level level, const char *where,
		     const char *format, ...) G_GNUC_PRINTF(4, 5);
void findings_add_va(GPtrArray *findings, enum finding_level level, const char *where,
		     const char *format, va_list args) G_GNUC_PRINTF(4, 0);

guint findings_count(GPtrArray *findings, enum finding_level level);
gboolean findings_have_error(GPtrArray *findings);
