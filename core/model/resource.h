/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One resource: which HCAs it has, in which order, and what follows for the list and
 * for an Allocate. Pure state; the daemon feeds it and publishes its snapshots.
 *
 * A device counts as an HCA from the moment when it was an RDMA adapter for the first
 * time (struct hca, usable), is good from when its files were complete (ready). From then on resource_set_health alone decides whether it is
 * good, so that delays and limits are in one place: who feeds it has to observe an
 * HCA that is not present or lacks a file (hca_problem) as bad. Files are handed out
 * of HCAs that are present and complete now, whatever their health.
 */
#pragma once

#include "model/allocation.h"
#include "model/device.h"
#include "model/hca.h"
#include "model/resource_config.h"
#include "model/snapshot.h"

typedef struct resource Resource;

/* Takes the reference to config over. */
Resource *resource_new(ResourceConfig *config);
/* Without any HCA, in the same mode and with the same probe. */
Resource *resource_new_like(const Resource *resource, ResourceConfig *config);
void resource_free(Resource *resource);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Resource, resource_free)
const ResourceConfig *resource_config(const Resource *resource);

/* Whether the kubelet's devices are HCAs (exclusive.h) or slots (shared.h): from the
 * start as 'mode' says, "auto" as shared; the snapshots to come are as was set last. */
void resource_set_exclusive(Resource *resource, gboolean exclusive);
gboolean resource_is_exclusive(const Resource *resource);

/* The HCAs (Device *) that a scan found and the selectors took, in any order. Others
 * that were here before stay as not present. */
void resource_set_devices(Resource *resource, GPtrArray *devices);
/* How its character devices are looked at; borrowed. */
void resource_set_probe(Resource *resource, const struct hca_probe *probe);
/* Looks at those of one HCA again; TRUE if another one is missing now, or none any more. */
gboolean resource_probe(Resource *resource, const char *identity);

/* Before resource_set_devices: why an HCA will not be among them though it is on the bus;
 * NULL: it is not. */
void resource_set_refusal(Resource *resource, const char *identity, const char *why);
/* Health of one HCA by identity. FALSE if the resource does not have it. */
gboolean resource_set_health(Resource *resource, const char *identity, gboolean healthy,
			     const char *reason);
/* struct hca *, by ordinal; borrowed. */
GPtrArray *resource_hcas(const Resource *resource);
/* By identity; NULL if the resource never had it. */
const struct hca *resource_find(const Resource *resource, const char *identity);

/* What outlives the process: the HCAs in the order of their ordinals. */
struct saved_hca {
	Device *device; /* held */
	gboolean usable, ready;
	gboolean healthy; /* as resource_set_health said last */
	gboolean was_good; /* whether it was ever seen good: for who feeds the resource */
	char *reason; /* why it is not healthy, or NULL */
};

void saved_hca_free(struct saved_hca *saved);
/* struct saved_hca * */
GPtrArray *resource_save(const Resource *resource);
/* Into a resource that has no HCA yet. They count as present, as if a scan had just
 * found them, and their health is what it was. */
void resource_restore(Resource *resource, GPtrArray *saved);

/* A new snapshot of the present state. */
Snapshot *resource_snapshot(const Resource *resource);

/* Looks at a file again before it is handed out, and hears what is left out. */
struct file_checker {
	/* The host path to hand out, or NULL and an error. */
	char *(*resolve)(const struct char_file *file, gpointer data, GError **error);
	void (*left_out)(const char *text, gpointer data); /* NULL: nobody listens */
	gpointer data;
};

/* The answer to an Allocate from the snapshot that the kubelet saw, in the mode that
 * this has: files, mounts and variables, sorted, each once. 'checker' NULL: the paths as they are. NULL and an
 * error for the pod's author when there is nothing to hand out. */
Allocation *resource_compose(const ResourceConfig *config, const Snapshot *snapshot,
			     const char *const *ids, gsize n_ids,
			     const struct file_checker *checker, GError **error);

#define RESOURCE_ERROR (resource_error_quark())
GQuark resource_error_quark(void);

/* Why the resource has no healthy slot, for people; NULL if it has one. */
char *resource_trouble(const Resource *resource);
