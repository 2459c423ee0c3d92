/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HCA as the core knows it: an immutable, reference-counted copy of what a
 * backend reported. Pure: touches nothing but memory, any thread.
 *
 * The copy keeps the layout of the public contract, at the size that this core
 * knows (what an older backend did not fill is zero), so that it can be handed
 * back to the backend's match and health as it is.
 */
#pragma once

#include <glib.h>

#include "rdmadp/backend.h"

typedef struct device Device;

/* Deep copy after validation: id and identity present, printable ASCII without
 * white space, at most 63 bytes for id; node names and sysfs directories relative,
 * without '..'; all text valid UTF-8 without control characters; list lengths sane.
 * The text of an error (DEVICE_ERROR) names the member and its value. */
Device *device_copy(const struct rdmadp_device *reported, GError **error);
/* The same device under another identity, which is valid. */
Device *device_copy_as(const Device *device, const char *identity);
Device *device_ref(Device *device);
void device_unref(Device *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Device, device_unref)

/* The contract's view; owned by the device. */
const struct rdmadp_device *device_abi(const Device *device);
const char *device_id(const Device *device);
const char *device_identity(const Device *device);

/* First value of an attribute, or NULL. */
const char *device_attribute(const Device *device, const char *key);

/* TRUE if both report exactly the same (order of lists included). */
gboolean device_equal(const Device *a, const Device *b);

/* "ether" and "infiniband", as linkTypes has them, or "unknown". */
const char *device_link_name(guint32 link_layer);

/* Orders by id: by bytes, which is bus order for zero-padded addresses. */
int device_compare(const Device *a, const Device *b);

#define DEVICE_ERROR (device_error_quark())
GQuark device_error_quark(void);
