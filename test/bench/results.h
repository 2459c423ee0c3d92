/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a run: named rows, a column for each program, a value for each round. */
#pragma once

#include <glib.h>

enum { SUBJECT_FLOOR, SUBJECT_DAEMON, SUBJECTS };
extern const char *const subject_names[SUBJECTS];

typedef struct results Results;

Results *results_new(void);
void results_free(Results *results);
/* Rows keep the order in which they first come. */
void results_add(Results *results, int subject, const char *name, const char *unit, double value);
/* Medians over the rounds, as a table that README.md can take. */
void results_print_table(const Results *results);
void results_print_json(const Results *results);

/* The value that 'share' (0 to 1) of the values do not exceed. Sorts them. */
double results_percentile(GArray *doubles, double share);
