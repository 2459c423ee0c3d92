/* SPDX-License-Identifier: Apache-2.0 */
/* Whether something is mounted at a path. */
#pragma once

#include <glib.h>

/* 'mountinfo': the table, such as MOUNT_POINT_TABLE. FALSE where it cannot be read. */
gboolean mount_point_is(const char *mountinfo, const char *path);

#define MOUNT_POINT_TABLE "/proc/self/mountinfo"
