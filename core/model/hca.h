/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HCA in one resource: a device that the selectors took, whether the character
 * devices that the resource asks for are complete, and which ones a container gets.
 */
#pragma once

#include "model/device.h"
#include "model/resource_config.h"
#include "model/snapshot.h"

struct hca {
	Device *device; /* the last report of it, held */
	guint ordinal; /* its number in this resource, from its first discovery on */
	gboolean present; /* in the last scan, and selected */
	char *refusal; /* why it is not, if it is on the bus; else NULL */
	gboolean usable; /* had a driver and an RDMA device at least once: it may count */
	gboolean ready; /* its files were complete at least once */
	gboolean healthy; /* as resource_set_health said last; TRUE until then */
	char *reason; /* why not, or NULL */
	char *missing; /* what its last report lacks, or NULL: complete */
	const char *remedy; /* what helps against 'missing', or NULL */
};

/* A look at a character device where pods would get it from: NULL, or what is wrong. */
struct hca_probe {
	char *(*look)(const struct rdmadp_node *node, gpointer data); /* NULL: none */
	gpointer data;
};

void hca_free(struct hca *hca);

/* Takes the report of a scan and judges its files by the rules of 'charDevices'; 'probe'
 * may be NULL. */
void hca_set_device(struct hca *hca, Device *device, const ResourceConfig *config,
		    const struct hca_probe *probe);

/* TRUE if the resource has it: it was an RDMA adapter here once. One that has appeared
 * without all of its files has some time to get them, and does not count until it has,
 * or until resource_set_health says that the time is over. */
gboolean hca_counts(const struct hca *hca);
/* TRUE if a pod may count on it: ready and healthy. */
gboolean hca_is_good(const struct hca *hca);
/* TRUE if its files can be handed out now: present and complete. */
gboolean hca_is_complete(const struct hca *hca);

/* Its NUMA node, where it is known and one that a kubelet can take; else -1. */
int hca_numa_node(const struct hca *hca);
/* Why it is not good, or why its files are not handed out; NULL if nothing is wrong. */
const char *hca_problem(const struct hca *hca);

/* The numbers of the character devices that a container gets with it: "uverbs" ->
 * "231:192". */
GHashTable *hca_numbers(const struct hca *hca, const ResourceConfig *config);
/* Adds the files that a container gets with it to a list of char_files_new. */
void hca_add_files(const struct hca *hca, const ResourceConfig *config, GPtrArray *files);
