/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at the node, for the commands that explain it: its buses, their devices with
 * their health, and what each resource makes of them. Needs no running daemon and
 * changes nothing. A backend is rehearsed first and waited for at most some seconds.
 */
#pragma once

#include "edge/node_check.h"
#include "edge/resource_file.h"
#include "edge/settings.h"
#include "model/overlap.h"
#include "model/resource.h"
#include "model/selector.h"
#include "rdmadp/backend.h"

struct survey_bus {
	char *name;
	char *trouble; /* why there are no devices: refused, or the scan failed; or NULL */
	const struct rdmadp_backend *vtable; /* NULL if it was refused */
	GPtrArray *devices; /* Device *, sorted, as they are known; never NULL */
	GPtrArray *left_out; /* char *: what the backend reported in vain, and why */
	GHashTable *health; /* identity -> struct rdmadp_health *; none: no answer in time */
};

struct survey_resource {
	Resource *resource;
	const struct survey_bus *bus;
	gboolean exclusive;
	GPtrArray *taken; /* Device *: what its selectors take and no other resource keeps */
};

typedef struct survey Survey;

struct survey {
	GPtrArray *buses; /* struct survey_bus * */
	GPtrArray *resources; /* struct survey_resource *, in file order */
	GPtrArray *overlaps; /* struct overlap * */
	NodeCheck *node_check;
	gboolean has_dev; /* FALSE: a tree of another machine is looked at, without its /dev */
	gboolean netns_is_exclusive;
	gboolean label; /* resources with the mode "auto" are exclusive */
	char *label_why; /* or not, because of this */
};

/* What is to be looked at, and how. */
struct survey_plan {
	const Settings *settings;
	const ResourceFile *file; /* NULL: none */
	const char *program; /* that has the command "rehearse" */
	gboolean all_buses; /* those without a resource, too */
	gboolean use_state; /* what the daemon remembers of this node */
};

Survey *survey_take(const struct survey_plan *plan);
void survey_free(Survey *survey);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Survey, survey_free)

/* TRUE if the resource's selectors take the device; else *ret_refusal says why not. */
gboolean survey_judge(const struct survey_resource *resource, const Device *device,
		      struct refusal *ret_refusal);
/* TRUE if the resource has the device. */
gboolean survey_takes(const struct survey_resource *resource, const Device *device);
/* Why the resource does not have a device that it selects; NULL if it has. */
const struct overlap *survey_lost(const Survey *survey, const struct survey_resource *resource,
				  const Device *device);
/* What is there instead of what a resource's selectors ask for (char *). */
GPtrArray *survey_candidates(const struct survey_resource *resource);
/* "ok", "down: …", "not usable: …", "unknown: …". */
char *survey_health(const struct survey_bus *bus, const Device *device);
