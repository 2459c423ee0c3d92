/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One resource: which HCAs it has, in which order, and what follows for the list and
 * for an Allocate. Pure state; the daemon feeds it and publishes its snapshots.
 */
#pragma once

#include "model/allocation.h"
#include "model/device.h"
#include "model/resource_config.h"
#include "model/snapshot.h"

typedef struct resource Resource;

/* An HCA that the selectors took, as the resource sees it. */
struct hca {
	Device *device; /* the last report of it, held */
	guint ordinal; /* its number in this resource, from its first discovery on */
	gboolean present; /* in the last scan */
	gboolean healthy; /* by its port and its presence, as resource_set_health said */
	char *reason; /* why not, or NULL */
	char *missing; /* which required file is missing, or NULL: complete */
};

Resource *resource_new(ResourceConfig *config);
void resource_free(Resource *resource);
const ResourceConfig *resource_config(const Resource *resource);

/* The HCAs (Device *) that a scan found and the selectors took. Others that were
 * here before stay as not present. */
void resource_set_devices(Resource *resource, GPtrArray *devices);
/* Health of one HCA by identity. FALSE if the resource does not have it. */
gboolean resource_set_health(Resource *resource, const char *identity, gboolean healthy,
			     const char *reason);
/* struct hca *, by ordinal; borrowed. */
GPtrArray *resource_hcas(const Resource *resource);

/* A new snapshot of the present state. */
Snapshot *resource_snapshot(const Resource *resource);

/* Why the resource has no healthy slot, for people; NULL if it has one. */
char *resource_trouble(const Resource *resource);
