/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's side of the messages, from short texts: see fake_plugin.h. */
#pragma once

#include "kubelet/fake_plugin.h"

GBytes *fake_pack_register(const FakePlugin *plugin);
GBytes *fake_pack_options(gboolean preferred, gboolean pre_start);
GBytes *fake_pack_list(const char *devices);
GBytes *fake_pack_allocated(const char *response);
GBytes *fake_pack_preferred(const char *ids);
GBytes *fake_pack_info(const char *type, const char *name, const char *version);
/* The error of a RegistrationStatus; NULL if it says "registered". */
char *fake_unpack_status(GBytes *message);
