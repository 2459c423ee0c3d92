/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the resource file says about one resource, checked and normalised: the
 * input of the pure modules. Built by core/edge/resource_file.c; immutable and
 * reference-counted afterwards.
 */
#pragma once

#include <glib.h>

enum resource_mode { RESOURCE_SHARED, RESOURCE_EXCLUSIVE, RESOURCE_AUTO };

enum health_policy {
	HEALTH_PER_DEVICE,
	HEALTH_ANY_DEVICE,
	HEALTH_ALL_DEVICES,
	HEALTH_OFF,
};

enum char_rule { CHAR_OFF, CHAR_OPTIONAL, CHAR_REQUIRED };

enum allocation_policy { ALLOCATION_PACKED, ALLOCATION_DISTRIBUTED };

/* The selector lists, in the order in which they are judged. */
enum selector_key {
	SELECTOR_VENDORS,
	SELECTOR_DEVICE_IDS,
	SELECTOR_DRIVERS,
	SELECTOR_IF_NAMES,
	SELECTOR_LINK_TYPES,
	SELECTOR_ADDRESSES,
	SELECTOR_RDMA_DEVICES,
	SELECTOR_PF_NAMES,
	SELECTOR_ROOT_DEVICES,
	SELECTOR_NUMA_NODES,
	SELECTOR_N_KEYS,
};

/* One of the user's "selectors" objects. Hexadecimal ids are normalised (lower
 * case, at least four digits, no 0x), link types are "ether" or "infiniband".
 * NULL or empty list: does not restrict. */
struct selector {
	GStrv values[SELECTOR_N_KEYS];
	GHashTable *attributes; /* char* -> GStrv; NULL if none */
	struct selector *exclude; /* NULL if none; has no exclude of its own */
};

struct resource_mount {
	char *host_path;
	char *container_path;
	gboolean read_only;
};

/* Overrides of the health settings; a negative number is "not given". */
struct health_overrides {
	double down_delay_s;
	double up_delay_s;
	double unknown_limit_s;
	int missing_scans;
	int assume_initial; /* -1 not given, 0 require, 1 assume */
};

typedef struct resource_config ResourceConfig;

struct resource_config {
	gatomicrefcount refs;
	char *prefix; /* "rdma" */
	char *name; /* "hca_shared_devices_a" */
	char *full_name; /* "rdma/hca_shared_devices_a" */
	char *bus; /* the one name of "buses": "pci" */
	enum resource_mode mode;
	int rdma_hca_max; /* slots; -1 = as many as HCAs have matched so far */
	GPtrArray *selectors; /* struct selector *: a union, in order; never empty */
	enum health_policy health_policy;
	enum char_rule rdma_cm, umad, issm;
	GStrv extra_devices; /* globs below /dev, as written; NULL if none */
	GPtrArray *mounts; /* struct resource_mount *; NULL if none */
	char *env_hca_list; /* name of the variable; NULL if not asked for */
	int topology; /* -1 = default of the mode, 0, 1 */
	enum allocation_policy allocation_policy;
	struct health_overrides health;
};

/* One reference; strings and lists NULL, 'selectors' empty, the rest as if the file
 * had not given the key. */
ResourceConfig *resource_config_new(void);
ResourceConfig *resource_config_ref(ResourceConfig *config);
void resource_config_unref(ResourceConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResourceConfig, resource_config_unref)

struct selector *selector_new(void);
void selector_free(struct selector *selector);
void resource_mount_free(struct resource_mount *mount);

/* The key as users write it: "vendors", "deviceIDs", … */
const char *selector_key_name(enum selector_key key);

/* TRUE if both mean the same: a reload leaves such a resource alone. */
gboolean resource_config_equal(const ResourceConfig *a, const ResourceConfig *b);
