/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_problem.h"

#include <string.h>

void sim_problem_free(struct sim_problem *problem)
{
	if (!problem)
		return;
	g_free(problem->text);
	g_free(problem);
}

GPtrArray *sim_problems_new(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)sim_problem_free);
}

void sim_problems_add(GPtrArray *problems, const char *rule, const char *format, ...)
{
	struct sim_problem *problem = g_new0(struct sim_problem, 1);
	va_list arguments;
	va_start(arguments, format);
	problem->rule = rule;
	problem->text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_ptr_array_add(problems, problem);
}

gboolean sim_problems_have(const GPtrArray *problems, const char *rule)
{
	for (guint i = 0; i < problems->len; i++) {
		const struct sim_problem *problem = g_ptr_array_index(problems, i);
		if (strcmp(problem->rule, rule) == 0)
			return TRUE;
	}
	return FALSE;
}
