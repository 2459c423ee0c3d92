/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last look at a character device before a container gets it. Drivers come and
 * go: between the scan and the Allocate uverbs2 may have become another HCA's. Reads
 * two short attributes that the kernel answers from memory; never asks hardware.
 */
#pragma once

#include <glib.h>

#include "model/snapshot.h"
#include "rdmadp/backend.h"

typedef struct node_check NodeCheck;

/* Holds the two roots open, so that a check resolves short paths only, and the
 * attributes that it has read. A root that
 * cannot be opened makes the checks that need it pass: without a visible /dev there
 * is nothing to compare; so does a /dev without RDMA nodes, which is a container's. */
NodeCheck *node_check_new(const char *sysfs_root, const char *dev_root);
void node_check_free(NodeCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NodeCheck, node_check_free)

/* After a change of devices: takes the roots that are there now, and closes the
 * attributes. */
void node_check_forget(NodeCheck *check);

/* The host path to hand out for 'file': normally its own; another one if its RDMA
 * device has meanwhile got another node of the same kind. NULL and an error if
 * there is none, or if the node under the device root is no character device with
 * the right number. */
char *node_check_resolve(NodeCheck *check, const struct char_file *file, GError **error);

/* The host path of a uverbs node whose RDMA device has another name by now, as udev gives
 * them: it must be the only one of its bus device. NULL if it is not so. For containers
 * that are not told the name. */
char *node_check_resolve_renamed(NodeCheck *check, const struct char_file *file);

/* 'data' is the NodeCheck. NULL, or what is wrong with the node that pods would get now.
 * Nothing is where sysfs no longer says what the last scan saw (the next one will see),
 * and where the device root lacks the whole directory. */
char *node_check_look(const struct rdmadp_node *node, gpointer data);

/* Character devices below the device root that the patterns (absolute paths below
 * /dev, globs allowed) name: host paths, sorted. Anything else that a pattern
 * matches is passed over. NULL and an error if a pattern matches no character
 * device. */
GStrv node_check_expand(NodeCheck *check, const char *const *patterns, GError **error);
