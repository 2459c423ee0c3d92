/* SPDX-License-Identifier: Apache-2.0 */
#include "model/mode_switch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/news.h"

#define MS ((gint64)1000)

/*
 * What happens, a word each, and after each '=' what follows:
 *
 *	label:S|E label:S|E+saved:S|E fixed:…   a new one
 *	want:S|E  held:ID,ID…  held:  early:…  silent  away  listed  allocated   now
 *	+N                                       N ms pass
 *	=TEXT   the state: "?" not known, "S" or "E", "d" draining, "!" the last event said
 *	        that another list follows, "@N" the kubelet is asked N ms from now (0: now)
 */
struct script {
	ModeSwitch *mode;
	gint64 now_us;
	gboolean changed;
};

static gboolean is_exclusive(const char *text)
{
	return text[0] == 'E';
}

static enum mode_saved saved_of(const char *text)
{
	const char *saved = strstr(text, "+saved:");

	if (saved == NULL)
		return MODE_SAVED_NONE;
	return saved[strlen("+saved:")] == 'E' ? MODE_SAVED_EXCLUSIVE : MODE_SAVED_SHARED;
}

static GPtrArray *ids_of(const char *text)
{
	g_auto(GStrv) ids = g_strsplit(text, ",", -1);
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (gsize i = 0; ids[i] != NULL; i++)
		if (*ids[i] != '\0')
			g_ptr_array_add(list, g_strdup(ids[i]));
	return list;
}

static gboolean take_early(struct script *script, const char *text)
{
	g_autoptr(GPtrArray) list = ids_of(text);

	return mode_switch_held_early(script->mode, list, script->now_us);
}

static gboolean take_held(struct script *script, const char *text)
{
	g_autoptr(GPtrArray) list = ids_of(text);

	return mode_switch_held(script->mode, list, list->len > 0 ? "hpc/job-0" : NULL,
				script->now_us);
}

static gboolean take_event(struct script *script, const char *name, const char *text)
{
	ModeSwitch *mode = script->mode;

	if (strcmp(name, "want") == 0)
		return mode_switch_want(mode, is_exclusive(text), script->now_us);
	if (strcmp(name, "held") == 0)
		return take_held(script, text);
	if (strcmp(name, "early") == 0)
		return take_early(script, text);
	if (strcmp(name, "silent") == 0)
		return mode_switch_silent(mode, "no answer", FALSE, script->now_us);
	if (strcmp(name, "away") == 0)
		return mode_switch_silent(mode, "no socket", TRUE, script->now_us);
	if (strcmp(name, "listed") == 0)
		mode_switch_listed(mode, script->now_us);
	else if (strcmp(name, "allocated") == 0)
		mode_switch_allocated(mode, script->now_us);
	else if (strcmp(name, "label") == 0)
		script->mode = mode_switch_new(is_exclusive(text), saved_of(text), script->now_us);
	else if (strcmp(name, "fixed") == 0)
		script->mode =
			mode_switch_new_fixed(is_exclusive(text), saved_of(text), script->now_us);
	else
		g_error("script: '%s' is not known", name);
	return FALSE;
}

static char *state_text(const struct script *script)
{
	const ModeSwitch *mode = script->mode;
	gint64 asks_us = mode_switch_asks_from(mode);
	GString *text = g_string_new(NULL);

	if (!mode_switch_is_known(mode))
		g_string_append_c(text, '?');
	else
		g_string_append_c(text, mode_switch_is_exclusive(mode) ? 'E' : 'S');
	g_string_append(text, mode_switch_is_draining(mode) ? "d" : "");
	g_string_append(text, script->changed ? "!" : "");
	if (asks_us >= 0)
		g_string_append_printf(text, "@%d", (int)(MAX(asks_us - script->now_us, 0) / MS));
	return g_string_free(text, FALSE);
}

static void run_word(struct script *script, const char *whole, const char *word)
{
	g_auto(GStrv) parts = g_strsplit(word, ":", 2);
	g_autofree char *state = NULL;

	if (*word == '+') {
		script->now_us += strtol(word + 1, NULL, 10) * MS;
		return;
	}
	if (*word != '=') {
		script->changed = take_event(script, parts[0], parts[1] == NULL ? "" : parts[1]);
		return;
	}
	state = state_text(script);
	if (strcmp(state, word + 1) != 0)
		print_error("in the script \"%s\"\n", whole);
	assert_string_equal(state, word + 1);
}

static char *run(const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	struct script script = {.now_us = 1000 * MS};
	g_autoptr(GPtrArray) list = news_new();
	GString *said = g_string_new(NULL);

	for (gsize i = 0; words[i] != NULL; i++)
		run_word(&script, text, words[i]);
	mode_switch_tell(script.mode, list);
	for (guint i = 0; i < list->len; i++)
		g_string_append_printf(said, "%s%s", i > 0 ? " | " : "",
				       ((struct news *)g_ptr_array_index(list, i))->text);
	mode_switch_free(script.mode);
	return g_string_free(said, FALSE);
}

static const char *const scripts[] = {
	/* at the start nothing is listed before the kubelet has said what pods hold */
	"label:S =?@0 held: =S!",
	"label:E =?@0 held: =E!",
	/* and what they hold decides, whatever the label says by now */
	"label:E held:rdma/hca-3,rdma/hca-4 =S!@0",
	"label:S held:0000:3b:00.0 =E!@0",
	"label:E held:0000:3b:00.0 =E!",
	"label:E+saved:E held:rdma/hca-3 =S!@0",
	"label:E+saved:S held: =E!",
	/* a label that changes meanwhile is only remembered */
	"label:S want:E =?@0 held: =E!",
	/* without its word: what was saved, or after a few silences the label */
	"label:E+saved:S silent =S!@0",
	"label:E+saved:E away =E!",
	"label:E silent =?@100 +100 =?@0 silent =?@100 silent =E!",
	/* while there is no kubelet there is no hurry */
	"label:E away =?@100 away away away away =?@100 held: =E!",
	"label:E away away away silent =E!",
	"label:E away +59999 away =?@100 +1 away =E!",

	/* the switch: the word first, then the list, then the word again */
	"label:S held: want:E =S@0 held: =Sd!@0 listed =Sd@500 +500 =Sd@0 held: =E!",
	"label:E held: want:S =E@0 held: =Ed!@0 listed +1000 held: =S!",
	/* a word that is older than the list's effect says nothing */
	"label:S held: want:E held: listed +499 held: =Sd@1000 +1000 held: =E!",
	"label:S held: want:E held: +1000 held: =Sd@1000",
	/* nor one that is older than what was given away last */
	"label:S held: want:E held: listed +2000 allocated +499 held: =Sd@1000 +1000 held: =E!",
	/* it waits for the last pod, with longer and longer pauses */
	"label:S held: want:E held: listed +1000 held:a-1,a-2 =Sd@1000 +1000 held:a-1 =Sd@1000",
	"label:S held: want:E held: listed +8000 held:a-1 =Sd@2000 +100000 held:a-1 =Sd@10000",
	/* and can be called off at any time */
	"label:S held: want:E want:S =S",
	"label:S held: want:E held: listed want:S =S!",
	"label:S held: want:E held: want:S want:E =S@0 held: =Sd!@0 +600 held: =Sd@1000",
	"label:S held: want:S =S",

	/* a kubelet that has just started may not know who holds them */
	"label:S held: want:E early: =S@1000 +1000 held: =Sd!@0",
	"label:S held: want:E held: listed +600 early: =Sd@1000 +1000 held: =E!",
	"label:S early: =S!",
	"label:E early:rdma/hca-3 =S!@0",
	"label:S+saved:E early: =E!@0",
	"label:S held: early: =S",

	/* without podresources there is no switch, and all goes on as before */
	"label:S held: want:E silent =S@1000 +1000 silent =S@1000 held: =Sd!@0",
	"label:S held: want:E away =S@1000",
	"label:S held: want:E held: listed +600 silent =Sd@1000 away held: =E!",
	"label:S held: silent =S",

	/* what the configuration says is known at once, unless it was different before */
	"fixed:S =S",
	"fixed:E =E",
	"fixed:E+saved:E =E",
	"fixed:E+saved:S =?@0 held: =E!",
	"fixed:E+saved:S held:rdma/hca-0 =S!@0 held:rdma/hca-0 =Sd!@0 listed +600 held: =E!",
	"fixed:E+saved:S away =S!@0 silent =Sd!@0 listed +600 silent =E!",
	"fixed:E+saved:S silent =S!@0 silent =Sd!@0 listed +499 silent =Sd@1000 +1 silent =E!",
};

static void the_modes_follow(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(scripts); i++) {
		g_autofree char *said G_GNUC_UNUSED = run(scripts[i]);
	}
}

static void it_is_said_once(void **state)
{
	static const struct {
		const char *script, *said;
	} cases[] = {
		{"fixed:S", ""},
		{"fixed:E", "hca-exclusive mode"},
		{"label:S held:", "hca-shared mode"},
		{"label:E held:", "hca-exclusive mode"},
		{"label:S held: want:E held: listed +600 held:",
		 "hca-shared mode | hca-exclusive mode"},
		{"label:S held: want:E held: listed +600 held:a-1,a-2 +600 held:a-1 +600 held:",
		 "hca-shared mode | the switch to exclusive mode waits for the pods that hold 2 of "
		 "the devices, such as hpc/job-0; until then no other pod gets one | "
		 "hca-exclusive mode"},
		{"label:S held: want:E held: listed want:S",
		 "hca-shared mode | stays in shared mode: the switch is called off"},
		{"label:S held: want:E silent silent silent",
		 "hca-shared mode | stays in shared mode although exclusive mode is wanted: no "
		 "answer; without the kubelet's word nobody knows whether pods hold devices"},
		/* a kubelet that restarts is nothing to talk about */
		{"label:S held: want:E away away", "hca-shared mode"},
		{"label:E silent silent silent",
		 "waits for the kubelet's word on what pods hold, a minute at most: no answer | "
		 "starts in exclusive mode without knowing what pods hold from before: no answer | "
		 "hca-exclusive mode"},
		{"fixed:E+saved:S silent silent listed +600 silent",
		 "switches to exclusive mode without knowing whether pods hold devices: no answer "
		 "| "
		 "hca-exclusive mode"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *said = run(cases[i].script);

		assert_string_equal(said, cases[i].said);
	}
}

static void its_state_is_one_sentence(void **state)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	g_autoptr(GPtrArray) one = g_ptr_array_new();
	g_autoptr(ModeSwitch) mode = mode_switch_new(FALSE, MODE_SAVED_NONE, 1);

#define EXPECT_STATE(expected)                                                                     \
	do {                                                                                       \
		g_autofree char *expect_text = mode_switch_text(mode);                             \
		assert_string_equal(expect_text, expected);                                        \
	} while (0)
	(void)state;
	g_ptr_array_add(one, (gpointer) "r-0");
	EXPECT_STATE("not known yet: waits for the kubelet's word on what pods hold");
	mode_switch_held(mode, none, NULL, 1);
	EXPECT_STATE("shared");
	mode_switch_want(mode, TRUE, 1);
	EXPECT_STATE("shared; exclusive mode is wanted and waits for the kubelet's word");
	mode_switch_silent(mode, "no socket", FALSE, 1);
	EXPECT_STATE(
		"shared; exclusive mode is wanted and waits for the kubelet's word: no socket");
	mode_switch_held(mode, one, "hpc/job-0", 2);
	mode_switch_held(mode, one, "hpc/job-0", 3);
	EXPECT_STATE("shared; exclusive mode is wanted and waits for the pods that hold 1 of the "
		     "devices");
}

static void slots_are_told_from_devices(void **state)
{
	static const char *const slots[] = {"rdma/hca-0", "rdma/hca-17", "a.b/c-d-999999",
					    "0",	  "17",		 "mlx5_bond_0-3"};
	static const char *const devices[] = {"0000:3b:00.0",
					      "0001:08:00.0",
					      "mlx5_core.sf.4",
					      "cc08-8200-0-1-000000-0000000000000012",
					      "cc08-8200-0-1-000000-000000000000000f",
					      "",
					      "x-",
					      "x-01"};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(slots); i++)
		assert_true(mode_id_is_slot(slots[i]));
	for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
		assert_false(mode_id_is_slot(devices[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_modes_follow),
		cmocka_unit_test(it_is_said_once),
		cmocka_unit_test(its_state_is_one_sentence),
		cmocka_unit_test(slots_are_told_from_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
