/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the resource file's reader. For resource_*.c and sriov_*.c only. */
#pragma once

#include "edge/json.h"
#include "model/finding.h"
#include "model/resource_config.h"

#define DEFAULT_BUS "pci"

/* One entry of configList. Errors are reported; what could be read is returned. */
ResourceConfig *resource_parse_entry(const JsonValue *object, GPtrArray *findings);

/* FALSE if nothing in "selectors" says which devices: absent, null or all empty. */
gboolean resource_selectors_given(const JsonValue *selectors);
/* Fills bus and selectors. */
void resource_parse_selectors(const JsonValue *selectors, ResourceConfig *config,
			      GPtrArray *findings);
/* Fills selectors from "devices", the old name of selectors.ifNames. */
void resource_parse_devices(const JsonValue *devices, ResourceConfig *config, GPtrArray *findings);

/* One value of a selector list, normalised; NULL, reported, if it is not valid. */
char *resource_parse_value(const JsonValue *item, enum selector_key key, const char *bus,
			   GPtrArray *findings);
/* All values of a list; repeated ones are reported and left out. NULL if there is
 * nothing in it. */
GStrv resource_parse_list(const JsonValue *list, enum selector_key key, const char *bus,
			  GPtrArray *findings);
/* The same of any text that 'check' (may be NULL) finds right. */
GStrv resource_parse_texts(const JsonValue *list, const char *(*check)(const char *text),
			   GPtrArray *findings);

/* "health": { … } of a resource. */
void resource_parse_health(const JsonValue *value, struct health_overrides *health,
			   GPtrArray *findings);
/* "mounts": [ … ] of a resource. */
void resource_parse_mounts(const JsonValue *value, ResourceConfig *config, GPtrArray *findings);
