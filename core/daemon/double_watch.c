/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/double_watch.h"

#include "edge/log.h"

struct double_watch {
	Holders *holders;
	char *resource;
	gint64 delay_us;
	gint64 asked_from_us; /* of the look that is under way; 0: none is */
	gboolean again; /* something was given away since it was asked for */
	GHashTable *said; /* set: texts about doubles that the last look has found */
};

static GHashTable *texts_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

DoubleWatch *double_watch_new(Holders *holders, const char *resource, guint delay_ms)
{
	DoubleWatch *self = g_new0(DoubleWatch, 1);

	self->holders = holders;
	self->resource = g_strdup(resource);
	self->delay_us = (gint64)delay_ms * 1000;
	self->said = texts_new();
	return self;
}

void double_watch_free(DoubleWatch *watch)
{
	if (watch == NULL)
		return;
	holders_forget(watch->holders, watch);
	g_hash_table_unref(watch->said);
	g_free(watch->resource);
	g_free(watch);
}

static char *double_text(const struct double_holding *found)
{
	const struct holding *first = found->first;
	const struct holding *second = found->second;

	return g_strdup_printf("device '%s' was given to two containers: '%s' of pod '%s/%s' and "
			       "'%s' of pod '%s/%s'; an exclusive device is one container's only, "
			       "so delete one of the pods",
			       found->id, first->container, first->name_space, first->pod,
			       second->container, second->name_space, second->pod);
}

/* Each double is said once, and again when it was gone meanwhile. */
static void say_doubles(DoubleWatch *self, const Holdings *holdings)
{
	g_autoptr(GArray) doubles = holdings_doubles(holdings, self->resource);
	g_autoptr(GHashTable) before = self->said;

	self->said = texts_new();
	for (guint i = 0; i < doubles->len; i++) {
		char *text = double_text(&g_array_index(doubles, struct double_holding, i));

		if (!g_hash_table_contains(before, text))
			log_error(self->resource, "%s", text);
		g_hash_table_add(self->said, text);
	}
}

static void look(DoubleWatch *self);

static void on_answer(Holdings *holdings, const GError *error, gpointer data)
{
	DoubleWatch *self = data;

	self->asked_from_us = 0;
	if (holdings != NULL)
		say_doubles(self, holdings);
	else /* others say what a silent kubelet means */
		log_debug(self->resource, "nobody knows who holds devices: %s", error->message);
	if (self->again)
		look(self);
}

static void look(DoubleWatch *self)
{
	self->again = FALSE;
	self->asked_from_us = g_get_monotonic_time() + self->delay_us;
	holders_ask(self->holders, self->asked_from_us, on_answer, self);
}

void double_watch_allocated(DoubleWatch *watch)
{
	if (watch->asked_from_us == 0)
		look(watch);
	else
		watch->again = TRUE;
}
