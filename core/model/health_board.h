/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of all HCAs of one resource (health.h), and what is to be said about it:
 * HCAs that change for the same reason at once in one sentence, and about each HCA at
 * most one sentence a minute, however often it changes. Pure.
 */
#pragma once

#include "model/health.h"
#include "model/news.h"

typedef struct health_board HealthBoard;

HealthBoard *health_board_new(const struct health_rules *rules);
void health_board_free(HealthBoard *board);
/* From now on; states that were entered stay until something is seen or due. */
void health_board_set_rules(HealthBoard *board, const struct health_rules *rules);

/* What a former process has told; 'reason' as health_board_reason gave it. */
void health_board_restore(HealthBoard *board, const char *identity, const char *name,
			  const char *reason, gboolean was_good, gint64 now_us);
/* 'name' is what people call it. TRUE if what the kubelet should be told changed. */
gboolean health_board_observe(HealthBoard *board, const char *identity, const char *name,
			      const struct health_sight *sight, gint64 now_us);
/* Lets time pass; 'changed' is called for each HCA about which the kubelet should be
 * told something else. TRUE if there was one. */
gboolean health_board_tick(HealthBoard *board, gint64 now_us,
			   void (*changed)(const char *identity, gpointer data), gpointer data);
/* When a tick or the news may next have something; -1: never without an observation. */
gint64 health_board_deadline(const HealthBoard *board);

/* NULL if it was never observed. */
const struct health *health_board_find(const HealthBoard *board, const char *identity);
/* "link: mlx5_0 port 1 is '1: DOWN'"; NULL while the HCA is good. */
char *health_board_reason(const HealthBoard *board, const char *identity);
void health_board_forget(HealthBoard *board, const char *identity);

/* How often the HCA says that it has lost its link. It was observed before. */
void health_board_count(HealthBoard *board, const char *identity, guint64 link_downs);
/* A remark about a good HCA, such as why it counts as good: said once for each text. */
void health_board_remark(HealthBoard *board, const char *identity, const char *text);
/* Adds what is to be said now to 'list' (news.h). */
void health_board_tell(HealthBoard *board, gint64 now_us, GPtrArray *list);
