/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's rules for names. Pure. */
#pragma once

#include <glib.h>

#define SIM_API_VERSION "v1beta1"

/* "prefix/name" as an extended resource may be called. */
gboolean sim_name_is_resource(const char *name);
/* A name of an environment variable that a container can be given. */
gboolean sim_name_is_env(const char *name);
/* "vendor.com/class=name". */
gboolean sim_name_is_cdi(const char *name);

/* The checks of a registration, in the kubelet's order and with its texts; NULL if
 * there is nothing against it. */
char *sim_name_refuse(const char *version, const char *resource);
