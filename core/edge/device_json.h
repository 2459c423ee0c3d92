/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device as JSON, for what outlives the process: all that a backend reported, in
 * short form. What is NULL, zero or not known is left out.
 */
#pragma once

#include "edge/json.h"
#include "edge/json_writer.h"
#include "model/device.h"

void device_json_write(JsonWriter *writer, const char *key, const Device *device);

/* NULL and an error that names the place if it is no device that a backend could have
 * reported. */
Device *device_json_read(const JsonValue *value, GError **error);
