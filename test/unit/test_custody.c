/* SPDX-License-Identifier: Apache-2.0 */
#include "model/custody.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/news.h"
#include "model/overlap.h"
#include "support/config_builder.h"
#include "support/device_builder.h"

#define MS ((gint64)1000)
#define MAX_CLAIMS 4

/*
 * What happens, a word each:
 *
 *	had:X!:a,b     a former process's resource X had these; '!': exclusive
 *	X:a,b X!:c     what the resources are to have now; what they get follows each '='
 *	held:X/pod/id  held:  silent  away     the kubelet's word; '*' behind it: something is free
 *	restart        another process goes on with what is saved
 *	+N             N ms pass
 *	@N @-          the kubelet is asked N ms from now, or not at all
 *
 * Words of one settling are joined by ';': "X!:a;Y:b=X!:;Y:b".
 */
struct script {
	Custody *custody;
	gint64 now_us;
	GPtrArray *configs; /* held: the module borrows them for a settling only */
};

static struct overlap_claim *claim_parse(struct script *script, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, ":", 2);
	g_auto(GStrv) ids = g_strsplit(parts[1], ",", -1);
	struct overlap_claim *claim = g_new0(struct overlap_claim, 1);
	ResourceConfig *config = config_build("");

	g_free(config->full_name);
	claim->exclusive = g_str_has_suffix(parts[0], "!");
	config->full_name = g_strndup(parts[0], strlen(parts[0]) - (claim->exclusive ? 1 : 0));
	g_ptr_array_add(script->configs, config);
	claim->config = config;
	claim->devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	for (gsize i = 0; ids[i] != NULL; i++)
		if (*ids[i] != '\0')
			g_ptr_array_add(claim->devices, device_build(ids[i]));
	return claim;
}

static void claim_free(gpointer data)
{
	struct overlap_claim *claim = data;

	g_ptr_array_unref(claim->devices);
	g_free(claim->waits);
	g_free(claim);
}

static char *claims_text(GPtrArray *claims)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < claims->len; i++) {
		const struct overlap_claim *claim = g_ptr_array_index(claims, i);

		g_string_append_printf(text, "%s%s%s:", i > 0 ? ";" : "", claim->config->full_name,
				       claim->exclusive ? "!" : "");
		for (guint j = 0; j < claim->devices->len; j++)
			g_string_append_printf(text, "%s%s", j > 0 ? "," : "",
					       device_id(claim->devices->pdata[j]));
	}
	return g_string_free(text, FALSE);
}

static GPtrArray *claims_parse(struct script *script, const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, ";", -1);
	GPtrArray *claims = g_ptr_array_new_with_free_func(claim_free);

	for (gsize i = 0; words[i] != NULL && *words[i] != '\0'; i++)
		g_ptr_array_add(claims, claim_parse(script, words[i]));
	return claims;
}

static void settle(struct script *script, const char *word)
{
	g_auto(GStrv) sides = g_strsplit(word, "=", 2);
	g_autoptr(GPtrArray) claims = claims_parse(script, sides[0]);
	guint wanted[MAX_CLAIMS] = {0};
	g_autofree char *text = NULL;

	assert_true(claims->len <= MAX_CLAIMS);
	for (guint i = 0; i < claims->len; i++)
		wanted[i] = ((struct overlap_claim *)g_ptr_array_index(claims, i))->devices->len;
	custody_settle(script->custody, "pci", claims, script->now_us);
	text = claims_text(claims);
	assert_string_equal(text, sides[1]);
	/* what a resource does not get it waits for, and says so */
	for (guint i = 0; i < claims->len; i++) {
		const struct overlap_claim *claim = g_ptr_array_index(claims, i);

		assert_true((claim->waits != NULL) == (claim->devices->len < wanted[i]));
	}
}

/* "X!:a": as the daemon saves what X has. */
static void restore(struct script *script, const char *text)
{
	g_autoptr(GPtrArray) claims = claims_parse(script, text);
	g_autoptr(SavedState) state = saved_state_new();
	const struct overlap_claim *claim = g_ptr_array_index(claims, 0);
	struct saved_resource *saved = saved_resource_new(g_strdup(claim->config->full_name),
							  g_strdup("pci"), g_strdup("x"));

	for (guint i = 0; i < claim->devices->len; i++) {
		struct saved_hca *hca = g_new0(struct saved_hca, 1);

		hca->device = device_ref(claim->devices->pdata[i]);
		g_ptr_array_add(saved->hcas, hca);
	}
	g_ptr_array_add(saved->ids, g_strdup(claim->exclusive ? "a" : "X-0"));
	g_ptr_array_add(state->resources, saved);
	custody_restore(script->custody, state, script->now_us);
}

/* Another process goes on. */
static void start_again(struct script *script)
{
	g_autoptr(SavedState) state = saved_state_new();

	custody_save(script->custody, state);
	custody_free(script->custody);
	script->custody = custody_new();
	custody_restore(script->custody, state, script->now_us);
}

static void holding_free(gpointer data)
{
	struct custody_holding *holding = data;

	g_free((char *)holding->resource);
	g_free((char *)holding->pod);
	g_ptr_array_unref(holding->ids);
	g_free(holding);
}

static gboolean told(struct script *script, const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);
	g_autoptr(GPtrArray) holdings = g_ptr_array_new_with_free_func(holding_free);

	for (gsize i = 0; words[i] != NULL && *words[i] != '\0'; i++) {
		g_auto(GStrv) parts = g_strsplit(words[i], "/", 3);
		struct custody_holding *holding = g_new0(struct custody_holding, 1);

		holding->resource = g_strdup(parts[0]);
		holding->pod = g_strdup(parts[1]);
		holding->ids = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(holding->ids, g_strdup(parts[2]));
		g_ptr_array_add(holdings, holding);
	}
	return custody_told(script->custody, holdings, script->now_us);
}

static void expect_question(const struct script *script, const char *text)
{
	gint64 from_us = custody_asks_from(script->custody);

	if (*text == '-')
		assert_int_equal(from_us, -1);
	else
		assert_int_equal(from_us - script->now_us, g_ascii_strtoll(text, NULL, 10) * MS);
}

static void take_answer(struct script *script, const char *word)
{
	gboolean expected = g_str_has_suffix(word, "*");
	g_autofree char *text = g_strndup(word, strlen(word) - (expected ? 1 : 0));
	gboolean freed;

	if (g_str_has_prefix(text, "held:"))
		freed = told(script, text + strlen("held:"));
	else
		freed = custody_silent(script->custody, "no answer", strcmp(text, "away") == 0,
				       script->now_us);
	assert_int_equal(freed, expected);
}

static void take_word(struct script *script, const char *word)
{
	if (*word == '+')
		script->now_us += g_ascii_strtoll(word + 1, NULL, 10) * MS;
	else if (*word == '@')
		expect_question(script, word + 1);
	else if (g_str_has_prefix(word, "had:"))
		restore(script, word + strlen("had:"));
	else if (strcmp(word, "restart") == 0)
		start_again(script);
	else if (strchr(word, '=') != NULL)
		settle(script, word);
	else
		take_answer(script, word);
}

/* Returns what was said. */
static char *run(const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	g_autoptr(GPtrArray) configs =
		g_ptr_array_new_with_free_func((GDestroyNotify)resource_config_unref);
	g_autoptr(GPtrArray) news = news_new();
	struct script script = {custody_new(), 1000 * MS, configs};
	GString *said = g_string_new(NULL);

	print_message("%s\n", text);
	for (gsize i = 0; words[i] != NULL; i++)
		take_word(&script, words[i]);
	custody_tell(script.custody, news);
	custody_free(script.custody);
	for (guint i = 0; i < news->len; i++)
		g_string_append_printf(said, "%s%s", i > 0 ? " | " : "",
				       ((const struct news *)g_ptr_array_index(news, i))->text);
	return g_string_free(said, FALSE);
}

static const char *const scripts[] = {
	/* who has a device keeps it, and those who share it do */
	"X!:a=X!:a X!:a=X!:a @-",
	"X:a;Y:a=X:a;Y:a X:;Y:a=X:;Y:a Z:a=Z:a @-",
	/* from an exclusive resource to another: after its pod */
	"X!:a=X!:a Y!:a=Y!: @500 +500 held:X/p/a @1000 Y!:a=Y!: +1000 held:* Y!:a=Y!:a @-",
	/* the pods of its other devices do not matter */
	"X!:a,b=X!:a,b X!:b;Y!:a=X!:b;Y!: +500 held:X/p/b* X!:b;Y!:a=X!:b;Y!:a",
	/* nor do the same ids of others */
	"X!:a=X!:a Y!:a=Y!: +500 held:Z/p/a* Y!:a=Y!:a",
	/* a word that is too early says nothing */
	"X!:a=X!:a Y!:a=Y!: +499 held: @1000 Y!:a=Y!:",
	/* from a shared resource that goes on: those who were there, not those who come */
	"X:a=X:a Y!:a=Y!: +500 held:X/p/s,X/q/t +1000 held:X/q/t,X/r/s +1000 held:X/r/s* Y!:a=Y!:a",
	/* from exclusive to shared */
	"X!:a=X!:a Y:a=Y: +500 held:X/p/a +1000 held:* Y:a=Y:a",
	/* several have had it */
	"X:a;Y:a=X:a;Y:a Z!:a=Z!: +500 held:X/p/s-0 +1000 held:Y/q/s-0* Z!:a=Z!:a",
	/* back to whom it was taken from: nothing was given away */
	"X!:a=X!:a Y!:a=Y!: X!:a=X!:a @- Y!:a=Y!: @500",
	/* gone for a moment, or not served: nobody else wants it */
	"X!:a=X!:a X!:=X!: @- X!:a=X!:a",
	/* what was lost long ago has been asked about for another one */
	"X!:a,b=X!:a,b Y!:a=Y!: +500 held:* Y!:a,b=Y!:a,b",
	/* changes of the mode are the resource's own affair */
	"X:a=X:a X!:a=X!:a X:a=X:a @-",
	/* before the restart */
	"had:X!:a X!:a=X!:a @-",
	"had:X!:a Y!:a=Y!: @500 +500 held:X/p/a +1000 held:* Y!:a=Y!:a",
	"had:X:a Y:a=Y:a @-",
	"X!:a=X!:a Y!:a=Y!: restart restart Y!:a=Y!: +500 held:X/p/a +1000 held:* Y!:a=Y!:a",
	"X:a=X:a Y!:a=Y!: restart X:;Y!:a=X:;Y!: +500 held:X/p/s +1000 held:* Y!:a=Y!:a",
	"X!:a=X!:a restart Y!:a=Y!:a",
	/* longer and longer pauses */
	"X!:a=X!:a Y!:a=Y!: +8000 held:X/p/a @2000 +100000 held:X/p/a @10000",
	/* while there is no kubelet there is no hurry; one that does not say it has its way */
	"X!:a=X!:a Y!:a=Y!: +500 away away away away Y!:a=Y!:",
	"X!:a=X!:a Y!:a=Y!: +500 silent silent held:X/p/a silent silent silent* Y!:a=Y!:a",
};

static void devices_are_kept_back_for_pods(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(scripts); i++) {
		g_autofree char *said G_GNUC_UNUSED = run(scripts[i]);
	}
}

#define KEPT                                                                                       \
	"\"Y\" gets devices, such as 'a', not before no pod can hold them through \"X\", which "   \
	"had them before"

static void it_is_said_once(void **state)
{
	static const struct {
		const char *script, *said;
	} cases[] = {
		{"X!:a=X!:a X!:a=X!:a", ""},
		{"X!:a,b=X!:a,b Y!:a,b=Y!: Y!:a,b=Y!:", KEPT},
		{"X!:a=X!:a Y!:a=Y!: X!:a=X!:a Y!:a=Y!:", KEPT " | " KEPT},
		{"X!:a=X!:a Y!:a=Y!: +500 silent silent silent*",
		 KEPT " | devices go to other resources without knowing whether pods hold them: "
		      "no answer"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *said = run(cases[i].script);

		assert_string_equal(said, cases[i].said);
	}
}

/* The same identity on another bus is another device. */
static void buses_are_apart(void **state)
{
	g_autoptr(Custody) custody = custody_new();
	g_autoptr(GPtrArray) configs =
		g_ptr_array_new_with_free_func((GDestroyNotify)resource_config_unref);
	struct script script = {custody, 1000 * MS, configs};
	g_autoptr(GPtrArray) claims = claims_parse(&script, "X!:a");
	g_autoptr(GPtrArray) others = claims_parse(&script, "Y!:a");

	(void)state;
	custody_settle(custody, "pci", claims, script.now_us);
	custody_settle(custody, "pc", others, script.now_us);
	assert_int_equal(((struct overlap_claim *)others->pdata[0])->devices->len, 1);
	assert_int_equal(custody_asks_from(custody), -1);
}

/* A resource's own entry and what custody_save has added to it, as a process leaves them that
 * ends before its first discovery. */
static void what_is_saved_does_not_grow_with_every_start(void **state)
{
	g_autoptr(GPtrArray) configs =
		g_ptr_array_new_with_free_func((GDestroyNotify)resource_config_unref);
	struct script script = {custody_new(), 1000 * MS, configs};
	g_autoptr(SavedState) saved = saved_state_new();

	(void)state;
	for (int i = 0; i < 3; i++)
		restore(&script, "X!:a,b");
	custody_save(script.custody, saved);
	assert_int_equal(saved->resources->len, 2);
	custody_free(script.custody);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_kept_back_for_pods),
		cmocka_unit_test(it_is_said_once),
		cmocka_unit_test(buses_are_apart),
		cmocka_unit_test(what_is_saved_does_not_grow_with_every_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
