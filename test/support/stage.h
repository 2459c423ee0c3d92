/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An offer on a stage: a story of scans and health reads with a clock that the test
 * turns, and what a kubelet would receive in its course.
 */
#pragma once

#include "model/offer.h"
#include "support/config_builder.h"
#include "support/device_builder.h"

struct stage {
	Offer *offer;
	struct offer_rules rules;
	gint64 now_us;
	Snapshot *shown; /* what the kubelet has; NULL before the first list */
	guint n_messages;
	GString *log; /* what was said, a line each: "w HCA …" */
};

/* 'config' as for config_build. All delays are the settings' defaults. */
struct stage *stage_new(const char *config);
/* Nobody has said yet what a resource with the mode "auto" is to be. */
struct stage *stage_new_undecided(const char *config);
void stage_free(struct stage *stage);

/* The clock goes on to that second; everything that is due on the way happens. */
void stage_at(struct stage *stage, double second);

/* Each of these happens now, and what follows from it is sent. */
void stage_scan(struct stage *stage, enum offer_scan scan, const char *const *devices);
#define SCAN(stage, ...)                                                                           \
	stage_scan(stage, OFFER_SCAN_POLLED, (const char *const[]){__VA_ARGS__, NULL})
#define EVENT(stage, ...)                                                                          \
	stage_scan(stage, OFFER_SCAN_EVENT, (const char *const[]){__VA_ARGS__, NULL})
/* "ok", "link text", "files …", "gone …", "fatal …", "vendor …", "unknown": the answer
 * of health about these, separated by blanks; or "hang". */
void stage_look(struct stage *stage, const char *identities, const char *answer);
void stage_poll(struct stage *stage);
void stage_first_look_over(struct stage *stage);
void stage_held(struct stage *stage, const char *ids);
void stage_flush(struct stage *stage);

/* The list that the kubelet has, a letter a device: "HHU"; "none" before the first. */
char *stage_list(const struct stage *stage);

/* The list and the number of messages up to now. */
#define EXPECT_SHOWN(stage, list, messages)                                                        \
	do {                                                                                       \
		g_autofree char *shown_list = stage_list(stage);                                   \
		assert_string_equal(shown_list, list);                                             \
		assert_int_equal((stage)->n_messages, messages);                                   \
	} while (0)
