/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/registration.h"

/* A stream that lived this long was no accident: what follows begins at once again. */
#define LASTING_US ((gint64)5 * G_USEC_PER_SEC)
/* A kubelet that has accepted a plugin opens its stream within milliseconds. */
#define NO_STREAM_MS 10000
#define LATE_STREAM_MS 500
/* So many are no accident. */
#define RESTLESS 5
/* Below this there is no need to spread attempts over time. */
#define JITTER_FROM_MS 50

enum timer {
	TIMER_KEEP,
	TIMER_OFF,
	TIMER_BACK_OFF, /* the next delay of the sequence */
	TIMER_RESTART, /* the first delay of it */
	TIMER_NO_STREAM,
	TIMER_LATE_STREAM,
	TIMER_SLOW, /* the last delay of it */
};

struct transition {
	enum plugin_state from;
	enum registration_event event;
	enum plugin_state to;
	guint actions;
	enum timer timer;
};

#define CANCEL REGISTRATION_CANCEL
#define END_STREAMS REGISTRATION_END_STREAMS
#define LISTEN REGISTRATION_LISTEN
#define CLOSE REGISTRATION_CLOSE
#define RENEW REGISTRATION_RENEW
#define CALL REGISTRATION_CALL
#define NO_STREAM REGISTRATION_NO_STREAM

/* What is in neither table changes nothing; STOP leads to STOPPING from anywhere. */
static const struct transition by_register[] = {
	{PLUGIN_IDLE, REGISTRATION_PUBLISH, PLUGIN_IDLE, LISTEN, TIMER_OFF},
	{PLUGIN_IDLE, REGISTRATION_SERVED, PLUGIN_LISTENING, 0, TIMER_RESTART},
	{PLUGIN_IDLE, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, TIMER_OFF},

	{PLUGIN_LISTENING, REGISTRATION_TIMER, PLUGIN_REGISTERING, CALL, TIMER_OFF},
	{PLUGIN_LISTENING, REGISTRATION_KUBELET, PLUGIN_LISTENING, 0, TIMER_RESTART},
	{PLUGIN_LISTENING, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, TIMER_OFF},
	{PLUGIN_LISTENING, REGISTRATION_UNSERVED, PLUGIN_IDLE, 0, TIMER_OFF},

	{PLUGIN_REGISTERING, REGISTRATION_ACCEPTED, PLUGIN_REGISTERING, 0, TIMER_NO_STREAM},
	{PLUGIN_REGISTERING, REGISTRATION_REFUSED, PLUGIN_LISTENING, 0, TIMER_BACK_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_ABSENT, PLUGIN_LISTENING, 0, TIMER_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_TIMER, PLUGIN_LISTENING, NO_STREAM, TIMER_BACK_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_KUBELET, PLUGIN_LISTENING, CANCEL, TIMER_RESTART},
	{PLUGIN_REGISTERING, REGISTRATION_SERVED, PLUGIN_LISTENING, CANCEL, TIMER_BACK_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_UNSERVED, PLUGIN_IDLE, CANCEL, TIMER_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, TIMER_OFF},

	{PLUGIN_STREAMING, REGISTRATION_STREAM_LOST, PLUGIN_LISTENING, CANCEL, TIMER_BACK_OFF},
	{PLUGIN_STREAMING, REGISTRATION_KUBELET, PLUGIN_LISTENING, CANCEL | END_STREAMS,
	 TIMER_RESTART},
	{PLUGIN_STREAMING, REGISTRATION_REPLACED, PLUGIN_LISTENING, CANCEL | END_STREAMS,
	 TIMER_BACK_OFF},
};

/* A stream that ends before Register is answered: mostly a late one of the kubelet before,
 * while the next one is asked, which must not be asked twice. Its stream comes soon. */
static const struct transition by_register_after_loss[] = {
	{PLUGIN_STREAMING, REGISTRATION_STREAM_LOST, PLUGIN_REGISTERING, 0, TIMER_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_ACCEPTED, PLUGIN_REGISTERING, 0, TIMER_LATE_STREAM},
	{PLUGIN_REGISTERING, REGISTRATION_TIMER, PLUGIN_LISTENING, 0, TIMER_BACK_OFF},
};

static const struct transition by_watcher[] = {
	{PLUGIN_IDLE, REGISTRATION_PUBLISH, PLUGIN_IDLE, LISTEN, TIMER_OFF},
	{PLUGIN_IDLE, REGISTRATION_SERVED, PLUGIN_LISTENING, 0, TIMER_OFF},
	{PLUGIN_IDLE, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, TIMER_OFF},

	{PLUGIN_LISTENING, REGISTRATION_ASKED, PLUGIN_REGISTERING, 0, TIMER_NO_STREAM},
	{PLUGIN_LISTENING, REGISTRATION_REFUSED, PLUGIN_LISTENING, 0, TIMER_BACK_OFF},
	{PLUGIN_LISTENING, REGISTRATION_TIMER, PLUGIN_LISTENING, RENEW, TIMER_SLOW},
	{PLUGIN_LISTENING, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, TIMER_OFF},
	{PLUGIN_LISTENING, REGISTRATION_UNSERVED, PLUGIN_IDLE, 0, TIMER_OFF},

	{PLUGIN_REGISTERING, REGISTRATION_ASKED, PLUGIN_REGISTERING, 0, TIMER_NO_STREAM},
	{PLUGIN_REGISTERING, REGISTRATION_ACCEPTED, PLUGIN_REGISTERING, 0, TIMER_NO_STREAM},
	{PLUGIN_REGISTERING, REGISTRATION_REFUSED, PLUGIN_LISTENING, 0, TIMER_BACK_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_TIMER, PLUGIN_LISTENING, NO_STREAM, TIMER_BACK_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_STREAM, PLUGIN_STREAMING, 0, TIMER_OFF},
	{PLUGIN_REGISTERING, REGISTRATION_UNSERVED, PLUGIN_IDLE, 0, TIMER_OFF},

	{PLUGIN_STREAMING, REGISTRATION_STREAM_LOST, PLUGIN_LISTENING, 0, TIMER_BACK_OFF},
	{PLUGIN_STREAMING, REGISTRATION_REPLACED, PLUGIN_LISTENING, END_STREAMS, TIMER_BACK_OFF},
};

/* The socket's file appears before the kubelet listens on it: the first attempts come
 * in quick succession. */
static const int register_delays_ms[] = {0, 1, 2, 5, 10, 20, 50, 100, 200, 400, 800, 1000};
/* The kubelet looks at a new socket within a second, and backs off itself. */
static const int watcher_delays_ms[] = {0, 1000, 2000, 4000, 8000, 16000, 32000, 60000};

static const struct transition *find_in(const struct transition *table, gsize n,
					enum plugin_state state, enum registration_event event)
{
	for (gsize i = 0; i < n; i++)
		if (table[i].from == state && table[i].event == event)
			return &table[i];
	return NULL;
}

static const struct transition *find(const struct registration *self, enum registration_event event)
{
	gboolean after_loss =
		self->state == PLUGIN_STREAMING ? self->calls : self->lost_while_calling;
	const struct transition *found = NULL;

	if (after_loss)
		found = find_in(by_register_after_loss, G_N_ELEMENTS(by_register_after_loss),
				self->state, event);
	if (found)
		return found;
	if (self->way == REGISTRATION_BY_REGISTER)
		return find_in(by_register, G_N_ELEMENTS(by_register), self->state, event);
	return find_in(by_watcher, G_N_ELEMENTS(by_watcher), self->state, event);
}

static int delay_of(const struct registration *self, guint attempt, double dice)
{
	gboolean registers = self->way == REGISTRATION_BY_REGISTER;
	const int *delays = registers ? register_delays_ms : watcher_delays_ms;
	gsize n = registers ? G_N_ELEMENTS(register_delays_ms) : G_N_ELEMENTS(watcher_delays_ms);
	int delay = delays[MIN(attempt, n - 1)];

	if (delay < JITTER_FROM_MS)
		return delay;
	return (int)(delay * (0.75 + 0.25 * dice));
}

static int set_timer(struct registration *self, enum timer timer, double dice)
{
	switch (timer) {
	case TIMER_KEEP:
		return REGISTRATION_TIMER_KEEP;
	case TIMER_OFF:
		return REGISTRATION_TIMER_OFF;
	case TIMER_NO_STREAM:
		return NO_STREAM_MS;
	case TIMER_LATE_STREAM:
		return LATE_STREAM_MS;
	case TIMER_SLOW:
		return delay_of(self, G_MAXUINT, dice);
	case TIMER_RESTART:
		self->attempts = 0;
		break;
	case TIMER_BACK_OFF:
		break;
	}
	return delay_of(self, self->attempts++, dice);
}

static void note_loss(struct registration *self, gint64 now_us)
{
	if (now_us - self->stream_us < LASTING_US) {
		self->short_streams++;
		return;
	}
	self->attempts = 0;
	self->short_streams = 0;
}

/* What an event tells, whatever the state. */
static void note(struct registration *self, enum registration_event event, gint64 now_us)
{
	if (event == REGISTRATION_SERVED || event == REGISTRATION_UNSERVED)
		self->served = event == REGISTRATION_SERVED;
	else if (event == REGISTRATION_STREAM)
		self->stream_us = now_us;
	else if (event == REGISTRATION_STREAM_LOST)
		note_loss(self, now_us);
	else if (event == REGISTRATION_KUBELET)
		self->short_streams = 0;
}

/* Kubelets to 1.24 open the stream after the answer to Register, later ones also before
 * it; and one that is slow opens it when we have given up the call. */
static void note_expectation(struct registration *self, enum registration_event event,
			     guint actions)
{
	gboolean is_answer = event == REGISTRATION_ACCEPTED || event == REGISTRATION_REFUSED ||
			     event == REGISTRATION_ABSENT;

	if (event == REGISTRATION_KUBELET || event == REGISTRATION_ABSENT)
		self->expects = FALSE;
	if (is_answer || (actions & CANCEL))
		self->calls = FALSE;
	if (actions & CALL)
		self->calls = TRUE;
	if (event == REGISTRATION_ASKED || (actions & CALL))
		self->expects = TRUE;
	else if ((is_answer || event == REGISTRATION_STREAM) && !self->calls &&
		 self->state == PLUGIN_STREAMING)
		self->expects = FALSE;
}

struct registration_orders registration_handle(struct registration *self,
					       enum registration_event event, gint64 now_us,
					       double dice)
{
	struct registration_orders orders = {0, REGISTRATION_TIMER_KEEP};
	const struct transition *transition = find(self, event);

	if (self->state == PLUGIN_STOPPING)
		return orders;
	if (event == REGISTRATION_STOP) {
		self->state = PLUGIN_STOPPING;
		orders.actions = CANCEL | END_STREAMS | CLOSE;
		orders.timer_ms = REGISTRATION_TIMER_OFF;
		return orders;
	}
	note(self, event, now_us);
	if (transition) {
		self->state = transition->to;
		orders.actions = transition->actions;
		orders.timer_ms = set_timer(self, transition->timer, dice);
	}
	if (self->state != PLUGIN_REGISTERING)
		self->lost_while_calling = FALSE;
	else if (event == REGISTRATION_STREAM_LOST)
		self->lost_while_calling = TRUE;
	note_expectation(self, event, orders.actions);
	/* The socket went while a stream lived: SERVED goes on from here. */
	if (transition && self->state == PLUGIN_LISTENING && !self->served) {
		self->state = PLUGIN_IDLE;
		orders.timer_ms = REGISTRATION_TIMER_OFF;
	}
	return orders;
}

gboolean registration_expects_stream(const struct registration *self)
{
	return self->expects;
}

gboolean registration_is_restless(const struct registration *self)
{
	return self->short_streams >= RESTLESS;
}

void registration_switch(struct registration *self, enum registration_way way)
{
	*self = (struct registration){.way = way, .state = PLUGIN_IDLE};
}

const char *registration_state_name(enum plugin_state state)
{
	static const char *const names[] = {"idle", "listening", "registering", "streaming",
					    "stopping"};

	return names[state];
}

const char *registration_event_name(enum registration_event event)
{
	static const char *const names[] = {
		"publish",  "served",  "replaced", "unserved",	  "kubelet", "absent", "asked",
		"accepted", "refused", "stream",   "stream lost", "timer",   "stop"};

	return names[event];
}
