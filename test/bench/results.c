/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/results.h"

#include <math.h>

struct row {
	char *name;
	const char *unit;
	GArray *values[SUBJECTS]; /* double */
};

struct results {
	GPtrArray *rows;
};

const char *const subject_names[SUBJECTS] = {"floor", "rdmadp"};

static void row_free(gpointer data)
{
	struct row *row = data;

	for (int i = 0; i < SUBJECTS; i++)
		g_array_unref(row->values[i]);
	g_free(row->name);
	g_free(row);
}

Results *results_new(void)
{
	Results *results = g_new0(Results, 1);

	results->rows = g_ptr_array_new_with_free_func(row_free);
	return results;
}

void results_free(Results *results)
{
	if (!results)
		return;
	g_ptr_array_unref(results->rows);
	g_free(results);
}

static struct row *find_row(Results *results, const char *name)
{
	for (guint i = 0; i < results->rows->len; i++) {
		struct row *row = g_ptr_array_index(results->rows, i);

		if (g_str_equal(row->name, name))
			return row;
	}
	return NULL;
}

static struct row *add_row(Results *results, const char *name, const char *unit)
{
	struct row *row = g_new0(struct row, 1);

	row->name = g_strdup(name);
	row->unit = unit;
	for (int i = 0; i < SUBJECTS; i++)
		row->values[i] = g_array_new(FALSE, FALSE, sizeof(double));
	g_ptr_array_add(results->rows, row);
	return row;
}

void results_add(Results *results, int subject, const char *name, const char *unit, double value)
{
	struct row *row = find_row(results, name);

	if (!row)
		row = add_row(results, name, unit);
	g_array_append_val(row->values[subject], value);
}

static int compare(gconstpointer a, gconstpointer b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

double results_percentile(GArray *doubles, double share)
{
	if (doubles->len == 0)
		return (double)NAN;
	g_array_sort(doubles, compare);
	guint index = (guint)ceil(share * doubles->len);

	return g_array_index(doubles, double, index > 0 ? index - 1 : 0);
}

static char *format_value(GArray *values)
{
	if (values->len == 0)
		return g_strdup("-");
	double value = results_percentile(values, 0.5);

	return g_strdup_printf("%.*f", value < 100 ? 2 : 0, value);
}

static char *format_difference(const struct row *row)
{
	if (row->values[SUBJECT_FLOOR]->len == 0 || row->values[SUBJECT_DAEMON]->len == 0)
		return g_strdup("");
	double floor = results_percentile(row->values[SUBJECT_FLOOR], 0.5);
	double daemon = results_percentile(row->values[SUBJECT_DAEMON], 0.5);

	return g_strdup_printf("%+.*f (x %.2f)", fabs(daemon - floor) < 100 ? 2 : 0, daemon - floor,
			       daemon / floor);
}

void results_print_table(const Results *results)
{
	g_print("| %-50s | %-7s | %8s | %8s | %-18s |\n", "", "", subject_names[SUBJECT_FLOOR],
		subject_names[SUBJECT_DAEMON], "difference");
	g_print("|---|---|--:|--:|---|\n");
	for (guint i = 0; i < results->rows->len; i++) {
		const struct row *row = g_ptr_array_index(results->rows, i);
		g_autofree char *floor = format_value(row->values[SUBJECT_FLOOR]);
		g_autofree char *daemon = format_value(row->values[SUBJECT_DAEMON]);
		g_autofree char *difference = format_difference(row);

		g_print("| %-50s | %-7s | %8s | %8s | %-18s |\n", row->name, row->unit, floor,
			daemon, difference);
	}
}

static void print_values(int subject, GArray *values)
{
	g_print(", \"%s\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f, \"rounds\": %u}",
		subject_names[subject], results_percentile(values, 0.5),
		results_percentile(values, 0), results_percentile(values, 1), values->len);
}

void results_print_json(const Results *results)
{
	g_print("[");
	for (guint i = 0; i < results->rows->len; i++) {
		const struct row *row = g_ptr_array_index(results->rows, i);

		g_print("%s\n {\"name\": \"%s\", \"unit\": \"%s\"", i ? "," : "", row->name,
			row->unit);
		for (int subject = 0; subject < SUBJECTS; subject++)
			if (row->values[subject]->len > 0)
				print_values(subject, row->values[subject]);
		g_print("}");
	}
	g_print("\n]\n");
}
