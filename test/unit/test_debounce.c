/* SPDX-License-Identifier: Apache-2.0 */
#include "model/debounce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS G_GINT64_CONSTANT(1000)

/* When scans come, in milliseconds, if events come at 'events' (each a time, with an f
 * behind it for one that is to be followed). */
static char *scans(const char *events, gint64 end_ms)
{
	g_auto(GStrv) list = g_strsplit(events, " ", -1);
	g_autoptr(GString) text = g_string_new(NULL);
	struct debounce debounce = {0};
	gsize next = 0;

	for (gint64 now = 1; now <= end_ms; now++) {
		char *rest = NULL;

		if (list[next] != NULL && g_ascii_strtoll(list[next], &rest, 10) == now) {
			debounce_note(&debounce, *rest == 'f', now * MS);
			next++;
		}
		if (debounce_due(&debounce) >= 0 && debounce_due(&debounce) <= now * MS) {
			assert_true(debounce_take(&debounce, now * MS));
			g_string_append_printf(text, "%s%" G_GINT64_FORMAT,
					       text->len > 0 ? " " : "", now);
		} else {
			assert_false(debounce_take(&debounce, now * MS));
		}
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static void a_scan_comes_when_events_pause(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *events;
		const char *scans;
	} table[] = {
		{"", ""},
		{"10", "110"},
		{"10 60 150", "250"},
		{"10 200", "110 300"},
		/* a stream of events has a limit */
		{"10 100 190 280 370 460 550 640 730 820 910 1000 1090 1180", "1010 1280"},
		/* what a device brings with it may come late */
		{"10f", "110 1010 5010 30010"},
		{"10f 50", "150 1010 5010 30010"},
		{"10f 960", "110 1010 1060 5010 30010"},
		{"10f 4000f", "110 1010 4100 5000 9000 34000"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *found = scans(table[i].events, 40000);

		assert_string_equal(found, table[i].scans);
	}
}

static void the_first_of_a_burst_is_told(G_GNUC_UNUSED void **state)
{
	struct debounce debounce = {0};

	assert_true(debounce_note(&debounce, FALSE, 10 * MS));
	assert_false(debounce_note(&debounce, FALSE, 20 * MS));
	assert_true(debounce_take(&debounce, 120 * MS));
	assert_int_equal(debounce_due(&debounce), -1);
	assert_true(debounce_note(&debounce, FALSE, 130 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scan_comes_when_events_pause),
		cmocka_unit_test(the_first_of_a_burst_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
