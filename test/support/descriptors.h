/* SPDX-License-Identifier: Apache-2.0 */
/* A process that may open no more files. */
#pragma once

#include <glib.h>
#include <sys/resource.h>

/* From now on only 'n' can be opened. The limit of before. */
struct rlimit descriptors_leave(guint n);
void descriptors_give_back(const struct rlimit *before);
