/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks JSON against a schema. Of JSON Schema it knows type, const, enum, minimum,
 * required, properties, additionalProperties: false, items, oneOf and $ref into the
 * same schema; any other word that would say something ends the test.
 */
#pragma once

#include <glib.h>
#include <jansson.h>

/* NULL, or what is wrong and where. */
char *json_schema_problem(const json_t *schema, const json_t *value);
