/* SPDX-License-Identifier: Apache-2.0 */
/* Something that a plugin does wrong: becomes a verdict. */
#pragma once

#include <glib.h>

struct sim_problem {
	const char *rule; /* a short constant name, listed in README.md */
	char *text; /* what was seen, and what a kubelet makes of it */
};

void sim_problem_free(struct sim_problem *problem);
/* An array that owns its problems. */
GPtrArray *sim_problems_new(void);
void sim_problems_add(GPtrArray *problems, const char *rule, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
/* TRUE if one of them is of that rule. */
gboolean sim_problems_have(const GPtrArray *problems, const char *rule);
