/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state file with any content. What is read can be written and read again, and an offer
 * that begins with it has a list which no kubelet could complain about.
 */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "edge/state_file.h"
#include "model/offer.h"
#include "support/config_builder.h"

#define BOOT "b"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
	g_assert_true(text[0] != '\0' && g_utf8_validate(text, -1, NULL));
}

static void check_id(GHashTable *seen, const struct slot *slot)
{
	check_text(slot->id);
	g_assert_true(g_hash_table_add(seen, slot->id));
}

static void check_list(const Snapshot *list)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < list->slots->len; i++)
		check_id(seen, g_ptr_array_index(list->slots, i));
}

/* Ids of the other mode: then the list waits for the kubelet to say who holds them. */
static Snapshot *take_list(Offer *offer)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	Snapshot *list = offer_take_list(offer, 1);

	if (list != NULL)
		return list;
	offer_held(offer, none, NULL, 2);
	return offer_take_list(offer, 2);
}

static void begin_with(const struct saved_resource *saved, const char *words)
{
	static const struct offer_rules rules = {.health = {.missing_scans = 3}};
	g_autoptr(ResourceConfig) config = config_build(words);
	g_autoptr(Offer) offer = NULL;
	g_autoptr(GPtrArray) again = NULL;
	g_autoptr(Snapshot) list = NULL;

	g_free(config->full_name);
	config->full_name = g_strdup(saved->name);
	offer = offer_new(config, &rules);
	offer_restore(offer, saved->hcas, saved->ids, 1);
	list = take_list(offer);
	g_assert_nonnull(list);
	check_list(list);
	again = offer_save(offer);
	g_assert_cmpuint(again->len, ==, saved->hcas->len);
}

static void check_same(const SavedState *state)
{
	g_autofree char *text = state_file_text(state, BOOT);
	g_autoptr(GError) error = NULL;
	g_autoptr(SavedState) again = state_file_parse(text, strlen(text), BOOT, &error);
	g_autofree char *same = NULL;

	g_assert_no_error(error);
	same = state_file_text(again, BOOT);
	g_assert_cmpstr(text, ==, same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(SavedState) state =
		state_file_parse((const char *)data, (gsize)size, BOOT, &error);

	g_assert_true((state == NULL) == (error != NULL));
	if (state == NULL) {
		check_text(error->message);
		return 0;
	}
	check_same(state);
	for (guint i = 0; i < state->resources->len; i++) {
		begin_with(state->resources->pdata[i], "");
		begin_with(state->resources->pdata[i], "hcaMax=3 umad=required policy=anyDevice");
	}
	return 0;
}
