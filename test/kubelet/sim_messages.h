/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's side of the messages: what it sends packed, what it receives
 * decoded. Decoders return NULL and set *ret_problem where the kubelet's own
 * decoder would fail ('check_utf8': as since 1.34).
 */
#pragma once

#include <glib.h>

#include "deviceplugin.pb-c.h"

/* One device of a list, as the plugin sent it. */
struct sim_device {
	char *id;
	char *health;
	gboolean has_topology; /* a TopologyInfo is there, perhaps without nodes */
	GArray *nodes; /* gint64 */
};

struct sim_device *sim_device_new(const char *id, const char *health);
void sim_device_free(struct sim_device *device);
gboolean sim_device_equal(const struct sim_device *a, const struct sim_device *b);

struct sim_options_answer {
	gboolean pre_start_required;
	gboolean preferred_available;
};

typedef V1beta1__RegisterRequest SimRegister;
typedef V1beta1__AllocateResponse SimAllocated;
void sim_register_free(SimRegister *message);
void sim_allocated_free(SimAllocated *message);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimRegister, sim_register_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimAllocated, sim_allocated_free)

GBytes *sim_pack_empty(void);
GBytes *sim_pack_allocate(const char *const *ids);
GBytes *sim_pack_preferred(const char *const *available, const char *const *must, int size);
GBytes *sim_pack_pre_start(const char *const *ids);

SimRegister *sim_unpack_register(GBytes *bytes, gboolean check_utf8, const char **ret_problem);
gboolean sim_unpack_options(GBytes *bytes, struct sim_options_answer *ret_options,
			    const char **ret_problem);
/* struct sim_device *, in the order of the message. */
GPtrArray *sim_unpack_list(GBytes *bytes, gboolean check_utf8, const char **ret_problem);
/* The ids of the first container response; NULL without a problem if there is none. */
GStrv sim_unpack_preferred(GBytes *bytes, gboolean check_utf8, const char **ret_problem);
SimAllocated *sim_unpack_allocated(GBytes *bytes, gboolean check_utf8, const char **ret_problem);
