/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one resource offers at one moment: the list for the kubelet and all that an
 * Allocate needs. Immutable and reference-counted; any thread. Built by resource.c,
 * read by the kubelet side.
 */
#pragma once

#include <glib.h>

#include "model/device.h"

/* One device of the kubelet's list: in shared mode a slot. */
struct slot {
	char *id; /* "rdma/hca_shared_devices_a-0"; unique over all resources; borrowed */
	gboolean healthy;
	int numa_node; /* -1 = say nothing about topology */
};

/* A character device that a container gets. */
struct char_file {
	char *host_path; /* "/dev/infiniband/uverbs0": same path in the container */
	char *dev_name; /* below the device root: "infiniband/uverbs0" */
	char *rdma_device; /* NULL for rdma_cm, and vendors' nodes that belong to none */
	gboolean required; /* without it a pod cannot use what it belongs to */
	char *sysfs_dir; /* below the sysfs root, for the check at Allocate; or NULL */
	guint dev_major, dev_minor;
};

void char_file_free(struct char_file *file);

/* struct char_file *: an empty list that owns what it has. */
GPtrArray *char_files_new(void);
/* Takes file over; keeps the order by host_path, the first of two with the same. */
void char_files_add(GPtrArray *files, struct char_file *file);

/* In exclusive mode: what is behind one device of the list. */
struct unit {
	char *id; /* that of its slot */
	Device *device; /* held */
	char *problem; /* why it cannot be handed out now; NULL: it can */
	GPtrArray *files; /* struct char_file *: what a container gets with it */
};

/* The ids of a list, in order. A resource shows the same ids again and again, and
 * there can be a hundred thousand of them: its snapshots share them. Immutable. */
typedef struct slot_ids SlotIds;

/* "base-0", "base-1", … */
SlotIds *slot_ids_new(const char *base, guint n);
SlotIds *slot_ids_ref(SlotIds *ids);
void slot_ids_unref(SlotIds *ids);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SlotIds, slot_ids_unref)
guint slot_ids_count(const SlotIds *ids);

typedef struct snapshot Snapshot;

struct snapshot {
	gatomicrefcount refs;
	char *resource; /* "rdma/hca_shared_devices_a" */
	GPtrArray *slots; /* struct slot *, in stable order */
	GHashTable *slot_index; /* the ids, to be looked up; see snapshot_find */
	SlotIds *ids; /* owns them */
	GPtrArray *blocks; /* memory of the slots */
	guint n_free; /* slots that the last block still has */
	GPtrArray *files; /* of shared mode: struct char_file *, sorted by host_path, each once */
	GHashTable *units; /* of exclusive mode: id -> struct unit *; NULL in shared mode */
	GPtrArray *notes; /* char *: what is left out, for a warning at Allocate */
};

Snapshot *snapshot_new(const char *resource);
Snapshot *snapshot_ref(Snapshot *snapshot);
void snapshot_unref(Snapshot *snapshot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Snapshot, snapshot_unref)

/* Gives a snapshot without slots these ids, for snapshot_next_slot. */
void snapshot_share_ids(Snapshot *snapshot, SlotIds *ids);
/* The slot of the next shared id. */
void snapshot_next_slot(Snapshot *snapshot, gboolean healthy, int numa_node);
/* A slot with an id of its own, which it takes over; not mixed with shared ones. */
void snapshot_add_slot(Snapshot *snapshot, char *id, gboolean healthy, int numa_node);
/* Before it is published. Nothing if there is no such slot. */
void snapshot_set_unhealthy(Snapshot *snapshot, const char *id);
/* NULL if there is no such slot. */
const struct slot *snapshot_find(const Snapshot *snapshot, const char *id);
/* As char_files_add. */
void snapshot_add_file(Snapshot *snapshot, struct char_file *file);
/* Makes it one of exclusive mode, without units so far. */
void snapshot_begin_units(Snapshot *snapshot);
/* Takes unit over. */
void snapshot_add_unit(Snapshot *snapshot, struct unit *unit);
/* NULL: the id is one of another time, which is shown only until no pod holds it. */
const struct unit *snapshot_unit(const Snapshot *snapshot, const char *id);
/* Lets 'to' have what is behind the devices of 'from'. */
void snapshot_share_units(Snapshot *to, const Snapshot *from);
/* TRUE if the kubelet would see the same list (ids, order, health, topology). */
gboolean snapshot_same_list(const Snapshot *a, const Snapshot *b);
gsize snapshot_n_healthy(const Snapshot *snapshot);
