/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks whether a device of an exclusive resource was given to two containers. There are
 * kubelets that do it (kubernetes/kubernetes PR 137534), and nothing in an Allocate shows
 * it: the same id twice can be one pod that is admitted again. So the kubelet is asked
 * some time after an Allocate who holds what. It can only be said.
 */
#pragma once

#include "daemon/holders.h"

typedef struct double_watch DoubleWatch;

/* By then a kubelet has written down what it has given away. */
#define DOUBLE_WATCH_DELAY_MS 5000

/* 'resource' is "prefix/name". */
DoubleWatch *double_watch_new(Holders *holders, const char *resource, guint delay_ms);
/* NULL is a no-op. */
void double_watch_free(DoubleWatch *watch);

/* Devices were given to a container just now: one look follows, for all that are given
 * until then. */
void double_watch_allocated(DoubleWatch *watch);
