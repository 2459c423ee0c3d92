/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of one resource. Pure: an event goes in, what is to be done comes
 * out; the clock and the dice belong to the caller. README.md shows the table that
 * registration.c holds.
 */
#pragma once

#include <glib.h>

#include "kubelet/kubelet.h"

enum registration_event {
	REGISTRATION_PUBLISH, /* there is a list to show */
	REGISTRATION_SERVED, /* our socket is there */
	REGISTRATION_REPLACED, /* ... and another instance had its name until now */
	REGISTRATION_UNSERVED, /* our socket is gone and could not be made again */
	REGISTRATION_KUBELET, /* a kubelet.sock that was not there before */
	REGISTRATION_ABSENT, /* no kubelet.sock to try */
	REGISTRATION_ASKED, /* watcher: the kubelet has called GetInfo */
	REGISTRATION_ACCEPTED, /* Register, or NotifyRegistrationStatus, said yes */
	REGISTRATION_REFUSED, /* it said no, or could not be made */
	REGISTRATION_STREAM, /* the kubelet has opened a stream */
	REGISTRATION_STREAM_LOST, /* ... and that one has ended */
	REGISTRATION_TIMER,
	REGISTRATION_STOP,
	REGISTRATION_N_EVENTS,
};

/* What is to be done, in this order. */
enum {
	REGISTRATION_CANCEL = 1 << 0, /* drop a Register that is under way */
	REGISTRATION_END_STREAMS = 1 << 1,
	REGISTRATION_LISTEN = 1 << 2, /* make our socket; SERVED follows once it is there */
	REGISTRATION_CLOSE = 1 << 3, /* remove our socket */
	REGISTRATION_RENEW = 1 << 4, /* watcher: remove our socket and make it again */
	REGISTRATION_CALL = 1 << 5, /* call Register; ABSENT, ACCEPTED or REFUSED follows */
	REGISTRATION_NO_STREAM = 1 << 6, /* accepted, and yet no stream came */
};

/* Which of the two tables applies. */
enum registration_way { REGISTRATION_BY_REGISTER, REGISTRATION_BY_WATCHER };

struct registration {
	enum registration_way way;
	enum plugin_state state;
	gboolean served; /* our socket is there */
	guint attempts; /* since the last success that lasted */
	guint short_streams; /* likewise */
	gboolean calls; /* a Register is under way */
	gboolean lost_while_calling; /* a stream, while that is so */
	gboolean expects; /* the kubelet is about to open a stream, as far as we know */
	gint64 stream_us; /* when the newest stream was opened */
};

struct registration_orders {
	guint actions;
	/* The one timer: REGISTRATION_TIMER_KEEP, _OFF, or milliseconds from now. */
	int timer_ms;
};
#define REGISTRATION_TIMER_KEEP (-1)
#define REGISTRATION_TIMER_OFF (-2)

/* 'dice' is in [0, 1). */
struct registration_orders registration_handle(struct registration *self,
					       enum registration_event event, gint64 now_us,
					       double dice);
/* Is a stream that is opened now the kubelet's? It opens one after each Register, or after
 * GetInfo; whoever opens one at another time is somebody else. */
gboolean registration_expects_stream(const struct registration *self);
/* The kubelet has ended some streams, one after the other, soon after it had opened them. */
gboolean registration_is_restless(const struct registration *self);
/* Changes the way; the state begins anew at IDLE. */
void registration_switch(struct registration *self, enum registration_way way);

const char *registration_state_name(enum plugin_state state);
const char *registration_event_name(enum registration_event event);
