/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of one HCA in one resource, as a state machine: what is observed goes
 * in with its time, what the kubelet should be told comes out. Pure; the clock is
 * the caller's (microseconds, monotonic), so that tests need no sleeping.
 *
 *	unknown ──healthy──► healthy ──bad──► suspect ──down_delay──► unhealthy
 *	   │                    ▲  ▲─────────good───┘                     │ ▲
 *	   └──bad──► unhealthy  └──up_delay── recovering ◄──────good──────┘ │
 *	                                          └────────────bad──────────┘
 *
 * An observation that is "unknown" (the attribute could not be read) leaves the state
 * as it is; when nothing else is seen for unknown_limit, the HCA is unhealthy. Every
 * unhealthy state is left by good observations.
 */
#pragma once

#include <glib.h>

enum health_state {
	HEALTH_STATE_UNKNOWN, /* nothing seen yet but unreadable: counts as healthy */
	HEALTH_STATE_HEALTHY,
	HEALTH_STATE_SUSPECT, /* bad, not yet told: counts as healthy */
	HEALTH_STATE_UNHEALTHY,
	HEALTH_STATE_RECOVERING, /* good again, not yet told: counts as unhealthy */
};

enum health_observed {
	HEALTH_OBSERVED_GOOD,
	HEALTH_OBSERVED_BAD,
	HEALTH_OBSERVED_UNREADABLE,
	/* Not found by a poll: counts as bad from the missing_scans-th in a row on. */
	HEALTH_OBSERVED_ABSENT,
	/* Not found by a scan that an event caused: counts as bad at once. */
	HEALTH_OBSERVED_REMOVED,
};

struct health_rules {
	gint64 down_delay_us;
	gint64 up_delay_us;
	gint64 unknown_limit_us;
	guint missing_scans;
	/* A link that was never up since the first look counts as good. */
	gboolean assume_initial;
};

struct health {
	enum health_state state;
	gint64 since_us; /* when the state was entered */
	gint64 unreadable_since_us; /* 0: the last observation could be read */
	guint misses; /* polls in a row that did not find it */
	guint flaps; /* times that it left healthy or came back before it was told */
	gboolean was_good; /* ever, since the first look */
	gboolean bad; /* the last readable observation */
	char *reason; /* of the last bad observation: "link: port 1 is DOWN" */
};

void health_clear(struct health *health);

/* What a former process has told: the first observation is a change like any other. */
void health_restore(struct health *health, gboolean good, gboolean was_good, const char *reason,
		    gint64 now_us);

/* Feeds one observation; 'link' tells a bad one that is about the link alone, which
 * assume_initial may overlook. 'reason' may be NULL. TRUE if what the kubelet
 * should be told changed. */
gboolean health_observe(struct health *health, const struct health_rules *rules,
			enum health_observed observed, gboolean link, const char *reason,
			gint64 now_us);
/* Lets time pass. TRUE if what the kubelet should be told changed. */
gboolean health_tick(struct health *health, const struct health_rules *rules, gint64 now_us);
/* When health_tick may next have an effect; -1: never without an observation. */
gint64 health_deadline(const struct health *health, const struct health_rules *rules);

gboolean health_is_good(const struct health *health);
const char *health_state_name(enum health_state state);
