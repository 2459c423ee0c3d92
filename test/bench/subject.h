/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that are measured, on a node of their own: a directory with the fake
 * sysfs of HCAs (eight, or more in exclusive mode), the configuration and the kubelet's directory.
 */
#pragma once

#include <glib.h>

#include "bench/process.h"
#include "support/big_tree.h"

enum subject_bus { SUBJECT_PCI, SUBJECT_MOCK };

struct subject {
	int which; /* SUBJECT_FLOOR or SUBJECT_DAEMON */
	const char *program;
	const char *backend_dir; /* the daemon's */
	enum subject_bus bus;
	guint resources;
	guint slots; /* of each resource */
	gboolean exclusive; /* the slots are devices, on the pci bus */
};

/* Of the i-th device on the pci bus. */
char *subject_device_id(guint i);

/* A temporary directory. */
char *subject_make_node(const struct subject *subject);
/* dir/kubelet, where the sockets go. */
char *subject_kubelet_dir(const char *node);
Process *subject_start(const struct subject *subject, const char *node);
/* Makes one device change its health, between good and bad. */
void subject_change_one(const struct subject *subject, const char *node, const Process *process,
			gboolean is_healthy);
/* The first device on the pci bus has an interface of this name; what sysfs says of the
 * state of its port. */
#define SUBJECT_INTERFACE "ens0np0"
void subject_set_link(const char *node, gboolean is_active);
/* A temporary directory whose 'sys' has that many PCI functions. */
char *subject_make_crowd(const struct big_tree *crowd);
void subject_remove_node(const char *node);
