/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that look at the node and tell what they see (rdmadp(8)). */
#pragma once

#include "daemon/options.h"
#include "daemon/survey.h"
#include "edge/json.h"
#include "edge/json_writer.h"

/* Each prints to stdout and returns the exit status. */
int command_devices(const Options *options);
int command_explain(const Options *options);
/* Asks the running daemon. */
int command_status(const Options *options);

/* The text of the two. */
char *devices_text(const Survey *survey, gboolean json);
/* 'only' is a resource's full name or its name part; NULL = all. NULL if there is no
 * such resource. */
char *explain_text(const Survey *survey, const char *only, gboolean json);
/* Of a snapshot of the status socket, for people; 'now_s' is Unix time. */
char *status_command_text(const JsonValue *snapshot, gint64 now_s);

/* --- what they share --- */

/* From now on only errors are logged: the answer is what is printed. */
void commands_be_quiet(void);
/* From the settings file and the command line, for a program that logs errors only; NULL
 * after every error was printed. */
Settings *commands_settings(const Options *options);
/* To stderr; empties the list. */
void commands_print_errors(const char *path, GPtrArray *findings);
/* TRUE if what the daemon remembers is about the tree that is looked at. */
gboolean commands_use_state(const Options *options);

/* An array of what the backend reported in vain. */
void commands_write_left_out(JsonWriter *json, const char *name, const struct survey_bus *bus);

/* --- how a device is described; all owned by the caller --- */

char *describe_ids(const Device *device); /* "15b3:101d" */
char *describe_rdma(const Device *device); /* "mlx5_0, mlx5_1" */
char *describe_pcie(const Device *device); /* root and bridges: "pci0000:3a/0000:3a:00.0" */
char *describe_netdevs(const Device *device); /* "ens1f0np0 (+8 representors)" */
char *describe_link(const Device *device); /* "ether" */
char *describe_ports(const Device *device); /* "1 ACTIVE" */
void describe_json(JsonWriter *json, const Device *device); /* members of an object */
