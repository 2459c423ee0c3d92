/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned columns for people. */
#pragma once

#include <glib.h>

typedef struct table Table;

/* The columns' headings, NULL-terminated. */
Table *table_new(const char *const *headings);
void table_free(Table *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* One cell for each column, in order; NULL or "" is shown as "-". Copied. */
void table_add(Table *table, const char *const *cells);
/* The whole table, every line ended by a newline and indented by 'indent' spaces; a
 * column in which no row has anything is left out. "" if there are no rows. */
char *table_text(const Table *table, guint indent);
