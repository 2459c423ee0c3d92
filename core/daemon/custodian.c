/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/custodian.h"

#include "edge/log.h"
#include "model/custody.h"
#include "model/news.h"

#define AREA "custody"

struct custodian {
	Custody *custody;
	Holders *holders;
	gint64 asked_from_us; /* of the question that is under way; -1: none is */
	void (*freed)(gpointer data);
	gpointer data;
};

Custodian *custodian_new(Holders *holders, const SavedState *before, void (*freed)(gpointer data),
			 gpointer data)
{
	Custodian *self = g_new0(Custodian, 1);

	self->custody = custody_new();
	self->holders = holders;
	self->asked_from_us = -1;
	self->freed = freed;
	self->data = data;
	if (before != NULL)
		custody_restore(self->custody, before, g_get_monotonic_time());
	return self;
}

void custodian_free(Custodian *custodian)
{
	if (custodian == NULL)
		return;
	holders_forget(custodian->holders, custodian);
	custody_free(custodian->custody);
	g_free(custodian);
}

static void holding_clear(gpointer data)
{
	g_free((char *)((struct custody_holding *)data)->pod);
	g_free(data);
}

static GPtrArray *holdings_of(const Holdings *holdings)
{
	const GPtrArray *list = holdings_list(holdings);
	GPtrArray *all = g_ptr_array_new_with_free_func(holding_clear);

	for (guint i = 0; i < list->len; i++) {
		const struct holding *holding = g_ptr_array_index(list, i);
		struct custody_holding *one = g_new(struct custody_holding, 1);

		one->resource = holding->resource;
		one->pod = g_strdup_printf("%s/%s/%s", holding->name_space, holding->pod,
					   holding->container);
		one->ids = holding->ids;
		g_ptr_array_add(all, one);
	}
	return all;
}

static gboolean take_holdings(Custodian *self, const Holdings *holdings)
{
	g_autoptr(GPtrArray) list = holdings_of(holdings);

	if (!holders_knows_all(self->holders, holdings))
		return custody_silent(self->custody, "", TRUE, g_get_monotonic_time());
	return custody_told(self->custody, list, holdings_asked_us(holdings));
}

static void say(Custodian *self)
{
	g_autoptr(GPtrArray) list = news_new();

	custody_tell(self->custody, list);
	log_news(AREA, list);
}

static void ask(Custodian *self);

static void on_answer(Holdings *holdings, const GError *error, gpointer data)
{
	Custodian *self = data;
	gboolean freed;

	self->asked_from_us = -1;
	freed = holdings != NULL ? take_holdings(self, holdings)
				 : custody_silent(self->custody, error->message,
						  holders_is_away(self->holders, error),
						  g_get_monotonic_time());
	say(self);
	if (freed)
		self->freed(self->data);
	ask(self);
}

static void ask(Custodian *self)
{
	gint64 from_us = custody_asks_from(self->custody);

	if (from_us == self->asked_from_us)
		return;
	holders_forget(self->holders, self);
	self->asked_from_us = from_us;
	if (from_us >= 0)
		holders_ask(self->holders, from_us, on_answer, self);
}

void custodian_settle(Custodian *custodian, const char *bus, GPtrArray *claims)
{
	custody_settle(custodian->custody, bus, claims, g_get_monotonic_time());
	say(custodian);
	ask(custodian);
}

void custodian_save(const Custodian *custodian, SavedState *state)
{
	custody_save(custodian->custody, state);
}
