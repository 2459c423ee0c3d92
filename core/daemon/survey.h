/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at the node, for the commands that explain it: every bus that is there or
 * configured, its devices with their health, and what each resource makes of them.
 * Needs no running daemon.
 */
#pragma once

#include "edge/resource_file.h"
#include "edge/settings.h"
#include "model/resource.h"
#include "rdmadp/backend.h"

struct survey_bus {
	char *name;
	char *trouble; /* why there are no devices: refused, or the scan failed; or NULL */
	const struct rdmadp_backend *vtable; /* NULL if it was refused */
	GPtrArray *devices; /* Device *, sorted; never NULL */
	GHashTable *health; /* identity -> struct rdmadp_health *; none: no answer in time */
};

struct survey_resource {
	Resource *resource;
	const struct survey_bus *bus;
};

typedef struct survey Survey;

struct survey {
	GPtrArray *buses; /* struct survey_bus *: those of the file, else all backends */
	GPtrArray *resources; /* struct survey_resource *, in file order */
};

/* 'file' may be NULL: then all backends of the directory are asked. Takes as long as
 * the slowest bus, at most a few seconds. */
Survey *survey_take(const Settings *settings, const ResourceFile *file);
void survey_free(Survey *survey);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Survey, survey_free)

/* TRUE if the resource takes the device; else *ret_refusal says why not. */
struct refusal;
gboolean survey_judge(const struct survey_resource *resource, const Device *device,
		      struct refusal *ret_refusal);
/* What is there instead of what a resource's selectors ask for (char *). */
GPtrArray *survey_candidates(const struct survey_resource *resource);
/* "ok", "unhealthy: …", "unknown: …". */
char *survey_health(const struct survey_bus *bus, const Device *device);
