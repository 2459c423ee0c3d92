/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kubelet which pods hold which devices (podresources API, List). Nothing of
 * rdmadp depends on an answer: without one, ids are only never retired.
 *
 * The kubelet limits how often it may be asked, so questions that come together share
 * one answer, and there is a pause between two.
 */
#pragma once

#include <glib.h>

#include "edge/rpc.h"
#include "kubelet/holdings.h"

#define POD_RESOURCES_ERROR (pod_resources_error_quark())
GQuark pod_resources_error_quark(void);
enum pod_resources_error {
	POD_RESOURCES_ERROR_ABSENT, /* there is no such socket */
	POD_RESOURCES_ERROR_AWAY, /* nobody listens there: the kubelet does not run */
	POD_RESOURCES_ERROR_FAILED,
};

typedef struct pod_resources PodResources;

/* Called once. 'holdings' is borrowed, and NULL if there is an error. */
typedef void (*pod_resources_done_fn)(Holdings *holdings, const GError *error, gpointer data);

PodResources *pod_resources_new(Rpc *rpc, const char *socket_path);
/* Questions without an answer get none any more. NULL is a no-op. */
void pod_resources_free(PodResources *self);

/* The answer comes later, and the kubelet makes it after this call. */
void pod_resources_ask(PodResources *self, pod_resources_done_fn done, gpointer data);
