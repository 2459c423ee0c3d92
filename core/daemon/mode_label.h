/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The label of the node that resources with "mode": "auto" follow, as the settings'
 * mode_label_file says while the daemon runs. A file that cannot be read says nothing:
 * what it said last holds. Its writer may start after us.
 */
#pragma once

#include <glib.h>

#include "edge/settings.h"

typedef struct mode_label ModeLabel;

/* 'changed' is called in the main loop, after the value has changed. */
ModeLabel *mode_label_new(const Settings *settings, void (*changed)(gpointer data), gpointer data);
/* NULL is a no-op. */
void mode_label_free(ModeLabel *label);
/* The settings name another label or file, perhaps. */
void mode_label_configure(ModeLabel *label, const Settings *settings);

/* TRUE if the file says now, to a command, that the node is for exclusive devices.
 * *ret_why is for people, the caller's. */
gboolean mode_label_peek(const Settings *settings, char **ret_why);

/* TRUE while the label is there with the value "true". */
gboolean mode_label_is_exclusive(const ModeLabel *label);
/* FALSE: there is to be a file, and none could be read so far. */
gboolean mode_label_is_known(const ModeLabel *label);
