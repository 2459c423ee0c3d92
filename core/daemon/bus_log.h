/* SPDX-License-Identifier: Apache-2.0 */
/* What a bus tells in the log, each thing once. */
#pragma once

#include "model/device.h"

typedef struct bus_log BusLog;

BusLog *bus_log_new(const char *bus);
void bus_log_free(BusLog *log);

/* A health read of the device hangs. */
void bus_log_stuck(BusLog *log, const Device *device);
/* A scan has ended, with an error if that is not NULL: then what is known is kept. */
void bus_log_scan(BusLog *log, const GError *error, guint n_known);
/* Devices (Device *) that have the identity of another one. */
void bus_log_doubles(BusLog *log, GPtrArray *doubles);
/* What the first scan has found (Device *). */
void bus_log_found(const BusLog *log, const GPtrArray *found);

/* Of the last scan; NULL: none. */
const char *bus_log_scan_trouble(const BusLog *log);
