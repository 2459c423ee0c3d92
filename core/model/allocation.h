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

typedef struct allocation Allocation;

struct allocation {
	GPtrArray *devices; /* struct allocation_device *, sorted, each path once */
	GPtrArray *mounts; /* struct allocation_mount * */
	GPtrArray *envs; /* struct allocation_pair *, sorted by key */
	GPtrArray *annotations; /* struct allocation_pair *, sorted by key */
	GPtrArray *cdi_names; /* char * */
};

Allocation *allocation_new(void);
void allocation_free(Allocation *allocation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Allocation, allocation_free)

/* Same path in the container, permissions rw. */
void allocation_add_device(Allocation *allocation, const char *host_path);
void allocation_add_mount(Allocation *allocation, const char *host_path, const char *container_path,
			  gboolean read_only);
void allocation_add_env(Allocation *allocation, const char *key, const char *value);
/* Sorts and removes repeated device paths. */
void allocation_finish(Allocation *allocation);
