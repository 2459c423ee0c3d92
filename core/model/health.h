/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of one HCA in one resource, as a state machine: what is observed goes
 * in with its time, what the kubelet should be told comes out. Pure; the clock is
 * the caller's (microseconds, monotonic), so that tests need no sleeping.
 *
 *	unknown ──good──► healthy ──bad──► suspect ──down_delay──► unhealthy or missing
 *	   │                 ▲  ▲────────good───┘                        │ ▲
 *	   └─bad─► unhealthy └──up_delay── recovering ◄──────good────────┘ │
 *	                                        └──────────bad─────────────┘
 *
 * 'missing' is unhealthy for the reason that the HCA is gone. An observation that is
 * "unknown" (the attribute could not be read) leaves the state as it is; when nothing
 * else is seen for unknown_limit, the HCA is unhealthy for that reason, also if it was
 * unhealthy for another. Every unhealthy state is left by good observations.
 */
#pragma once

#include <glib.h>

enum health_state {
	HEALTH_STATE_UNKNOWN, /* nothing seen yet but unreadable: counts as healthy */
	HEALTH_STATE_HEALTHY,
	HEALTH_STATE_SUSPECT, /* bad, not yet told: counts as healthy */
	HEALTH_STATE_UNHEALTHY,
	HEALTH_STATE_RECOVERING, /* good again, not yet told: counts as unhealthy */
	HEALTH_STATE_MISSING, /* unhealthy because it is gone */
};

/* Why an HCA is bad; the names are for programs and never change. */
enum health_code {
	HEALTH_CODE_NONE,
	HEALTH_CODE_LINK, /* "link": no port that matters is ACTIVE */
	HEALTH_CODE_FILES, /* "files": a character device that pods need is missing */
	HEALTH_CODE_GONE, /* "gone": it is not on the bus */
	HEALTH_CODE_FATAL, /* "fatal": it says that it is broken */
	HEALTH_CODE_UNKNOWN, /* "unknown": it could not be read for too long */
	HEALTH_CODE_VENDOR, /* "vendor": what the backend's text says */
	HEALTH_CODE_BACKEND, /* "backend": nobody can look at it */
};

enum health_observed {
	HEALTH_OBSERVED_GOOD,
	HEALTH_OBSERVED_BAD,
	HEALTH_OBSERVED_UNREADABLE,
	/* Its files were never complete so far, as right after it appeared: bad, but even
	 * the first time only told after down_delay. */
	HEALTH_OBSERVED_PENDING,
	/* Not found by a poll: counts as bad from the missing_scans-th in a row on. */
	HEALTH_OBSERVED_ABSENT,
	/* Not found by a scan that an event caused: counts as bad at once. */
	HEALTH_OBSERVED_REMOVED,
};

struct health_sight {
	enum health_observed observed;
	enum health_code code; /* of what is not good */
	const char *text; /* a sentence; may be NULL */
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
	gint64 since_us; /* when the state was entered; 0: never looked at */
	gint64 unreadable_since_us; /* 0: the last observation could be read */
	guint misses; /* polls in a row that did not find it */
	guint flaps; /* times that it left healthy or came back before it was told */
	guint64 link_downs; /* as the HCA counts them, when it was last asked */
	gboolean was_good; /* ever, since the first look */
	gboolean pending; /* bad so far because it has just appeared */
	gboolean assumed; /* the last look was bad, and good only because of assume_initial */
	enum health_code code; /* of the last bad observation, */
	char *text; /* and its sentence: "mlx5_0 port 1 is '1: DOWN'" */
};

void health_clear(struct health *health);

/* What a former process has told: the first observation is a change like any other. */
void health_restore(struct health *health, gboolean good, gboolean was_good, gint64 now_us);

/* Feeds one observation. TRUE if what the kubelet should be told changed. */
gboolean health_observe(struct health *health, const struct health_rules *rules,
			const struct health_sight *sight, gint64 now_us);
/* Lets time pass. TRUE if what the kubelet should be told changed. */
gboolean health_tick(struct health *health, const struct health_rules *rules, gint64 now_us);
/* When health_tick may next have an effect; -1: never without an observation. */
gint64 health_deadline(const struct health *health, const struct health_rules *rules);

gboolean health_is_good(const struct health *health);
const char *health_state_name(enum health_state state);
const char *health_code_name(enum health_code code);
/* HEALTH_CODE_NONE if there is no such name. */
enum health_code health_code_parse(const char *name);
