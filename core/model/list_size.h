/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes a list takes on its way to the kubelet. A kubelet refuses a
 * message above 4 MiB, for ever and without telling anyone but its own log, so a
 * list that could grow beyond must be refused when the configuration is read.
 */
#pragma once

#include <glib.h>

#define LIST_SIZE_LIMIT ((gsize)4 * 1024 * 1024)

/* One device of a list, in bytes; numa_node -1 = no topology. */
gsize list_size_device(gsize id_length, gboolean healthy, int numa_node);

/* The list of slots "<full_name>-0" to "<full_name>-<n_slots - 1>" in its longest
 * form: all Unhealthy and, with 'topology', none on NUMA node 0. */
gsize list_size_bytes(const char *full_name, guint n_slots, gboolean topology);

/* The largest number of slots whose longest list is within the limit. */
guint list_size_max_slots(const char *full_name, gboolean topology);
