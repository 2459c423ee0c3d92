/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that look at the node and tell what they see (rdmadp(8)). */
#pragma once

#include "daemon/options.h"
#include "daemon/survey.h"

/* Each prints to stdout and returns the exit status. */
int command_devices(const Options *options);
int command_explain(const Options *options);

/* The text of the two, for tests. */
char *devices_text(const Survey *survey, gboolean json);
/* 'only' is a resource's full name or its name part; NULL = all. NULL if there is no
 * such resource. */
char *explain_text(const Survey *survey, const char *only, gboolean json);

/* Reads both files and looks at the node. 'need_file' FALSE: without a readable
 * resource file all backends are asked. NULL after every error was printed. */
Survey *commands_survey(const Options *options, gboolean need_file);

/* How a device is described in tables and JSON: "mlx5_0, mlx5_1", "ens1f0np0",
 * "ether", "1: ACTIVE". All owned by the caller. */
char *describe_rdma(const Device *device);
char *describe_netdevs(const Device *device);
char *describe_link(const Device *device);
char *describe_ports(const Device *device);
