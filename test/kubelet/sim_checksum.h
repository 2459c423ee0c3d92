/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksum of the kubelet's checkpoint file: FNV-1a, 32 bits, over what Go's "%#v" (in
 * the form of the spew package, keys sorted) makes of the data in memory.
 */
#pragma once

#include <glib.h>
#include <jansson.h>

/* 'data' is the member "Data" of the file. */
guint32 sim_checksum(const json_t *data);
