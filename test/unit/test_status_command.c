/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* As a daemon of another version, or something else on the socket, may send them. */
static const char *const snapshots[] = {
	"{}",
	"[]",
	"1",
	"{\"pods\":[]}",
	"{\"daemon\":[],\"configuration\":3,\"pods\":3}",
	"{\"buses\":[1,null,{}],\"resources\":[null,{\"devices\":3,\"hcas\":[5,{}]}]}",
	"{\"ready\":1,\"notReady\":[1,{},null]}",
	"{\"ready\":false,\"notReady\":{}}",
	"{\"resources\":[{\"name\":1,\"registration\":[],\"devices\":{\"renumbered\":[2]}}]}",
};

static void snapshots_of_another_form_are_shown_as_far_as_they_go(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(snapshots); i++) {
		g_autoptr(JsonValue) snapshot =
			json_parse(snapshots[i], strlen(snapshots[i]), NULL);
		g_autofree char *text = NULL;

		print_message("%s\n", snapshots[i]);
		assert_non_null(snapshot);
		text = status_command_text(snapshot, 0);
		assert_non_null(strstr(text, "pod"));
	}
}

/* No headings and no gap where there is nothing to show. */
static void an_empty_table_takes_no_place(void **state)
{
	static const char line[] = "{\"buses\":[],\"resources\":[],\"pods\":[]}";
	g_autoptr(JsonValue) snapshot = json_parse(line, strlen(line), NULL);
	g_autofree char *text = status_command_text(snapshot, 0);

	(void)state;
	assert_null(strstr(text, "\n\n\n"));
	assert_null(strstr(text, "RESOURCE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_of_another_form_are_shown_as_far_as_they_go),
		cmocka_unit_test(an_empty_table_takes_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
