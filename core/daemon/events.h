/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells, turned into looks and scans. A hint is looked into at once;
 * scans wait until events pause. Without a kernel that tells anything, polling finds
 * the same.
 */
#pragma once

#include <glib.h>

typedef struct events Events;

struct events_ops {
	/* This network interface went up or down, came or went. TRUE if a device depends
	 * on it: then the same is asked again a moment later. */
	gboolean (*link)(const char *name, gpointer data);
	/* Something about devices or drivers is changing. */
	void (*look)(gpointer data);
	/* It has changed: time for a scan. */
	void (*scan)(gpointer data);
};

Events *events_new(const struct events_ops *ops, gpointer data);
void events_free(Events *events);
