/* SPDX-License-Identifier: Apache-2.0 */
/* How long a backend takes to find its devices among many others. */
#pragma once

#include <glib.h>

/* Milliseconds of one discover call of the backend in the file 'backend', for the tree
 * 'sysfs_root' (absolute). Ends the bench unless it finds 'expected' devices. */
double discovery_ms(const char *backend, const char *sysfs_root, guint expected);
