/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pods hold which devices, for everybody in the process who wants to know: one
 * client that asks the kubelet, and only when somebody needs an answer that is newer
 * than the last one.
 *
 * A kubelet that is asked while it admits a pod can forget what it has just given away
 * (kubernetes/kubernetes PR 137534). So a question waits until no Allocate has come for
 * a moment, though not for ever.
 */
#pragma once

#include <glib.h>

#include "kubelet/pod_resources.h"

typedef struct holders Holders;

Holders *holders_new(Rpc *rpc, const char *socket_path);
/* Questions without an answer get none any more. NULL is a no-op. */
void holders_free(Holders *holders);

/* Asks for the kubelet's word of 'from_us' (monotonic; it may lie ahead) or later.
 * 'done' is called once, not before this returns. */
void holders_ask(Holders *holders, gint64 from_us, pod_resources_done_fn done, gpointer data);
/* Questions that were asked with this 'data' are not answered any more. */
void holders_forget(Holders *holders, gconstpointer data);

/* An Allocate was answered just now. */
void holders_allocated(Holders *holders);

/* For so long after its start a kubelet is not believed; 0 by default. */
void holders_set_settle_time(Holders *holders, double seconds);
/* FALSE: it may not know all of the pods, so nothing follows from what it does not say. */
gboolean holders_knows_all(const Holders *holders, const Holdings *holdings);
/* Of an error that came as an answer: there is no kubelet now, but there may be one soon. */
gboolean holders_is_away(const Holders *holders, const GError *error);
