/* SPDX-License-Identifier: Apache-2.0 */
/* GUIDs, by which devices are known that have no lasting address. */
#pragma once

#include "common/sysfs.h"

/* FALSE where there is none now. A text that is no GUID is said, once. Scan thread only. */
bool guid_read(struct sysfs *sysfs, const char *dir, const char *name, char guid[SYSFS_TEXT]);
