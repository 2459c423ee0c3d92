/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared or exclusive: which mode a resource is in, and when it may change. While a pod
 * holds a device of one mode, none of the other may be given away, so that no HCA is
 * exclusive to one pod and shared by others.
 *
 *	starting ──the kubelet's word──► settled ──other mode wanted──► asking
 *	                                  ▲  ▲ ▲                        │    │
 *	                                  │  │ └────that is taken back──┘    │ the kubelet's word
 *	                                  │  └──────that is taken back──┐    ▼
 *	                                  └────nobody holds anything────draining
 *
 * starting: nothing is listed, because pods of a former process decide. asking: all is as
 * before; a kubelet that does not say who holds what (no podresources) leaves it so.
 * draining: all ids are Unhealthy, so that no pod gets a new one; then the mode changes
 * once the kubelet, asked some time after that list, says that no pod holds any.
 *
 * Pure: times are the caller's (microseconds, monotonic).
 */
#pragma once

#include <glib.h>

typedef struct mode_switch ModeSwitch;

/* How much a former process has told. */
enum mode_saved { MODE_SAVED_NONE, MODE_SAVED_SHARED, MODE_SAVED_EXCLUSIVE };

/* The mode follows a label of the node. */
ModeSwitch *mode_switch_new(gboolean exclusive, enum mode_saved saved, gint64 now_us);
/* The mode is what the configuration says: known at once, unless a former process was in
 * the other one. Changed by an administrator, who may have to do without a guard. */
ModeSwitch *mode_switch_new_fixed(gboolean exclusive, enum mode_saved saved, gint64 now_us);
/* From now on it follows the configuration, or a label. */
void mode_switch_set_order(ModeSwitch *self, gboolean is_order);
void mode_switch_free(ModeSwitch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ModeSwitch, mode_switch_free)

/* --- what happens; TRUE if another list follows --- */

gboolean mode_switch_want(ModeSwitch *self, gboolean exclusive, gint64 now_us);
/* The kubelet's word of 'asked_us': the resource's ids (char *) that pods hold;
 * 'holder' is one of these pods, for people, or NULL. */
gboolean mode_switch_held(ModeSwitch *self, GPtrArray *ids, const char *holder, gint64 asked_us);
/* The same of a kubelet that has just started: there may be other pods, of which it has
 * not heard yet. */
gboolean mode_switch_held_early(ModeSwitch *self, GPtrArray *ids, gint64 asked_us);
/* The kubelet said nothing, for that reason. 'away': it is not there at all, so nothing
 * can be registered either. */
gboolean mode_switch_silent(ModeSwitch *self, const char *reason, gboolean away, gint64 now_us);
/* A list was made from what follows. */
void mode_switch_listed(ModeSwitch *self, gint64 now_us);
/* Devices were given to a container. */
void mode_switch_allocated(ModeSwitch *self, gint64 now_us);

/* --- what follows --- */

/* FALSE: nothing is to be listed yet. */
gboolean mode_switch_is_known(const ModeSwitch *self);
gboolean mode_switch_is_exclusive(const ModeSwitch *self);
gboolean mode_switch_is_draining(const ModeSwitch *self);
/* From when on the kubelet should be asked who holds what; -1: there is no need to. */
gint64 mode_switch_asks_from(const ModeSwitch *self);
/* Moves what is to be said to 'list' (news.h). */
void mode_switch_tell(ModeSwitch *self, GPtrArray *list);
/* "exclusive", or "shared; exclusive mode is wanted and waits for …" */
char *mode_switch_text(const ModeSwitch *self);

/* TRUE if it is the id of a slot, ours ("rdma/hca-17") or that of another plugin ("17",
 * "mlx5_bond_0-17"), and not that of a device. */
gboolean mode_id_is_slot(const char *id);
