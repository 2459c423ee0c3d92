/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps devices back from resources while pods may hold them through others
 * (model/custody.h), and asks the kubelet about that.
 */
#pragma once

#include "daemon/holders.h"
#include "model/saved_state.h"

typedef struct custodian Custodian;

/* 'freed' is called in the main loop when a device is not kept back any more. 'before':
 * what a former process has left, or NULL. */
Custodian *custodian_new(Holders *holders, const SavedState *before, void (*freed)(gpointer data),
			 gpointer data);
/* NULL is a no-op. */
void custodian_free(Custodian *custodian);

/* As custody_save. */
void custodian_save(const Custodian *custodian, SavedState *state);

/* As custody_settle. */
void custodian_settle(Custodian *custodian, const char *bus, GPtrArray *claims);
