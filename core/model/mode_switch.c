/* SPDX-License-Identifier: Apache-2.0 */
#include "model/mode_switch.h"

#include <string.h>

#include "model/news.h"

/* How long a list, or an Allocate, is given until the kubelet's word takes it into
 * account: it is told of both at once, but works on them one after the other. */
#define SETTLE_US ((gint64)500 * 1000)
/* Between two questions while the answer stays the same. */
#define SHORTEST_PAUSE_US ((gint64)1 * G_USEC_PER_SEC)
#define LONGEST_PAUSE_US ((gint64)10 * G_USEC_PER_SEC)
/* While there is no kubelet, and nothing is offered to one that comes. */
#define AWAY_PAUSE_US ((gint64)100 * 1000)
/* So often it may say nothing before the start goes on without its word. */
#define STARTING_PATIENCE 3
/* And so long there may be no kubelet: one that comes soon will say what pods hold. */
#define AWAY_PATIENCE_US ((gint64)60 * G_USEC_PER_SEC)
/* The longest number of a slot. */
#define MAX_DIGITS 6

enum step { STARTING, SETTLED, ASKING, DRAINING };

struct mode_switch {
	enum step step;
	gboolean exclusive; /* the mode in effect; while starting, what was saved */
	gboolean wanted;
	gboolean is_saved; /* while starting: 'exclusive' means something */
	gboolean is_order; /* wanted by the configuration, not by a label */
	gint64 since_us; /* of this step; of the first silence while starting */
	gint64 asked_us; /* of the last answer or silence in this step; 0: none */
	gint64 listed_us; /* of the list that says that all is Unhealthy; 0: none */
	gint64 allocated_us;
	guint silences; /* in a row */
	gboolean away; /* the last one: no kubelet */
	guint n_held; /* as was said last */
	char *silence; /* what was said last about the kubelet's silence */
	GPtrArray *news;
};

static const char *mode_name(gboolean exclusive)
{
	return exclusive ? "exclusive" : "shared";
}

static void enter(ModeSwitch *self, enum step step, gint64 now_us)
{
	self->step = step;
	self->since_us = now_us;
	self->asked_us = self->listed_us = 0;
	self->silences = self->n_held = 0;
	self->away = FALSE;
	g_clear_pointer(&self->silence, g_free);
}

static void settle(ModeSwitch *self, gboolean exclusive, gint64 now_us)
{
	self->exclusive = exclusive;
	enter(self, exclusive == self->wanted ? SETTLED : ASKING, now_us);
	/* A resource that is shared and stays so is nothing to talk about. */
	if (exclusive || !self->is_order)
		news_add(self->news, NEWS_INFO, "hca-%s mode", mode_name(exclusive));
}

static ModeSwitch *new (gboolean exclusive, enum mode_saved saved, gint64 now_us)
{
	ModeSwitch *self = g_new0(ModeSwitch, 1);

	self->wanted = exclusive;
	self->is_saved = saved != MODE_SAVED_NONE;
	self->exclusive = saved == MODE_SAVED_EXCLUSIVE;
	self->since_us = now_us;
	self->allocated_us = now_us - SETTLE_US;
	self->news = news_new();
	return self;
}

ModeSwitch *mode_switch_new(gboolean exclusive, enum mode_saved saved, gint64 now_us)
{
	return new (exclusive, saved, now_us);
}

ModeSwitch *mode_switch_new_fixed(gboolean exclusive, enum mode_saved saved, gint64 now_us)
{
	ModeSwitch *self = new (exclusive, saved, now_us);

	self->is_order = TRUE;
	if (!self->is_saved || self->exclusive == exclusive)
		settle(self, exclusive, now_us);
	return self;
}

void mode_switch_set_order(ModeSwitch *self, gboolean is_order)
{
	self->is_order = is_order;
}

void mode_switch_free(ModeSwitch *self)
{
	if (self == NULL)
		return;
	g_ptr_array_unref(self->news);
	g_free(self->silence);
	g_free(self);
}

/* --- what happens --- */

gboolean mode_switch_want(ModeSwitch *self, gboolean exclusive, gint64 now_us)
{
	gboolean was_draining = self->step == DRAINING;

	if (!exclusive == !self->wanted)
		return FALSE;
	self->wanted = exclusive;
	if (self->step == STARTING)
		return FALSE;
	if (exclusive == self->exclusive)
		news_add(self->news, NEWS_INFO, "stays in %s mode: the switch is called off",
			 mode_name(exclusive));
	enter(self, exclusive == self->exclusive ? SETTLED : ASKING, now_us);
	return was_draining;
}

/* Pods of a former process hold what it has offered. */
static gboolean mode_of_ids(GPtrArray *ids)
{
	for (guint i = 0; i < ids->len; i++)
		if (mode_id_is_slot(g_ptr_array_index(ids, i)))
			return FALSE;
	return TRUE;
}

static void tell_waiting(ModeSwitch *self, guint n, const char *holder)
{
	if (self->n_held == 0)
		news_add(
			self->news, NEWS_WARNING,
			"the switch to %s mode waits for the pods that hold %u of the devices%s%s; "
			"until then no other pod gets one",
			mode_name(self->wanted), n, holder != NULL ? ", such as " : "",
			holder != NULL ? holder : "");
	self->n_held = n;
}

/* Whether the word is about a time when the list that says Unhealthy was in force, and
 * takes everything into account that was given away. */
static gboolean is_late_enough(const ModeSwitch *self, gint64 asked_us)
{
	return self->listed_us != 0 && asked_us >= self->listed_us + SETTLE_US &&
	       asked_us >= self->allocated_us + SETTLE_US;
}

gboolean mode_switch_held(ModeSwitch *self, GPtrArray *ids, const char *holder, gint64 asked_us)
{
	self->asked_us = asked_us;
	self->silences = 0;
	self->away = FALSE;
	switch (self->step) {
	case STARTING:
		settle(self, ids->len > 0 ? mode_of_ids(ids) : self->wanted, asked_us);
		return TRUE;
	case ASKING:
		enter(self, DRAINING, asked_us);
		return TRUE;
	case DRAINING:
		if (ids->len > 0)
			tell_waiting(self, ids->len, holder);
		if (ids->len > 0 || !is_late_enough(self, asked_us))
			return FALSE;
		settle(self, self->wanted, asked_us);
		return TRUE;
	default:
		return FALSE;
	}
}

gboolean mode_switch_held_early(ModeSwitch *self, GPtrArray *ids, gint64 asked_us)
{
	gboolean starting = self->step == STARTING;

	if (starting && self->is_saved)
		settle(self, self->exclusive, asked_us);
	else if (starting)
		settle(self, ids->len > 0 ? mode_of_ids(ids) : self->wanted, asked_us);
	else
		self->asked_us = asked_us;
	return starting;
}

static void tell_silence(ModeSwitch *self, const char *reason)
{
	if (g_strcmp0(reason, self->silence) == 0)
		return;
	g_free(self->silence);
	self->silence = g_strdup(reason);
	news_add(self->news, NEWS_WARNING,
		 "stays in %s mode although %s mode is wanted: %s; without the kubelet's word "
		 "nobody knows whether pods hold devices",
		 mode_name(self->exclusive), mode_name(self->wanted), reason);
}

static gboolean start_without_word(ModeSwitch *self, const char *reason, gint64 now_us)
{
	if (self->is_saved) {
		settle(self, self->exclusive, now_us);
		return TRUE;
	}
	if (self->silences == 1) {
		self->since_us = now_us;
		news_add(self->news, NEWS_INFO,
			 "waits for the kubelet's word on what pods hold, a minute at most: %s",
			 reason);
	}
	if (self->away ? now_us < self->since_us + AWAY_PATIENCE_US
		       : self->silences < STARTING_PATIENCE)
		return FALSE;
	news_add(self->news, NEWS_WARNING,
		 "starts in %s mode without knowing what pods hold from before: %s",
		 mode_name(self->wanted), reason);
	settle(self, self->wanted, now_us);
	return TRUE;
}

/* The administrator has said what is wanted, and knows the pods. */
static gboolean obey_without_word(ModeSwitch *self, const char *reason, gint64 now_us)
{
	if (self->step == ASKING) {
		enter(self, DRAINING, now_us);
		return TRUE;
	}
	if (!is_late_enough(self, now_us))
		return FALSE;
	news_add(self->news, NEWS_WARNING,
		 "switches to %s mode without knowing whether pods hold devices: %s",
		 mode_name(self->wanted), reason);
	settle(self, self->wanted, now_us);
	return TRUE;
}

gboolean mode_switch_silent(ModeSwitch *self, const char *reason, gboolean away, gint64 now_us)
{
	self->asked_us = now_us;
	self->silences++;
	self->away = away;
	if (self->step == STARTING)
		return start_without_word(self, reason, now_us);
	if (self->step == SETTLED || away)
		return FALSE;
	if (self->is_order)
		return obey_without_word(self, reason, now_us);
	tell_silence(self, reason);
	return FALSE;
}

void mode_switch_listed(ModeSwitch *self, gint64 now_us)
{
	if (self->step == DRAINING && self->listed_us == 0)
		self->listed_us = now_us;
}

void mode_switch_allocated(ModeSwitch *self, gint64 now_us)
{
	self->allocated_us = now_us;
}

/* --- what follows --- */

gboolean mode_switch_is_known(const ModeSwitch *self)
{
	return self->step != STARTING;
}

gboolean mode_switch_is_exclusive(const ModeSwitch *self)
{
	return self->exclusive;
}

gboolean mode_switch_is_draining(const ModeSwitch *self)
{
	return self->step == DRAINING;
}

/* Longer and longer ones, the longer it takes. */
static gint64 pause_of(const ModeSwitch *self)
{
	if (self->step == STARTING)
		return AWAY_PAUSE_US;
	return CLAMP((self->asked_us - self->since_us) / 4, SHORTEST_PAUSE_US, LONGEST_PAUSE_US);
}

gint64 mode_switch_asks_from(const ModeSwitch *self)
{
	gint64 from_us = self->since_us;

	if (self->step == SETTLED)
		return -1;
	if (self->step == DRAINING)
		from_us = MAX(self->listed_us, self->allocated_us) + SETTLE_US;
	return self->asked_us == 0 ? from_us : MAX(from_us, self->asked_us + pause_of(self));
}

void mode_switch_tell(ModeSwitch *self, GPtrArray *list)
{
	for (guint i = 0; i < self->news->len; i++) {
		const struct news *news = g_ptr_array_index(self->news, i);

		news_add(list, news->level, "%s", news->text);
	}
	g_ptr_array_set_size(self->news, 0);
}

char *mode_switch_text(const ModeSwitch *self)
{
	if (self->step == STARTING)
		return g_strdup("not known yet: waits for the kubelet's word on what pods hold");
	if (self->step == SETTLED)
		return g_strdup(mode_name(self->exclusive));
	if (self->n_held > 0)
		return g_strdup_printf("%s; %s mode is wanted and waits for the pods that hold %u "
				       "of the devices",
				       mode_name(self->exclusive), mode_name(self->wanted),
				       self->n_held);
	return g_strdup_printf("%s; %s mode is wanted and waits for the kubelet's word%s%s",
			       mode_name(self->exclusive), mode_name(self->wanted),
			       self->silence != NULL ? ": " : "",
			       self->silence != NULL ? self->silence : "");
}

/* --- ids --- */

gboolean mode_id_is_slot(const char *id)
{
	const char *dash = strrchr(id, '-');
	const char *number = dash == NULL ? id : dash + 1;
	gsize length = strlen(number);

	return length > 0 && length <= MAX_DIGITS && strspn(number, "0123456789") == length &&
	       (number[0] != '0' || length == 1);
}
