/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices as text: the expected output of fixture tests and what
 * 'rdmadp-backend-check --dump' prints. The text is the format that the mock backend
 * reads (backends/mock/README.md), so a dump of a real machine can be replayed.
 */
#pragma once

#include <glib.h>

#include "rdmadp/backend.h"

/* Appends "device ID" and one indented line for each fact; what is NULL, zero or not
 * known is left out. Nodes stand below their RDMA device; a node of an RDMA device that
 * the device does not have is left out, too. Otherwise lists keep their order. */
void dump_device(GString *out, const struct rdmadp_device *reported);

/* Appends the line "  health …". */
void dump_health(GString *out, const struct rdmadp_health *health);

/* For discover: dump_emit adds the device's text to a GPtrArray of strings, dump_join
 * sorts them, which is by id, and puts them together with an empty line between. */
int dump_emit(void *texts, const struct rdmadp_device *device);
char *dump_join(GPtrArray *texts);

/* init, one discover, one health for each device that keeps the contract, fini: all in
 * one text. What the backend logs is added to 'log' (may be NULL), a line "warning: text"
 * each. NULL and an error when a call fails. */
char *dump_scan(const struct rdmadp_backend *backend, const char *sysfs_root, const char *dev_root,
		GString *log, GError **error);

/* Compares the text with the file. With UPDATE_EXPECTED=1 in the environment the file
 * is written instead. The error names the first line that differs. */
gboolean dump_expect(const char *text, const char *path, GError **error);
