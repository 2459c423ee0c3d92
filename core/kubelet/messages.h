/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of the kubelet's three APIs as bytes: structures of ours in, packed
 * bytes out, and back. Nothing outside of messages*.c knows protobuf.
 */
#pragma once

#include <glib.h>

#include "kubelet/preference.h"
#include "model/allocation.h"
#include "model/snapshot.h"

#define MESSAGES_VERSION "v1beta1"

#define METHOD_REGISTER "/v1beta1.Registration/Register"
#define METHOD_OPTIONS "/v1beta1.DevicePlugin/GetDevicePluginOptions"
#define METHOD_LIST_AND_WATCH "/v1beta1.DevicePlugin/ListAndWatch"
#define METHOD_ALLOCATE "/v1beta1.DevicePlugin/Allocate"
#define METHOD_PREFERRED "/v1beta1.DevicePlugin/GetPreferredAllocation"
#define METHOD_PRE_START "/v1beta1.DevicePlugin/PreStartContainer"
#define METHOD_GET_INFO "/pluginregistration.Registration/GetInfo"
#define METHOD_NOTIFY "/pluginregistration.Registration/NotifyRegistrationStatus"
#define METHOD_POD_RESOURCES "/v1.PodResourcesLister/List"

#define MESSAGES_ERROR (messages_error_quark())
GQuark messages_error_quark(void);
enum messages_error {
	MESSAGES_ERROR_MALFORMED, /* no such message */
	MESSAGES_ERROR_ID, /* a device id that cannot be one */
};

/* --- out --- */

/* 'prefers': GetPreferredAllocation is offered. */
GBytes *messages_pack_register(const char *endpoint, const char *resource, gboolean prefers);
GBytes *messages_pack_options(gboolean prefers);
/* The whole list, in the snapshot's order. */
GBytes *messages_pack_list(const Snapshot *snapshot);
/* 'containers': Allocation *, one for each container of the request. */
GBytes *messages_pack_allocations(GPtrArray *containers);
/* 'containers': GPtrArray * of borrowed ids, one for each container of the request;
 * an empty one leaves the choice to the kubelet. */
GBytes *messages_pack_preferred(GPtrArray *containers);
/* Any message without content. */
GBytes *messages_pack_empty(void);
/* What the plugin watcher wants to know; the service is on the same socket. */
GBytes *messages_pack_plugin_info(const char *resource);

/* --- in --- */

/* An AllocateRequest: one GStrv of ids for each container. The ids are valid UTF-8,
 * neither empty nor absurdly long. */
GPtrArray *messages_unpack_allocate(GBytes *bytes, GError **error);

/* A PreferredAllocationRequest: struct preference *, one for each container. */
GPtrArray *messages_unpack_preferred(GBytes *bytes, GError **error);

/* A RegistrationStatus. '*ret_refusal' is NULL when the plugin was taken, else the
 * kubelet's reason. FALSE if it is no such message. */
gboolean messages_unpack_status(GBytes *bytes, char **ret_refusal, GError **error);

/* What one container holds of one resource. */
struct holding {
	char *name_space;
	char *pod;
	char *container;
	char *resource;
	GPtrArray *ids; /* char *, in the kubelet's order */
};
/* A GDestroyNotify. */
void holding_free(gpointer data);

/* A ListPodResourcesResponse: struct holding *, the kubelet's entries merged so that
 * a resource comes once for each container. */
GPtrArray *messages_unpack_pod_resources(GBytes *bytes, GError **error);
