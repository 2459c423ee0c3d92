/* SPDX-License-Identifier: Apache-2.0 */
/* What one container gets: the answer to an Allocate, before it becomes a message. */
#pragma once

#include <glib.h>

struct allocation_device {
	char *host_path;
	char *container_path;
	const char *permissions; /* "rw" */
};

struct allocation_mount {
	char *host_path;
	char *container_path;
	gboolean read_only;
};

struct allocation_pair {
	char *key;
	char *value;
};

/* In exclusive mode: one device that a container gets, for those who tell about it. */
struct allocation_grant {
	char *id;
	gboolean is_pci; /* the id is a PCI address */
	char *parent; /* id of the PF of a VF, the function of a sub-function; or NULL */
	char *rdma_devices; /* names, separated by commas */
	char *rdma_cm, *uverbs, *umad, *issm; /* its first path of each kind; or NULL */
};

typedef struct allocation Allocation;

struct allocation {
	GPtrArray *devices; /* struct allocation_device *, sorted, each path once */
	GPtrArray *mounts; /* struct allocation_mount * */
	GPtrArray *envs; /* struct allocation_pair *, sorted by key */
	GPtrArray *annotations; /* struct allocation_pair *, sorted by key */
	GPtrArray *cdi_names; /* char * */
	GPtrArray *grants; /* struct allocation_grant *, sorted by id; empty in shared mode */
};

Allocation *allocation_new(void);
void allocation_free(Allocation *allocation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Allocation, allocation_free)

/* Same path in the container, permissions rw. */
void allocation_add_device(Allocation *allocation, const char *host_path);
void allocation_add_mount(Allocation *allocation, const char *host_path, const char *container_path,
			  gboolean read_only);
void allocation_add_env(Allocation *allocation, const char *key, const char *value);
/* An empty one, to be filled; belongs to the allocation. */
struct allocation_grant *allocation_add_grant(Allocation *allocation, const char *id);
/* Sorts and removes repeated device paths. */
void allocation_finish(Allocation *allocation);
