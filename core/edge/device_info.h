/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others are told about the devices of a container, in the formats of the SR-IOV
 * network device plugin: variables for the container, and the device-info files of the
 * Network Plumbing Working Group, which Multus and CNI plugins read.
 */
#pragma once

#include "model/allocation.h"
#include "model/resource_config.h"

/* Adds PCIDEVICE_<PREFIX>_<NAME>, the ids, and PCIDEVICE_<PREFIX>_<NAME>_INFO, a JSON
 * object with an entry for each; both a second time with '_' for '-', where the resource's
 * name has that: a shell cannot say such a name. */
void device_info_add_env(Allocation *allocation, const ResourceConfig *config);

typedef struct device_info_dir DeviceInfoDir;

/* The files of one resource in the directory 'path', which need not be there. */
DeviceInfoDir *device_info_dir_new(const char *path, const char *resource);
/* Removes the files that it has written. NULL is a no-op. */
void device_info_dir_free(DeviceInfoDir *dir);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeviceInfoDir, device_info_dir_free)

/* Writes a file for each PCI device of the allocation. */
gboolean device_info_dir_write(DeviceInfoDir *dir, const Allocation *allocation, GError **error);
/* Removes what a former process may have left of a device. */
void device_info_dir_remove(DeviceInfoDir *dir, const char *id);
