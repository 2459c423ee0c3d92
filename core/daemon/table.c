/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/table.h"

#include <string.h>

struct table {
	guint n_columns;
	GPtrArray *rows; /* GStrv; the first has the headings */
};

Table *table_new(const char *const *headings)
{
	Table *table = g_new0(Table, 1);

	table->n_columns = g_strv_length((char **)headings);
	table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	table_add(table, headings);
	return table;
}

void table_free(Table *table)
{
	if (table == NULL)
		return;
	g_ptr_array_unref(table->rows);
	g_free(table);
}

void table_add(Table *table, const char *const *cells)
{
	char **row = g_new0(char *, table->n_columns + 1);

	for (guint i = 0; i < table->n_columns; i++)
		row[i] = g_strdup(cells[i] != NULL && cells[i][0] != '\0' ? cells[i] : "-");
	g_ptr_array_add(table->rows, row);
}

/* In characters; 0 for a column without any value. */
static glong column_width(const Table *table, guint column)
{
	glong width = 0;
	gboolean filled = FALSE;

	for (guint i = 0; i < table->rows->len; i++) {
		char **row = g_ptr_array_index(table->rows, i);

		width = MAX(width, g_utf8_strlen(row[column], -1));
		filled |= i > 0 && strcmp(row[column], "-") != 0;
	}
	return filled ? width : 0;
}

static void append_spaces(GString *text, glong n)
{
	for (glong i = 0; i < n; i++)
		g_string_append_c(text, ' ');
}

static void append_row(const Table *table, char **row, const glong *widths, GString *text)
{
	glong gap = 0;

	for (guint i = 0; i < table->n_columns; i++) {
		if (widths[i] == 0)
			continue;
		append_spaces(text, gap);
		g_string_append(text, row[i]);
		gap = widths[i] - g_utf8_strlen(row[i], -1) + 2;
	}
	g_string_append_c(text, '\n');
}

char *table_text(const Table *table, guint indent)
{
	GString *text = g_string_new(NULL);
	glong *widths = NULL;

	if (table->rows->len == 1)
		return g_string_free(text, FALSE);
	widths = g_new0(glong, table->n_columns);
	for (guint i = 0; i < table->n_columns; i++)
		widths[i] = column_width(table, i);
	for (guint i = 0; i < table->rows->len; i++) {
		append_spaces(text, (glong)indent);
		append_row(table, g_ptr_array_index(table->rows, i), widths, text);
	}
	g_free(widths);
	return g_string_free(text, FALSE);
}
