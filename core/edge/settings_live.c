/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that change under a running daemon. */
#include <string.h>

#include "edge/settings_keys.h"

static gboolean is_live(const char *path)
{
	return g_str_has_prefix(path, "log.") || g_str_has_prefix(path, "health.") ||
	       g_str_has_prefix(path, "status_") || g_str_has_prefix(path, "mode_label") ||
	       strcmp(path, "retire_after") == 0;
}

static gsize size_of(enum setting_kind kind)
{
	switch (kind) {
	case SETTING_SECONDS:
		return sizeof(double);
	case SETTING_TEXT:
	case SETTING_PATH:
		return sizeof(char *);
	case SETTING_CHOICE:
	case SETTING_COUNT:
	case SETTING_FLAG:
		break;
	}
	return sizeof(int);
}

static gboolean is_text(const struct setting_key *key)
{
	return key->kind == SETTING_TEXT || key->kind == SETTING_PATH;
}

static gboolean is_same(const struct setting_key *key, const Settings *a, const Settings *b)
{
	gconstpointer at_a = G_STRUCT_MEMBER_P(a, key->offset);
	gconstpointer at_b = G_STRUCT_MEMBER_P(b, key->offset);

	if (is_text(key))
		return strcmp(*(const char *const *)at_a, *(const char *const *)at_b) == 0;
	return memcmp(at_a, at_b, size_of(key->kind)) == 0;
}

static void take(const struct setting_key *key, Settings *running, const Settings *fresh)
{
	gpointer to = G_STRUCT_MEMBER_P(running, key->offset);
	gconstpointer from = G_STRUCT_MEMBER_P(fresh, key->offset);

	if (is_text(key)) {
		g_free(*(char **)to);
		*(char **)to = g_strdup(*(const char *const *)from);
		return;
	}
	memcpy(to, from, size_of(key->kind));
}

gboolean settings_take_live(Settings *running, const Settings *fresh, GPtrArray *ret_others)
{
	gboolean changed = FALSE;

	for (const struct setting_key *key = setting_keys; key->path != NULL; key++) {
		if (is_same(key, running, fresh))
			continue;
		if (!is_live(key->path)) {
			g_ptr_array_add(ret_others, (gpointer)key->path);
			continue;
		}
		take(key, running, fresh);
		changed = TRUE;
	}
	return changed;
}
