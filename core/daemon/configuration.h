/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two configuration files of a running daemon: read at the start, watched, and read
 * again when they change. Says everything that is wrong with them; a file with an error
 * changes nothing.
 */
#pragma once

#include "daemon/options.h"
#include "edge/resource_file.h"

typedef struct configuration Configuration;

/* NULL after every error was said. Sets the log up. 'options' is kept. */
Configuration *configuration_read(const Options *options);
void configuration_free(Configuration *configuration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Configuration, configuration_free)

/* The object stays the same; what may change in it does. */
const Settings *configuration_settings(const Configuration *configuration);
/* Replaced by a reload. */
const ResourceFile *configuration_file(const Configuration *configuration);
/* Seconds between two health polls; 0 = none. */
double configuration_poll_s(const Configuration *configuration);

/* 'changed' is called after what was read again has taken effect here, 'refused' after it
 * was refused. */
void configuration_on_change(Configuration *configuration, void (*changed)(gpointer data),
			     void (*refused)(gpointer data), gpointer data);
/* Reads both files now. */
void configuration_reload(Configuration *configuration);

struct configuration_status {
	guint64 reloads; /* that took effect */
	guint64 refused; /* that did not */
	gint64 changed_us; /* real time of the last that took effect, or of the start */
	gint64 refused_us; /* real time of the last refusal; 0: none since then */
	const char *error; /* the first error of it, or NULL */
};

void configuration_get_status(const Configuration *configuration,
			      struct configuration_status *ret_status);
