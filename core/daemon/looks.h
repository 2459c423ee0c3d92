/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health reads of one bus: at most one of each device at a time, what is asked for
 * meanwhile comes after it, and results that come at about the same time are one
 * occasion to tell the kubelet.
 */
#pragma once

#include <glib.h>

#include "model/device.h"

typedef struct looks Looks;

struct looks_ops {
	/* Starts a read; looks_done follows when it ends. */
	void (*start)(Device *device, gpointer data);
	/* The read of this device hangs: it has not come back for a second. Told once. */
	void (*stuck)(Device *device, gpointer data);
	/* All reads have ended, or those that have not are slow. */
	void (*settled)(gpointer data);
};

Looks *looks_new(const struct looks_ops *ops, gpointer data);
void looks_free(Looks *looks);

/* 'news': something may have changed just now, so that a read that is under way is
 * followed by another; so it is if the device is not the one of that read any more. */
void looks_at(Looks *looks, Device *device, gboolean news);
/* TRUE if that is so: what the read says is not about the device as it is now. */
gboolean looks_is_outdated(const Looks *looks, const Device *device);
void looks_done(Looks *looks, Device *device);
/* 'settled' follows: now, or with the reads that were started. */
void looks_settle(Looks *looks);
